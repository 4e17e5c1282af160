"""Polls all brokers of a cluster: topic partitions with their first and end offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from warren.cluster.missing_partitions import TopicPartition
from warren.common.sentinels import UNKNOWN
from warren.kafka.brokers import EARLIEST, LATEST, Brokers, Limit, UnreachableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.kafka.brokers import Offsets

# maximum share of time for listing all topics: few topics are listed in every poll, and a new one is found at once;
# many every few seconds, and at the latest after `topic-refresh`
LISTING_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of a poll, one item per topic partition."""

    topic: Any  # pa.StringArray
    partition: NDArray[np.int32]
    # "" where the brokers have none
    topic_id: Any  # pa.StringArray
    # UNKNOWN where no broker responded in time, or the partition has no leader
    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    at_ms: int
    # the topic partitions were listed in this poll. An earlier list lacks newer topics, and so may that of another
    # worker process
    complete: bool
    # of the topic partitions that were checked: those that do not exist
    gone: tuple[TopicPartition, ...]
    # of the topics that were checked: those that are not listed, though the brokers do not report them as deleted
    hidden: tuple[str, ...]
    # why it is not complete; empty: no error
    error: str
    # how to let Warren see the hidden ones
    remedy: str = ""


def unseen(at_ms: int) -> Survey:
    """The result of a poll that was skipped."""
    names, numbers, offsets = pa.array([], pa.string()), np.empty(0, np.int32), np.empty(0, np.int64)
    return Survey(
        names,
        numbers,
        names,
        offsets,
        offsets,
        at_ms,
        complete=False,
        gone=(),
        hidden=(),
        error="",
    )


class Surveyor:
    """Polls the brokers; keeps the topics between polls."""

    def __init__(
        self,
        brokers: Brokers,
        topic_refresh_ms: int,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`timeout_s` is for a whole poll with all its requests."""
        self._brokers = brokers
        self._topic_refresh_ms = topic_refresh_ms
        self._timeout_s = timeout_s
        self._clock = clock
        # topic: its partitions, and its id
        self._partitions: dict[str, list[int]] = {}
        self._ids: dict[str, str] = {}
        self._heads: Offsets = {}
        # by `clock`: when the topics are listed next, at the latest
        self._list_s = 0.0

    def survey(self, at_ms: int, missing: Sequence[TopicPartition] = ()) -> Survey:
        """One poll; when topics may have changed, they are listed again.

        `missing` are topic partitions that former lists lacked: do they still exist?
        """
        limit = Limit(self._timeout_s, self._clock)
        heads: Offsets = {}
        tails: Offsets = {}
        listed, error = False, ""
        described: dict[str, tuple[int, ...]] = {}
        try:
            if self._clock() >= self._list_s:
                listed = self._list(limit)
            heads = self._brokers.offsets(self._tps(), LATEST, limit)
            if not listed and self._has_changed(heads):
                listed = self._list(limit)
                heads = self._brokers.offsets(self._tps(), LATEST, limit)
            tails = self._brokers.offsets(self._tps(), EARLIEST, limit) if heads else {}
            if self._tps() and not heads:
                error = self._brokers.silence()
            if not self._tps():
                error = self._brokers.failures.no_topics()
            described = self._brokers.described({topic for topic, _ in missing}, limit)
        except UnreachableError as unreachable:
            error = str(unreachable)
            self._list_s = 0.0
        self._heads = heads
        # by what the brokers answer now: the list may be older than a partition, or have come from a broker that has
        # not heard of it yet
        gone = tuple(each for each in missing if each[0] in described and each[1] not in described[each[0]])
        hidden = {topic for topic, _ in missing if described.get(topic) != ()} - self._partitions.keys()
        tps = self._tps()
        return Survey(
            pa.array([topic for topic, _ in tps], pa.string()),
            np.array([number for _, number in tps], dtype=np.int32),
            pa.array([self._ids.get(topic, "") for topic, _ in tps], pa.string()),
            np.array([heads.get(tp, UNKNOWN) for tp in tps], dtype=np.int64),
            np.array([tails.get(tp, UNKNOWN) for tp in tps], dtype=np.int64),
            at_ms,
            listed,
            gone,
            tuple(sorted(hidden)),
            error,
            self._brokers.failures.grant("Describe", "topic", "*") if hidden else "",
        )

    def _list(self, limit: Limit) -> bool:
        """List the topics; returns whether there are any. Without the ACLs the list is empty."""
        began = self._clock()
        partitions = self._brokers.partitions(limit)
        if not partitions:
            return False
        ids = self._brokers.topic_ids(partitions, limit)
        self._ids = {topic: ids.get(topic, self._ids.get(topic, "")) for topic in partitions}
        self._partitions = partitions
        cost_ms = (self._clock() - began) * 1000
        self._list_s = self._clock() + min(self._topic_refresh_ms, cost_ms / LISTING_SHARE) / 1000
        return True

    def _tps(self) -> list[tuple[str, int]]:
        return [(topic, number) for topic, numbers in self._partitions.items() for number in numbers]

    def _has_changed(self, heads: Offsets) -> bool:
        """A partition without an answer may be deleted; one whose head decreased may be recreated."""
        lost = any(tp in self._heads and tp not in heads for tp in self._tps())
        return lost or any(head < self._heads.get(tp, 0) for tp, head in heads.items())
