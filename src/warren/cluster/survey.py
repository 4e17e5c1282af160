"""A look at all brokers of a cluster: which topic partitions there are, where each begins and ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from warren.kafka.brokers import EARLIEST, LATEST, Brokers, Limit, UnreachableError
from warren.storage.windows import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.kafka.brokers import Offsets

# of the time between two lists of all topics, so much goes into the listing at most: few topics are listed at every
# look, and a new one is seen at once; many every few seconds, and at the latest after `topic-refresh`
LISTING_SHARE: Final = 0.05

NO_TOPICS: Final = (
    "The brokers list no topic at all: may Warren see them? It needs the right to describe topics (ACL operation "
    "Describe on resource type Topic)"
)


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
    # the topic partitions were listed in this look. A list from before says nothing of what came since, nor does that
    # of another worker process, which may be older
    complete: bool
    # topics that were listed before and are not now, and of which the brokers say that they do not exist
    gone: tuple[str, ...]
    # topics that were listed before and are not now, and of which the brokers do not say so
    hidden: tuple[str, ...]
    # why it is not complete; empty when all is well
    error: str


def unseen(at_ms: int) -> Survey:
    """A look that was not taken."""
    names, numbers, offsets = pa.array([], pa.string()), np.empty(0, np.int32), np.empty(0, np.int64)
    return Survey(
        names, numbers, names, offsets, offsets, at_ms, complete=False, gone=(), hidden=(), error=""
    )


class Surveyor:
    """Asks the brokers again and again; remembers the topics between looks."""

    def __init__(
        self,
        brokers: Brokers,
        topic_refresh_ms: int,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`timeout_s` is for a whole look, whatever it asks."""
        self._brokers = brokers
        self._topic_refresh_ms = topic_refresh_ms
        self._timeout_s = timeout_s
        self._clock = clock
        # topic: its partitions, and its id
        self._partitions: dict[str, list[int]] = {}
        self._ids: dict[str, str] = {}
        self._heads: Offsets = {}
        # topics that were on a list and do not exist any more: since when, by `clock`
        self._gone: dict[str, float] = {}
        # topics that were on a list and are not on the last one, and may exist all the same
        self._hidden: tuple[str, ...] = ()
        # by `clock`: when the topics are listed next, at the latest
        self._list_s = 0.0

    def survey(self, at_ms: int) -> Survey:
        """One look; when something seems to have changed, the topics are listed anew."""
        limit = Limit(self._timeout_s, self._clock)
        heads: Offsets = {}
        tails: Offsets = {}
        listed, error = False, ""
        try:
            if self._clock() >= self._list_s:
                listed = self._list(limit)
            heads = self._brokers.offsets(self._places(), LATEST, limit)
            if not listed and self._has_changed(heads):
                listed = self._list(limit)
                heads = self._brokers.offsets(self._places(), LATEST, limit)
            tails = self._brokers.offsets(self._places(), EARLIEST, limit) if heads else {}
            if self._places() and not heads:
                error = "No broker gave an offset"
            if not self._places():
                error = NO_TOPICS
        except UnreachableError as unreachable:
            error = str(unreachable)
            self._list_s = 0.0
        self._heads = heads
        return self._found(heads, tails, at_ms=at_ms, complete=listed, error=error)

    def _list(self, limit: Limit) -> bool:
        """List the topics; whether there are any. An empty list is what one gets who may not see them."""
        began = self._clock()
        partitions = self._brokers.partitions(limit)
        if not partitions:
            return False
        missing = self._partitions.keys() - partitions.keys()
        self._note_gone(self._brokers.unknown(missing, limit) if missing else set(), partitions)
        # one that we may not see any more is still there
        self._hidden = tuple(sorted(missing - self._gone.keys()))
        ids = self._brokers.topic_ids(partitions, limit)
        partitions |= {topic: self._partitions[topic] for topic in self._hidden}
        self._ids = {topic: ids.get(topic, self._ids.get(topic, "")) for topic in partitions}
        self._partitions = partitions
        cost_ms = (self._clock() - began) * 1000
        self._list_s = self._clock() + min(self._topic_refresh_ms, cost_ms / LISTING_SHARE) / 1000
        return True

    def _note_gone(self, topics: set[str], partitions: Mapping[str, Any]) -> None:
        """Remember for a while which topics are gone: whoever keeps windows of them wants to be told twice."""
        now_s = self._clock()
        forgotten_s = now_s - 2 * self._topic_refresh_ms / 1000
        gone = self._gone | dict.fromkeys(topics, now_s)
        self._gone = {
            topic: since_s
            for topic, since_s in gone.items()
            if topic not in partitions and since_s >= forgotten_s
        }

    def _places(self) -> list[tuple[str, int]]:
        return [(topic, number) for topic, numbers in self._partitions.items() for number in numbers]

    def _has_changed(self, heads: Offsets) -> bool:
        """A partition that stopped answering may be deleted; one whose head fell was made again."""
        lost = any(place in self._heads and place not in heads for place in self._places())
        return lost or any(head < self._heads.get(place, 0) for place, head in heads.items())

    def _found(self, heads: Offsets, tails: Offsets, *, at_ms: int, complete: bool, error: str) -> Survey:
        places = self._places()
        return Survey(
            pa.array([topic for topic, _ in places], pa.string()),
            np.array([number for _, number in places], dtype=np.int32),
            pa.array([self._ids.get(topic, "") for topic, _ in places], pa.string()),
            np.array([heads.get(place, UNKNOWN) for place in places], dtype=np.int64),
            np.array([tails.get(place, UNKNOWN) for place in places], dtype=np.int64),
            at_ms,
            complete,
            tuple(sorted(self._gone)),
            self._hidden,
            error,
        )
