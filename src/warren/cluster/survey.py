"""A look at all brokers of a cluster: which topic partitions there are, where each begins and ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from warren.kafka.brokers import EARLIEST, LATEST, Brokers, UnreachableError
from warren.storage.windows import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.kafka.brokers import Offsets
    from warren.kafka.login import Property


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look brought, one item per topic partition."""

    topic: Any  # pa.StringArray
    partition: NDArray[np.int32]
    # "" where the brokers have none
    topic_id: Any  # pa.StringArray
    # UNKNOWN where nobody answered in time, or the partition has no leader
    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    at_ms: int
    # the list of topic partitions is that of the brokers; else nothing can be said of those that are missing
    complete: bool
    # why it is not; empty when all is well
    error: str


class Surveyor:
    """Asks the brokers again and again; remembers the topics between looks."""

    def __init__(self, client: Mapping[str, Property], topic_refresh_ms: int, timeout_s: float) -> None:
        self._brokers = Brokers(client, timeout_s)
        self._topic_refresh_ms = topic_refresh_ms
        # topic: its partitions, and its id
        self._partitions: dict[str, list[int]] = {}
        self._ids: dict[str, str] = {}
        self._heads: Offsets = {}
        self._listed_ms = 0
        self._listed = False

    def survey(self, at_ms: int) -> Survey:
        """One look; when something seems to have changed, the topics are listed anew first."""
        error = ""
        try:
            if not self._listed or at_ms - self._listed_ms >= self._topic_refresh_ms:
                self._list(at_ms)
            heads = self._brokers.offsets(self._places(), LATEST)
            if self._has_changed(heads):
                self._list(at_ms)
                heads = self._brokers.offsets(self._places(), LATEST)
            tails = self._brokers.offsets(self._places(), EARLIEST) if heads else {}
            if self._places() and not heads:
                error = "no broker gave an offset"
        except UnreachableError as unreachable:
            heads, tails, error = {}, {}, str(unreachable)
            self._listed = False
        self._heads = heads
        return self._found(heads, tails, at_ms, error)

    def _list(self, at_ms: int) -> None:
        self._partitions = self._brokers.partitions()
        self._ids = self._brokers.topic_ids(self._partitions)
        self._listed_ms, self._listed = at_ms, True

    def _places(self) -> list[tuple[str, int]]:
        return [(topic, number) for topic, numbers in self._partitions.items() for number in numbers]

    def _has_changed(self, heads: Offsets) -> bool:
        """A partition that stopped answering may be deleted; one whose head fell was made again."""
        lost = any(place in self._heads and place not in heads for place in self._places())
        return lost or any(head < self._heads.get(place, 0) for place, head in heads.items())

    def _found(self, heads: Offsets, tails: Offsets, at_ms: int, error: str) -> Survey:
        places = self._places()
        return Survey(
            pa.array([topic for topic, _ in places], pa.string()),
            np.array([number for _, number in places], dtype=np.int32),
            pa.array([self._ids.get(topic, "") for topic, _ in places], pa.string()),
            np.array([heads.get(place, UNKNOWN) for place in places], dtype=np.int64),
            np.array([tails.get(place, UNKNOWN) for place in places], dtype=np.int64),
            at_ms,
            self._listed,
            error,
        )
