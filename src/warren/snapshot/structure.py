"""The order of all windows of a cluster: by group, topic and partition."""

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
class TopicPartitions:
    """Topic partitions, one item each, in the order in which they were first seen."""

    topic: Sequence[str]
    partition: Indices


@dataclass(frozen=True, slots=True)
class Structure:
    """Rows are windows, sorted by group name, topic name and partition: those of a group are adjacent.

    Built again only when windows are added or removed.
    """

    # sorted names, and for each where its rows begin; one item more than groups
    groups: tuple[str, ...]
    begin: Ints
    # group: its index in `groups`
    index: Mapping[str, int]
    # sorted names that `topic` refers to
    topics: tuple[str, ...]
    # per row
    group: Ints
    topic: Ints
    partition: Indices
    tp: Indices
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
    tp_of: Sequence[Indices],
    hidden: Sequence[NDArray[np.bool_]],
    names: Sequence[str],
    tps: TopicPartitions,
) -> Structure:
    """The windows of all buckets in order; `group_of` and `tp_of` are per bucket, indices in `names` and `tps`."""
    bucket = np.concatenate([np.full(len(each), number, np.int16) for number, each in enumerate(group_of)])
    row = np.concatenate([np.arange(len(each), dtype=np.int32) for each in group_of])
    group = np.concatenate(group_of).astype(np.int64)
    tp = np.concatenate(tp_of)
    shown = ~np.concatenate(hidden)
    used = np.unique(group[shown])
    groups, group_rank = _ranked([names[index] for index in used], used, len(names))
    topics_used = sorted({tps.topic[index] for index in np.unique(tp[shown])})
    topic_index = {name: number for number, name in enumerate(topics_used)}
    # per tp: the rank of its topic
    topic_rank = np.fromiter((topic_index.get(name, -1) for name in tps.topic), np.int64, len(tps.topic))
    kept = np.flatnonzero(shown)
    # one integer that sorts as the three do
    key = (group_rank[group[kept]] * max(len(topics_used), 1) + topic_rank[tp[kept]]) << 32
    kept = kept[np.argsort(key | tps.partition[tp[kept]])]
    where = np.full(len(group), -1, dtype=np.int64)
    where[kept] = np.arange(len(kept))
    sorted_group = group_rank[group[kept]]
    return Structure(
        groups,
        np.searchsorted(sorted_group, np.arange(len(groups) + 1)),
        {name: number for number, name in enumerate(groups)},
        tuple(topics_used),
        sorted_group,
        topic_rank[tp[kept]],
        tps.partition[tp[kept]],
        tp[kept],
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
