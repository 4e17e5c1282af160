"""The windows of a snapshot as columns, for those who need all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from warren.common.status import Status
from warren.snapshot.model import ClusterSnapshot


class Columns(Protocol):
    """All windows of a cluster, one row each, sorted by group, topic and partition.

    Partitions that a group never committed on may be rows or not.
    """

    @property
    def groups(self) -> Sequence[str]:
        """The names that `group` points into."""

    @property
    def topics(self) -> Sequence[str]:
        """The names that `topic` points into."""

    @property
    def group(self) -> NDArray[np.integer]:
        """Per row, the index of its group."""

    @property
    def topic(self) -> NDArray[np.integer]:
        """Per row, the index of its topic."""

    @property
    def partition(self) -> NDArray[np.integer]: ...

    @property
    def status(self) -> NDArray[np.integer]: ...

    @property
    def current_lag(self) -> NDArray[np.integer]: ...

    @property
    def offset(self) -> NDArray[np.integer]:
        """The last committed offset; -1 where there is no commit."""


@runtime_checkable
class HasColumns(Protocol):
    """A snapshot that keeps its windows as columns anyway."""

    def columns(self) -> Columns: ...


@dataclass(frozen=True, slots=True)
class GatheredColumns:
    """Columns made from a snapshot's groups, one by one."""

    groups: Sequence[str]
    topics: Sequence[str]
    group: NDArray[np.integer]
    topic: NDArray[np.integer]
    partition: NDArray[np.integer]
    status: NDArray[np.integer]
    current_lag: NDArray[np.integer]
    offset: NDArray[np.integer]


def columns_of(snapshot: ClusterSnapshot) -> Columns:
    """A row for every partition of every topic that a group reads; the snapshot's own where it has them."""
    columns = snapshot.columns() if isinstance(snapshot, HasColumns) else _gathered(snapshot)
    return _filled_up(columns, [len(snapshot.topic(topic) or ()) for topic in columns.topics])


def _filled_up(columns: Columns, widths: Sequence[int]) -> Columns:
    """With the partitions that a group never committed on; `widths`: partitions of each topic."""
    if len(columns.group) == 0:
        return columns
    pair = columns.group.astype(np.int64) * len(widths) + columns.topic
    width = np.array(widths, dtype=np.int64)[columns.topic]
    # per group and topic: its first row, its rows, and how many of those the brokers still have
    begin = np.flatnonzero(np.diff(pair, prepend=-1))
    rows = np.diff(begin, append=len(pair))
    there = np.add.reduceat((columns.partition < width).astype(np.int64), begin)
    short = np.flatnonzero(there < width[begin])
    added = [
        (columns.group[first], columns.topic[first], number, Status.OK, 0, -1)
        for first, count in zip(begin[short].tolist(), rows[short].tolist(), strict=True)
        for number in sorted({*range(width[first])} - {*columns.partition[first : first + count].tolist()})
    ]
    if not added:
        return columns
    own = (columns.group, columns.topic, columns.partition)
    judged = (columns.status, columns.current_lag, columns.offset)
    more = np.array(added, dtype=np.int64).T
    whole = [np.concatenate(both) for both in zip((*own, *judged), more, strict=True)]
    return GatheredColumns(columns.groups, columns.topics, *whole)


def _gathered(snapshot: ClusterSnapshot) -> GatheredColumns:
    groups = snapshot.groups()
    # topic: its index, in the order in which they are met
    topics: dict[str, int] = {}
    rows = [
        (
            index,
            topics.setdefault(part.topic, len(topics)),
            part.partition,
            int(part.status),
            part.current_lag,
            part.end.offset if part.end else -1,
        )
        for index, name in enumerate(groups)
        if (group := snapshot.group(name)) is not None
        for part in group.partitions
    ]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 6)
    return GatheredColumns(groups, list(topics), *table.T)
