"""From partitions to groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.common.status import Status
from warren.evaluator.groups import NO_ROW, roll_up
from warren.evaluator.rules import Rule
from warren.evaluator.verdict import Verdict

OK, WARN, STOP, STALL, REWIND = Status.OK, Status.WARN, Status.STOP, Status.STALL, Status.REWIND
# status, current lag, complete
Partition = tuple[Status, int, float]


def verdict(partitions: list[Partition]) -> Verdict:
    columns = list(zip(*partitions, strict=True)) or [(), (), ()]
    return Verdict(
        np.array(columns[0], dtype=np.int8),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.float32),
        np.full(len(partitions), Rule.KEEPING_PACE, dtype=np.int8),
    )


@dataclass(frozen=True)
class Case:
    name: str
    partitions: list[Partition]
    status: Status
    complete: float
    maxlag: int
    totallag: int
    # of the group's topics
    count: int


CASES: Final = [
    Case("all is well", [(OK, 0, 1), (OK, 3, 1)], OK, 1, maxlag=1, totallag=3, count=2),
    Case("a warning", [(OK, 9, 1), (WARN, 3, 1)], WARN, 1, maxlag=0, totallag=12, count=2),
    Case("stopped is an error", [(WARN, 1, 1), (STOP, 3, 1)], Status.ERR, 1, maxlag=1, totallag=4, count=2),
    Case("stalled is an error", [(STALL, 1, 1)], Status.ERR, 1, maxlag=0, totallag=1, count=1),
    Case("rewound is an error", [(REWIND, 1, 1)], Status.ERR, 1, maxlag=0, totallag=1, count=1),
    Case("not all windows are full", [(OK, 0, 1), (OK, 0, 0.9)], OK, 0.5, maxlag=0, totallag=0, count=2),
    Case("partitions never committed to count", [(OK, 1, 1)], OK, 1 / 3, maxlag=0, totallag=1, count=3),
    Case(
        "of equal lags the first", [(OK, 2, 1), (OK, 5, 1), (OK, 5, 1)], OK, 1, maxlag=1, totallag=12, count=3
    ),
    Case("no window, though there are partitions", [], OK, 0, maxlag=NO_ROW, totallag=0, count=4),
    Case("no partition at all", [], OK, 1, maxlag=NO_ROW, totallag=0, count=0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_roll_up(case: Case) -> None:
    group = np.zeros(len(case.partitions), dtype=np.int64)

    groups = roll_up(group, 1, verdict(case.partitions), np.array([case.count]))

    assert Status(groups.status[0]) == case.status
    assert groups.complete.tolist() == [np.float32(case.complete)]
    assert groups.maxlag.tolist() == [case.maxlag]
    assert groups.totallag.tolist() == [case.totallag]
    assert (groups.status.dtype.name, groups.complete.dtype.name) == ("int8", "float32")


def test_lags_add_up_beyond_what_a_double_can_count() -> None:
    huge = 2**53
    groups = roll_up(np.zeros(2, dtype=np.int64), 1, verdict([(OK, huge, 1), (OK, 1, 1)]), np.array([2]))

    assert groups.totallag.tolist() == [huge + 1]


partitions = st.tuples(
    st.integers(0, 3),
    st.tuples(
        st.sampled_from([OK, WARN, STOP, STALL, REWIND]), st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0])
    ),
)


@given(st.lists(partitions, max_size=20))
def test_groups_do_not_touch_each_other(rows: list[tuple[int, Partition]]) -> None:
    index = np.array([group for group, _ in rows], dtype=np.int64)
    counts = np.bincount(index, minlength=4) + 1

    groups = roll_up(index, 4, verdict([partition for _, partition in rows]), counts)

    for group in range(4):
        own = [(row, partition) for row, (of, partition) in enumerate(rows) if of == group]
        lags = [partition[1] for _, partition in own]
        worst = max((partition[0] for _, partition in own), default=OK)
        assert groups.status[group] == min(worst, Status.ERR)
        assert groups.totallag[group] == sum(lags)
        full = sum(partition[2] == 1 for _, partition in own)
        assert groups.complete[group] == np.float32(full) / np.float32(len(own) + 1)
        expected = next((row for row, partition in own if partition[1] == max(lags)), NO_ROW)
        assert groups.maxlag[group] == expected
