"""Groups and windows of a snapshot as columns, for sorting, filtering and bulk access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warren.common.sentinels import UNKNOWN


@dataclass(frozen=True, slots=True)
class GroupTable:
    """One row per group, sorted by name."""

    names: Sequence[str]
    # of Status
    status: NDArray[np.integer]
    complete: NDArray[np.floating]
    partition_count: NDArray[np.integer]
    totallag: NDArray[np.integer]
    # the greatest current lag of one partition
    maxlag: NDArray[np.integer]
    # the newest commit of the group, ms
    last_commit: NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class WindowTable:
    """One row per window, sorted by group, topic and partition.

    Partitions that a group never committed on may be rows or not.
    """

    # the names that `group` and `topic` point into
    groups: Sequence[str]
    topics: Sequence[str]
    group: NDArray[np.integer]
    topic: NDArray[np.integer]
    partition: NDArray[np.integer]
    status: NDArray[np.integer]
    current_lag: NDArray[np.integer]
    # the last committed offset; -1 where there is no commit
    offset: NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class HeadTable:
    """One row per topic partition that the brokers have, in no order."""

    topic: Sequence[str]
    partition: NDArray[np.integer]
    # UNKNOWN where it is not known
    head: NDArray[np.int64]
    # false: the brokers do not list it any more
    there: NDArray[np.bool_]

    def of_topic(self, topic: str) -> NDArray[np.int64]:
        """The heads of a topic by partition number."""
        rows = [row for row, name in enumerate(self.topic) if name == topic and self.there[row]]
        numbers = self.partition[rows]
        heads = np.full(int(numbers.max(initial=-1)) + 1, UNKNOWN, dtype=np.int64)
        heads[numbers] = self.head[rows]
        return heads
