"""The roll-up from partitions to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from warren.common.status import Status
from warren.evaluator.verdict import Verdict
from warren.storage.windows import Ints

# the maxlag row of a group without any window
NO_ROW: Final = -1


@dataclass(frozen=True, slots=True)
class Groups:
    """The verdicts on many groups: 1-D arrays, one item per group."""

    # of Status: the highest of the partitions', where anything above ERR counts as ERR
    status: npt.NDArray[np.int8]
    # share of all partitions whose window is full
    complete: npt.NDArray[np.float32]
    # the window with the greatest current lag, of several the first; NO_ROW when there is none
    maxlag: Ints
    # sum of the current lags
    totallag: Ints


def roll_up(group_index: Ints, n_groups: int, verdict: Verdict, partition_count: Ints) -> Groups:
    """The groups of these windows; `partition_count` counts all partitions of a group's topics."""
    status = np.full(n_groups, Status.OK, dtype=np.int8)
    np.maximum.at(status, group_index, np.minimum(verdict.status, np.int8(Status.ERR)))
    full = np.bincount(group_index[verdict.complete == 1], minlength=n_groups)
    complete = full.astype(np.float32) / np.maximum(partition_count, 1).astype(np.float32)
    totallag = np.zeros(n_groups, dtype=np.int64)
    np.add.at(totallag, group_index, verdict.current_lag)
    return Groups(
        status=status,
        # a group without partitions is complete
        complete=np.where(partition_count > 0, complete, np.float32(1)),
        maxlag=_first_greatest(group_index, n_groups, verdict.current_lag),
        totallag=totallag,
    )


def _first_greatest(group_index: Ints, n_groups: int, lag: Ints) -> Ints:
    """Of each group the first row with its greatest lag."""
    greatest = np.full(n_groups, NO_ROW, dtype=np.int64)
    np.maximum.at(greatest, group_index, lag)
    rows = np.flatnonzero(lag == greatest[group_index])
    past_end = len(lag)
    first = np.full(n_groups, past_end, dtype=np.int64)
    np.minimum.at(first, group_index[rows], rows)
    first[first == past_end] = NO_ROW
    return first
