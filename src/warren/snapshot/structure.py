"""Where every window stands: all windows of a cluster in the readers' order, by group, topic and partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Indices = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Places:
    """Topic partitions, one item each, in the order in which they were first seen."""

    topic: Sequence[str]
    partition: Indices


@dataclass(frozen=True, slots=True)
class Structure:
    """Rows are windows, sorted by group name, topic name and partition: those of a group stand together.

    Made anew only when windows come or go.
    """

    # sorted names, and for each where its rows begin; one item more than groups
    groups: tuple[str, ...]
    begin: Ints
    # group: its place among `groups`
    index: Mapping[str, int]
    # sorted names that `topic` points into
    topics: tuple[str, ...]
    # per row
    group: Ints
    topic: Ints
    partition: Indices
    place: Indices
    # per row: the bucket that holds its window, and the row in there
    bucket: NDArray[np.int16]
    row: Indices
    # per bucket: bucket row -> row here, -1 where it is hidden
    where: tuple[Ints, ...]

    def rows(self, group: int) -> slice:
        """The rows of a group."""
        return slice(int(self.begin[group]), int(self.begin[group + 1]))


def arranged(
    group_of: Sequence[Indices],
    place_of: Sequence[Indices],
    hidden: Sequence[NDArray[np.bool_]],
    names: Sequence[str],
    places: Places,
) -> Structure:
    """The windows of all buckets in order; `group_of` and `place_of` are per bucket, places in `names` and `places`."""
    bucket = np.concatenate([np.full(len(each), number, np.int16) for number, each in enumerate(group_of)])
    row = np.concatenate([np.arange(len(each), dtype=np.int32) for each in group_of])
    group = np.concatenate(group_of).astype(np.int64)
    place = np.concatenate(place_of)
    shown = ~np.concatenate(hidden)
    used = np.unique(group[shown])
    groups, group_rank = _ranked([names[index] for index in used], used, len(names))
    topics_used = sorted({places.topic[index] for index in np.unique(place[shown])})
    topic_index = {name: number for number, name in enumerate(topics_used)}
    # per place: the rank of its topic
    topic_rank = np.fromiter(
        (topic_index.get(name, -1) for name in places.topic), np.int64, len(places.topic)
    )
    kept = np.flatnonzero(shown)
    # one integer that sorts as the three do
    key = (group_rank[group[kept]] * max(len(topics_used), 1) + topic_rank[place[kept]]) << 32
    kept = kept[np.argsort(key | places.partition[place[kept]])]
    where = np.full(len(group), -1, dtype=np.int64)
    where[kept] = np.arange(len(kept))
    sorted_group = group_rank[group[kept]]
    return Structure(
        groups,
        np.searchsorted(sorted_group, np.arange(len(groups) + 1)),
        {name: number for number, name in enumerate(groups)},
        tuple(topics_used),
        sorted_group,
        topic_rank[place[kept]],
        places.partition[place[kept]],
        place[kept],
        bucket[kept],
        row[kept],
        tuple(np.split(where, np.cumsum([len(each) for each in group_of])[:-1])),
    )


def _ranked(names: Sequence[str], used: Ints, size: int) -> tuple[tuple[str, ...], Ints]:
    """The names sorted, and for each index that was used its rank."""
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.full(size, -1, dtype=np.int64)
    rank[used[order]] = np.arange(len(order))
    return tuple(names[index] for index in order), rank
