"""The last hours of groups, bounded in time and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warren.common.status import Status
from warren.snapshot.recent import FINE_SPAN_MS, MISSING, SPAN_MS, Recent
from warren.snapshot.tables import GroupTable

NOON = 1_794_830_400_000
PLENTY = 1 << 30


def table(**groups: tuple[Status, int]) -> GroupTable:
    names = sorted(groups)
    columns: Any = np.array([groups[name] for name in names], dtype=np.int64).reshape(len(names), 2)
    nothing = np.zeros(len(names), dtype=np.int64)
    complete = np.full(len(names), 0.5, dtype=np.float32)
    return GroupTable(names, columns[:, 0], complete, nothing, columns[:, 1], nothing, nothing)


def filled(seconds: int, max_bytes: int = PLENTY) -> Recent:
    """A sample every 10 s; the lag is the second, the status WARN in every sixth sample."""
    recent = Recent(max_bytes)
    for second in range(0, seconds, 10):
        status = Status.WARN if second % 60 == 20 else Status.OK
        recent.take(NOON + second * 1000, table(a=(status, second), b=(Status.OK, 1)))
    return recent


def test_a_sample_is_taken_every_ten_seconds() -> None:
    recent = Recent(PLENTY)
    taken = [
        recent.take(NOON + ms, table(a=(Status.OK, ms))) for ms in (500, 1500, 9999, 10_000, 19_000, 25_000)
    ]
    assert taken == [True, False, False, True, False, True]
    line = recent.line("a", NOON)
    assert line.times_ms == [NOON + 500, NOON + 10_000, NOON + 25_000]
    assert line.lag == [500, 10_000, 25_000]
    assert line.complete == [0.5] * 3
    assert recent.line("a", NOON + 10_000).lag == [10_000, 25_000]
    assert recent.line("nobody", NOON).lag == []


def test_old_samples_become_one_a_minute_with_the_worst_in_it() -> None:
    recent = filled(3600)
    line = recent.line("a", 0)
    apart = np.diff(line.times_ms)
    fine = FINE_SPAN_MS // 10_000
    assert set(apart[-fine:].tolist()) == {10_000}
    assert set(apart[: -fine - 6].tolist()) == {60_000}
    # the last second of its minute, and the WARN that was in it
    assert line.lag[:2] == [50, 110]
    assert line.status[:2] == [Status.WARN] * 2


def test_a_day_is_the_most() -> None:
    recent = Recent(PLENTY)
    for minute in range(26 * 60):
        recent.take(NOON + minute * 60_000, table(a=(Status.OK, minute)))
    held = recent.samples()
    assert held[-1].time_ms - held[0].time_ms <= SPAN_MS + 60_000
    assert len(held) == 24 * 60 + 1


def test_bytes_are_bounded_and_the_oldest_go() -> None:
    recent = filled(7200, max_bytes=2000)
    assert recent.bytes <= 2000
    held = recent.samples()
    assert held[-1].time_ms == NOON + 7190_000
    assert 60 <= len(held) < 120
    # one sample stays, however large
    assert len(filled(100, max_bytes=1).samples()) == 1


def test_names_are_kept_once_while_groups_stay_the_same() -> None:
    held = filled(600).samples()
    assert len({id(each.names) for each in held}) == 1
    recent = Recent(PLENTY)
    recent.take(NOON, table(a=(Status.OK, 1)))
    recent.take(NOON + 10_000, table(a=(Status.OK, 1), b=(Status.OK, 1)))
    first, second = recent.samples()
    assert first.names[0] is second.names[0]


def test_all_groups_in_steps() -> None:
    recent = Recent(PLENTY)
    recent.take(NOON, table(a=(Status.OK, 5), gone=(Status.ERR, 7)))
    recent.take(NOON + 20_000, table(a=(Status.WARN, 3), gone=(Status.OK, 9)))
    recent.take(NOON + 130_000, table(a=(Status.OK, 1), new=(Status.OK, 2)))
    grid = recent.grid(NOON, 60_000, 3)
    assert list(grid.names) == ["a", "gone", "new"]
    assert grid.lag.tolist() == [[5, MISSING, 1], [9, MISSING, MISSING], [MISSING, MISSING, 2]]
    assert grid.worst.tolist() == [Status.WARN, Status.ERR, Status.OK]
    assert recent.grid(NOON + 120_000, 60_000, 1).lag.tolist() == [[1], [2]]
    assert len(recent.grid(NOON - 120_000, 60_000, 1).names) == 0


def test_a_clock_that_was_set_back_takes_its_future_with_it() -> None:
    recent = filled(100)
    assert recent.take(NOON + 45_000, table(a=(Status.ERR, 99)))
    line = recent.line("a", 0)
    assert line.times_ms == [NOON + each * 1000 for each in (0, 10, 20, 30, 40, 45)]
    assert line.lag[-1] == 99
    assert sorted(line.times_ms) == line.times_ms


@pytest.mark.parametrize("seconds", [100, 3600])
def test_what_is_restored_goes_on(seconds: int) -> None:
    before = filled(seconds)
    after = Recent(PLENTY)
    after.restore(before.samples())
    assert [each.time_ms for each in after.samples()] == [each.time_ms for each in before.samples()]
    after.take(NOON + seconds * 1000, table(a=(Status.OK, 1)))
    assert after.line("a", 0).lag[-1] == 1
