"""The windows of a snapshot, with the partitions that have none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warren.common.status import Status
from warren.snapshot.model import ClusterSnapshot
from warren.snapshot.tables import WindowTable


def windows_of(snapshot: ClusterSnapshot) -> WindowTable:
    """A row for every partition of every topic that a group reads."""
    table = snapshot.window_table()
    return _with_missing_partitions(table, [len(snapshot.topic(topic) or ()) for topic in table.topics])


def _with_missing_partitions(columns: WindowTable, widths: Sequence[int]) -> WindowTable:
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
    return WindowTable(columns.groups, columns.topics, *whole)
