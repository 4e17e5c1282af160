"""The clock of the looks: what counts as passed when the wall clock is set."""

from __future__ import annotations

import pytest

from warren.clock import LookClock, Moment, jump_message

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
NOW = 1_700_000_000_000
LAST = Moment(NOW - HOUR, 5 * DAY, NOW - HOUR)


def looks(clock: LookClock, walls: list[int], step_ms: int = SECOND, monotonic_ms: int = 0) -> list[Moment]:
    """A look every `step_ms` by the monotonic clock, at these wall times."""
    return [clock.look(wall, monotonic_ms + number * step_ms) for number, wall in enumerate(walls)]


def test_without_jumps_all_clocks_go_on() -> None:
    first, second = looks(LookClock(None), [NOW, NOW + SECOND])
    assert first == Moment(NOW, NOW, NOW)
    assert second == Moment(NOW + SECOND, NOW + SECOND, NOW + SECOND)


def test_the_steady_clock_goes_on_where_the_last_process_left_it() -> None:
    moments = looks(LookClock(LAST), [NOW, NOW + SECOND])
    assert [moment.steady_ms for moment in moments] == [5 * DAY, 5 * DAY + SECOND]


@pytest.mark.parametrize("jump_ms", [8 * DAY, -8 * DAY])
def test_nothing_expires_because_the_wall_clock_was_set(jump_ms: int) -> None:
    clock = LookClock(None)
    walls = [NOW + number * SECOND + (jump_ms if 5 <= number < 25 else 0) for number in range(3_600)]
    for number, moment in enumerate(looks(clock, walls)):
        # a clock that is behind only keeps things for longer
        assert moment.expiry_ms == min(NOW + number * SECOND, moment.wall_ms)
        assert moment.steady_ms == NOW + number * SECOND


def test_a_clock_that_is_set_for_good_expires_nothing_at_once() -> None:
    clock = LookClock(None)
    before, after = looks(clock, [NOW, NOW + 8 * DAY])
    assert after.expiry_ms - before.expiry_ms == SECOND


def test_a_clock_that_is_wrong_at_boot_expires_nothing() -> None:
    clock = LookClock(LAST)
    walls = [NOW + (8 * DAY if number < 20 else 0) + number * SECOND for number in range(300)]
    assert max(moment.expiry_ms for moment in looks(clock, walls)) < NOW


def test_a_downtime_counts_once_the_clock_has_run_evenly_for_ten_minutes() -> None:
    clock = LookClock(LAST)
    moments = looks(clock, [NOW + number * SECOND for number in range(602)])
    assert moments[599].expiry_ms == LAST.expiry_ms + 599 * SECOND
    assert moments[600].expiry_ms == NOW + 600 * SECOND
    assert moments[601].expiry_ms == NOW + 601 * SECOND


@pytest.mark.parametrize(
    ("last", "wrong_s", "jump_ms"),
    [
        pytest.param(None, 20, 8 * DAY, id="for seconds at the first start"),
        pytest.param(None, 700, 8 * DAY, id="for minutes at the first start"),
        pytest.param(LAST, 700, 3 * HOUR, id="for minutes at a restart"),
        pytest.param(Moment(NOW + 8 * DAY, 5 * DAY, NOW + 8 * DAY), 0, 0, id="in the last process"),
    ],
)
def test_a_clock_that_was_ahead_dropped_every_commit_for_ever(
    last: Moment | None, wrong_s: int, jump_ms: int
) -> None:
    clock = LookClock(last)
    walls = [NOW + number * SECOND + (jump_ms if number < wrong_s else 0) for number in range(1_500)]
    moments = looks(clock, walls)
    assert all(moment.expiry_ms <= moment.wall_ms for moment in moments)
    assert moments[-1].expiry_ms == moments[-1].wall_ms
    # the next process
    (again,) = looks(LookClock(moments[-1]), [walls[-1] + SECOND])
    assert again.expiry_ms == walls[-1]


def test_small_corrections_are_no_jumps() -> None:
    moments = looks(LookClock(None), [NOW, NOW + 1_500, NOW + 1_600, NOW + 3_500])
    assert [moment.jumped_ms for moment in moments] == [0] * 4


@pytest.mark.parametrize("jump_ms", [3 * HOUR, -3 * HOUR])
def test_a_jump_is_told_for_a_minute(jump_ms: int) -> None:
    walls = [NOW + number * SECOND + (jump_ms if number else 0) for number in range(65)]
    told = [moment.jumped_ms for moment in looks(LookClock(None), walls)]
    assert told[0] == 0
    assert set(told[1:62]) == {jump_ms}
    assert set(told[62:]) == {0}


@pytest.mark.parametrize(
    ("wrong_s", "told_s"),
    [
        pytest.param(20, 80, id="for seconds"),
        pytest.param(3_000, 659, id="for longer than it can be told from a right one"),
    ],
)
def test_a_clock_that_was_behind_at_boot_closed_incidents(wrong_s: int, told_s: int) -> None:
    walls = [NOW + number * SECOND - (3 * HOUR if number < wrong_s else 0) for number in range(1_000)]
    told = [bool(moment.jumped_ms) for moment in looks(LookClock(LAST), walls)]
    assert told == [number <= told_s for number in range(1_000)]


def test_a_restart_is_no_jump() -> None:
    for wall in (LAST.wall_ms, NOW, NOW + DAY):
        (first,) = looks(LookClock(LAST), [wall])
        assert first.jumped_ms == 0


def test_the_sentence_says_which_way_and_how_far() -> None:
    assert jump_message(0) == ""
    assert "forward by 10800 s" in jump_message(3 * HOUR)
    assert "back by 10800 s" in jump_message(-3 * HOUR)
