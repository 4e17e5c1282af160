"""The producers of the demo traffic: fill each topic once, then write to it at its intervals."""

from __future__ import annotations

import heapq
import time
from typing import TYPE_CHECKING, Final

import structlog

from warren.demo.clients import Connection, TopicSpec, ensure_topics, heads_of
from warren.demo.topics import Burst, Topic, backlog, bursts
from warren.errors import WarrenError

if TYPE_CHECKING:
    from threading import Event

    from confluent_kafka import KafkaError, Message
    from confluent_kafka.admin import AdminClient

log = structlog.get_logger("warren.demo.traffic")

# A topic keeps its last 64 MB per partition: the topic without pauses fills that in more than a day.
_SETTINGS: Final = {"retention.bytes": str(64 << 20), "segment.bytes": str(8 << 20)}
_FLUSH_S: Final = 30.0
_LAST_FLUSH_S: Final = 3.0


class KnownHeads:
    """The heads of the demo's topics, from its own producers."""

    def __init__(self) -> None:
        # (topic, partition) -> offset of the next record
        self._heads: dict[tuple[str, int], int] = {}

    def update(self, heads: dict[tuple[str, int], int]) -> None:
        """Set heads from the brokers."""
        self._heads.update(heads)

    def written(self, topic: str, partition: int, offset: int) -> None:
        """A record was acknowledged with this offset."""
        self._heads[topic, partition] = max(offset + 1, self._heads.get((topic, partition), 0))

    def __getitem__(self, at: tuple[str, int]) -> int:
        return self._heads.get(at, 0)


class Producers:
    """Writes to all topics of the demo from one thread."""

    def __init__(
        self, connection: Connection, topics: tuple[Topic, ...], heads: KnownHeads, seed: int
    ) -> None:
        self._connection = connection
        self._topics = topics
        self._heads = heads
        self._seed = seed
        self.failures = 0

    def prepare(self, admin: AdminClient) -> None:
        """Create the topics and write the missing part of their backlogs; returns when the brokers have it."""
        ensure_topics(
            admin, tuple(TopicSpec(topic.name, topic.partitions, _SETTINGS) for topic in self._topics)
        )
        sizes = {topic.name: topic.partitions for topic in self._topics}
        heads = heads_of(admin, sizes)
        producer = self._connection.producer({"linger.ms": 20})
        for topic in self._topics:
            for partition in range(topic.partitions):
                records = list(backlog(topic, partition, self._seed))
                for record in records[heads[topic.name, partition] :]:
                    producer.produce(topic.name, record.value, record.key, partition)
            producer.poll(0)
        if producer.flush(_FLUSH_S):
            raise WarrenError(
                f"the brokers did not accept the first records within {_FLUSH_S:.0f} s: see their log"
            )
        self._heads.update(heads_of(admin, sizes))

    def run(self, stop: Event) -> None:
        """Write until stopped."""
        # messages to an unavailable broker time out, so that the queue stays bounded
        producer = self._connection.producer({"linger.ms": 20, "message.timeout.ms": 10_000})
        plans = [(topic, bursts(topic, self._seed)) for topic in self._topics if topic.rhythm is not None]
        now = time.monotonic()
        # (when it is due, which plan, the burst), soonest first
        due: list[tuple[float, int, Burst]] = []
        for index, (_, plan) in enumerate(plans):
            burst = next(plan)
            due.append((now + burst.wait_s, index, burst))
        heapq.heapify(due)
        while not stop.wait(max(due[0][0] - time.monotonic(), 0.0)):
            _, index, burst = due[0]
            topic, plan = plans[index]
            for record in burst.records:
                producer.produce(
                    topic.name, record.value, record.key, record.partition, on_delivery=self._delivered
                )
            producer.poll(0)
            burst = next(plan)
            # from now, not from when it was due: a delay is not caught up, the interval stays
            heapq.heapreplace(due, (time.monotonic() + burst.wait_s, index, burst))
        producer.flush(_LAST_FLUSH_S)
        producer.purge()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is None and topic is not None and partition is not None and offset is not None:
            self._heads.written(topic, partition, offset)
            return
        self.failures += 1
        if self.failures == 1:
            log.warning("records were lost", topic=topic, error=None if error is None else error.str())
