"""The classes of long runs are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from warren.common.sentinels import UNKNOWN
from warren.lab.groups import Group, Played, Timetable, play
from warren.lab.long.classes import LONG_SCENARIOS
from warren.lab.producers import Ints
from warren.lab.scenarios import Kind

HOURS_S = 6 * 3_600.0
RATE = 20.0
EVERY_S = 5.0


def played(name: str, length_s: float = HOURS_S) -> Played[Group]:
    """The groups of one class."""
    scenarios = [each for each in LONG_SCENARIOS if each.name == name]
    looks = np.arange(1.0, length_s, EVERY_S)
    return play(scenarios, 1, 4, Timetable(length_s, EVERY_S, looks, looks), 0)


def lags(made: Played[Group], group: int) -> Ints:
    """The lag of a group at each look after its first commit."""
    own = made.group == group
    looks = np.arange(1.0, EVERY_S * len(made.heads), EVERY_S)
    last = np.searchsorted(made.at_s[own], looks, side="right") - 1
    there = (last >= 0) & (made.heads[:, group] != UNKNOWN)
    return np.asarray(made.heads[there, group] - made.offset[own][last[there]])


@pytest.mark.parametrize(("name", "late_s"), [("10 s", 10.0), ("10 min", 600.0), ("1 h", 3_600.0)])
def test_who_is_always_late_is_so_from_the_first_look_on(name: str, late_s: float) -> None:
    lag = lags(played(f"always {name} late"), 0) / RATE
    # half a commit's interval more
    assert lag[:100].mean() == pytest.approx(late_s + 2.5, rel=0.1)
    assert lag[-100:].mean() == pytest.approx(late_s + 2.5, rel=0.1)


def test_day_and_night_never_bring_more_than_can_be_done() -> None:
    made = played("day and night, load to 0.9", 86_400.0)
    # commits every second: nine messages on average at noon, now and then a hundred
    lag = lags(made, 0)
    assert lag.max() < 500
    assert np.ptp(np.diff(made.heads[::720, 0])) > RATE * 3_600


@pytest.mark.parametrize(
    ("name", "least_s", "most_s", "times"),
    [
        ("rebalances", 2.0, 16.0, 6),
        ("broker restarts", 5.0, 36.0, 1),
        ("coordinator failovers", 20.0, 96.0, 1),
    ],
)
def test_disturbances_are_few_and_short(name: str, least_s: float, most_s: float, times: int) -> None:
    made = played(name)
    at_s = made.at_s[made.group == 0]
    gaps = np.diff(at_s)
    long = gaps[gaps > 1.9]
    assert len(long) == times
    assert least_s <= long.min()
    assert long.max() <= most_s


@pytest.mark.parametrize("skew_s", [-120, -10, 10, 120])
def test_a_clock_is_off_by_what_the_class_says(skew_s: int) -> None:
    made = played(f"broker's clock {skew_s:+d} s")
    assert made.timestamp_ms / 1000 - made.at_s == pytest.approx(skew_s, abs=0.002)


def test_batches_are_worked_off_in_minutes() -> None:
    for minutes in (10, 60):
        lag = lags(played(f"batches every {minutes} min"), 0)
        assert lag.max() > 0.9 * minutes * 60 * RATE
        # the share of time in which it is behind
        assert 0.05 < np.mean(lag > 100) < 0.5


def test_trouble_begins_after_two_hours_of_health() -> None:
    for each in {each.name: each for each in LONG_SCENARIOS if each.kind is not Kind.HEALTHY}:
        for group in played(each).groups:
            assert group.labels[0].since_s == 0
            assert 7_200 <= group.labels[1].since_s <= 3.5 * 3_600
