"""The groups of a snapshot as columns: what one sorts, filters and compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from warren.snapshot.model import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class GroupTable:
    """One row per group, sorted by name; the columns are named as `GroupSummary` names them."""

    names: Sequence[str]
    status: NDArray[np.integer]
    complete: NDArray[np.floating]
    partition_count: NDArray[np.integer]
    totallag: NDArray[np.integer]
    maxlag: NDArray[np.integer]
    last_commit: NDArray[np.integer]


@runtime_checkable
class HasGroupColumns(Protocol):
    """A snapshot that keeps these columns anyway."""

    def group_columns(self) -> tuple[NDArray[Any], ...]:
        """Status, complete, partition count, total lag, greatest lag and last commit."""


def group_table(snapshot: ClusterSnapshot) -> GroupTable:
    if isinstance(snapshot, HasGroupColumns):
        return GroupTable(snapshot.groups(), *snapshot.group_columns())
    lines = snapshot.summaries()
    return GroupTable(
        [line.group for line in lines],
        np.array([line.status for line in lines], dtype=np.int8),
        np.array([line.complete for line in lines], dtype=np.float64),
        *(
            np.array([getattr(line, name) for line in lines], dtype=np.int64)
            for name in ("partition_count", "totallag", "maxlag", "last_commit")
        ),
    )
