"""Requests about groups through the admin API: which there are, what they have committed, who is in them.

The client library asks for one group per request (Kafka 3.0 could take many): the requests of a round are sent some at
a time, and the answers are given as they come.
"""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from warren.common.owner import Holder
from warren.kafka.brokers import Brokers, Limit, UnreachableError
from warren.kafka.login import Property

# a coordinator that has not answered after this long is not waited for
REQUEST_S: Final = 5.0

# time from one connection to the next, at least
RENEWED_S: Final = 30.0

# topic, partition
TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ListedGroups:
    """The groups that the brokers list."""

    # group: whether it has no members, as far as the brokers say
    empty: Mapping[str, bool]
    # what is wrong where a broker did not answer; empty: all did
    error: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a group has no answer."""

    reason: str
    # how to get the right to see it; empty: the right is not what is missing
    remedy: str = ""


# topic partition: its committed offset
Committed = Mapping[TopicPartition, int]
# topic partition: who holds it
Holders = Mapping[TopicPartition, Holder]


class GroupAdmin(Brokers):
    """Requests about groups."""

    def __init__(self, properties: Mapping[str, Property], at_once: int) -> None:
        """`at_once`: requests that are under way at the same time, at most."""
        super().__init__(properties)
        self._properties = properties
        self._at_once = at_once
        self._renewed_s: float | None = None
        # kept until its last request has timed out
        self._former: AdminClient | None = None

    def renew(self) -> None:
        """Connect anew: a client whose coordinator was restarted waits for answers in vain, though others get them."""
        now_s = time.monotonic()
        if self._renewed_s is not None and now_s - self._renewed_s < RENEWED_S:
            return
        fresh = Brokers(self._properties)
        self._former, self._renewed_s = self._client, now_s
        self._client, self._reports = fresh._client, fresh._reports

    def listed(self, limit: Limit) -> ListedGroups:
        """All groups that can be asked for; UnreachableError when no broker answers, or we may see none."""
        seconds = limit.left()
        try:
            found = self._client.list_consumer_groups(request_timeout=seconds).result(seconds + 1)
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(error) from error
        if found.errors and not found.valid:
            raise self._unreachable(found.errors[0])
        self._answered()
        # without rights the brokers do not refuse, they hide
        if not found.valid and not self._may_describe_cluster(limit):
            raise UnreachableError(self.failures.no_groups())
        return ListedGroups(
            # Kafka's groups may have no name; the client library refuses to ask for those
            {each.group_id: each.state == ConsumerGroupState.EMPTY for each in found.valid if each.group_id},
            _reason(found.errors[0]) if found.errors else "",
        )

    def topics(self, limit: Limit) -> set[str]:
        """The topics that we can see."""
        return set(self.partitions(limit))

    def committed(self, groups: Sequence[str], limit: Limit) -> Iterator[tuple[str, Committed | Failure]]:
        """Each group with its committed offsets, in the order of the answers; those left at the limit are failures."""

        def ask(group: str) -> Future[Any]:
            asked = self._client.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=REQUEST_S
            )
            return asked[group]

        for group, answer in self._answers(groups, ask, limit):
            yield (
                group,
                answer
                if isinstance(answer, Failure)
                else {
                    (each.topic, each.partition): each.offset
                    for each in answer.topic_partitions
                    if each.error is None and each.offset >= 0
                },
            )

    def holders(self, groups: Sequence[str], limit: Limit) -> Iterator[tuple[str, Holders | Failure]]:
        """Each group with the members that hold its partitions, in the order of the answers."""

        def ask(group: str) -> Future[Any]:
            return self._client.describe_consumer_groups([group], request_timeout=REQUEST_S)[group]

        for group, answer in self._answers(groups, ask, limit):
            yield (
                group,
                answer
                if isinstance(answer, Failure)
                else {
                    (each.topic, each.partition): Holder(member.host or "", member.client_id or "")
                    for member in answer.members
                    if member.assignment is not None
                    for each in member.assignment.topic_partitions
                },
            )

    def _answers(
        self, groups: Sequence[str], ask: Callable[[str], Future[Any]], limit: Limit
    ) -> Iterator[tuple[str, Any]]:
        """The result for each group, or a Failure."""
        came: queue.SimpleQueue[tuple[str, Future[Any]]] = queue.SimpleQueue()
        left = iter(groups)
        waiting: set[str] = set()

        def send(group: str) -> None:
            waiting.add(group)
            ask(group).add_done_callback(lambda future: came.put((group, future)))

        for group in itertools.islice(left, self._at_once):
            send(group)
        while waiting:
            try:
                group, future = came.get(timeout=limit.left())
            except (queue.Empty, UnreachableError):
                break
            waiting.discard(group)
            yield group, self._result(group, future)
            for following in left:
                send(following)
                break
        for group in (*waiting, *left):
            yield group, Failure("no answer in time")

    def _result(self, group: str, future: Future[Any]) -> Any:
        try:
            return future.result()
        except KafkaException as error:
            denied = error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED
            return Failure(_reason(error), self.failures.grant("Describe", "group", group) if denied else "")


def _reason(error: KafkaException | TimeoutError) -> str:
    return error.args[0].str() if isinstance(error, KafkaException) else "no answer in time"
