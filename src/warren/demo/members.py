"""Real consumers of one group of the traffic."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from warren.demo.clients import REQUEST_S, Connection, passes
from warren.demo.groups import Actor, Protocol, Step

if TYPE_CHECKING:
    from threading import Event

    from confluent_kafka.admin import AdminClient

    from warren.demo.producers import KnownHeads

log = structlog.get_logger("warren.demo.traffic")

# how long a member polls for records: a stop waits at most this long
_POLL_S: Final = 0.25
_FETCH_COMMITTED_S: Final = 5.0
_BATCH: Final = 1_000


@dataclass(frozen=True)
class Progress:
    """The progress of a group, from its own counters."""

    group: str
    # commits that the brokers acknowledged
    commits: int
    # sums over its partitions
    offset: int
    lag: int
    # the error of the last restart; empty when there was none
    trouble: str = ""


class Group:
    """One group of the traffic with its members, all in the thread that calls run."""

    def __init__(self, actor: Actor, connection: Connection, heads: KnownHeads, seed: int) -> None:
        self.actor = actor
        self.trouble = ""
        self._connection = connection
        self._heads = heads
        self._seed = seed
        self._commits = 0
        # (topic, partition) -> last acknowledged offset
        self._committed: dict[tuple[str, int], int] = {}
        # (topic, partition) -> its step; kept when a member is restarted
        self._steps: dict[tuple[str, int], Step] = {}

    def progress(self) -> Progress:
        """Its progress so far; may be called from any thread."""
        committed = dict(self._committed)
        lag = sum(max(self._heads[at] - offset, 0) for at, offset in committed.items())
        return Progress(self.actor.name, self._commits, sum(committed.values()), lag, self.trouble)

    def run(self, admin: AdminClient, stop: Event) -> None:
        """Run until the plan is over or until stopped; then the members have left the group."""
        if self.actor.newborn and self._commits == 0:
            _delete(admin, self.actor.name)
        members = [Member(self, self._connection, number) for number in range(self.actor.members)]
        try:
            due = time.monotonic() + self.actor.period_s
            while not stop.is_set() and not (self._silent and self.actor.leaves):
                for member in members:
                    member.read(min(_POLL_S, self.actor.period_s / 2) / len(members))
                if time.monotonic() >= due:
                    due = time.monotonic() + self.actor.period_s
                    if not self._silent:
                        for member in members:
                            member.commit()
        finally:
            for member in members:
                member.close()

    @property
    def _silent(self) -> bool:
        return self.actor.commits is not None and self._commits >= self.actor.commits

    def head(self, at: tuple[str, int]) -> int:
        """The head of a partition."""
        return self._heads[at]

    def step(self, at: tuple[str, int]) -> Step | None:
        """The step that plans the commits of a partition; None where they are read."""
        if self.actor.plan is None or not self.actor.follows_plan(at[1]):
            return None
        if at not in self._steps:
            self._steps[at] = self.actor.plan(
                random.Random(f"{self._seed}/{self.actor.name}/{at[0]}/{at[1]}")  # noqa: S311 (repeatable)
            )
        return self._steps[at]

    def acknowledged(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Callback for the result of a commit."""
        errors = [error, *(partition.error for partition in partitions)]
        failed = next((e for e in errors if e is not None), None)
        if failed is None:
            self._commits += 1
            self._committed.update({(p.topic, p.partition): p.offset for p in partitions})
        elif not passes(KafkaException(failed)):
            log.warning("commit failed", group=self.actor.name, error=failed.str())


class Member:
    """One consumer of a group."""

    def __init__(self, group: Group, connection: Connection, number: int) -> None:
        self._group = group
        # (topic, partition) -> the next offset to read, or the last planned one; None: never committed
        self._positions: dict[tuple[str, int], int | None] = {}
        actor = group.actor
        self._consumer = connection.consumer(
            {
                "group.id": actor.name,
                "client.id": f"{actor.name}-{number + 1}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "queued.max.messages.kbytes": 1024,
                "on_commit": group.acknowledged,
                **_membership(actor.protocol),
            }
        )
        topics = [topic.name for topic in actor.topics]
        if actor.protocol is Protocol.ASSIGN:
            self._on_assign(
                self._consumer,
                [TopicPartition(topic.name, p) for topic in actor.topics for p in range(topic.partitions)],
            )
        else:
            self._consumer.subscribe(
                topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
            )

    def read(self, timeout_s: float) -> None:
        """Poll records within the time; also keeps the member in its group."""
        for message in self._consumer.consume(_BATCH, timeout=timeout_s):
            error = message.error()
            if error is not None:
                log.debug("read failed", group=self._group.actor.name, error=error.str())
                continue
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if topic is None or partition is None or offset is None:
                continue
            if self._group.step((topic, partition)) is None:
                self._positions[topic, partition] = offset + 1

    def commit(self) -> None:
        """Send the commits that are due; results arrive in `read`."""
        if self._group.actor.commits is not None and self._group.actor.plan is None and self._behind():
            # its last commit must be the head
            return
        offsets = [TopicPartition(*at, offset) for at, offset in self._due()]
        if offsets:
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _behind(self) -> bool:
        return any(
            position is None or position < self._group.head(at) for at, position in self._positions.items()
        )

    def _due(self) -> list[tuple[tuple[str, int], int]]:
        due: list[tuple[tuple[str, int], int]] = []
        for at, position in self._positions.items():
            step = self._group.step(at)
            offset = position if step is None else step(position, self._group.head(at))
            if offset is not None:
                due.append((at, offset))
        self._positions.update(due)
        return due

    def _on_assign(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        for known in consumer.committed(partitions, timeout=_FETCH_COMMITTED_S):
            self._positions[known.topic, known.partition] = known.offset if known.offset >= 0 else None
        planned = [p for p in partitions if self._group.step((p.topic, p.partition)) is not None]
        if self._group.actor.protocol is Protocol.ASSIGN or planned:
            consumer.assign(partitions)
            # a planned partition is not read: its commits need no records
            consumer.pause(planned)

    def _on_revoke(self, _consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._positions.pop((partition.topic, partition.partition), None)


def _membership(protocol: Protocol) -> dict[str, Any]:
    if protocol is Protocol.CONSUMER:
        return {"group.protocol": "consumer"}
    # short, so that members of a killed run expire soon
    return {"group.protocol": "classic", "session.timeout.ms": 10_000}


def _delete(admin: AdminClient, group: str) -> None:
    try:
        admin.delete_consumer_groups([group], request_timeout=REQUEST_S)[group].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
