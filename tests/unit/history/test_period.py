"""What people write for moments, by their own clock."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from warren.history.period import Grid, Period, PeriodError, grid, moment, period, step_ms

BERLIN = ZoneInfo("Europe/Berlin")
NOW = int(dt.datetime(2026, 11, 16, 12, tzinfo=dt.UTC).timestamp() * 1000)
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def at(text: str) -> int:
    return round(dt.datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("90s", NOW - 90_000),
        ("15m", NOW - 15 * MINUTE),
        ("15min", NOW - 15 * MINUTE),
        ("24h", NOW - DAY),
        ("7d", NOW - 7 * DAY),
        ("4w", NOW - 28 * DAY),
        (" 24H ", NOW - DAY),
        ("2026-11-01", at("2026-11-01T00:00+01:00")),
        # summer time
        ("2026-07-01", at("2026-07-01T00:00+02:00")),
        ("2026-11-01T08:30", at("2026-11-01T08:30+01:00")),
        ("2026-11-01 08:30", at("2026-11-01T08:30+01:00")),
        ("2026-11-01T08:30:00Z", at("2026-11-01T08:30+00:00")),
        ("2026-11-01T08:30-05:00", at("2026-11-01T08:30-05:00")),
    ],
)
def test_a_moment_is_a_duration_or_a_date_by_the_reader_s_clock(text: str, wanted: int) -> None:
    assert moment("--since", text, NOW, BERLIN) == wanted


@pytest.mark.parametrize("text", ["", "yesterday", "24", "h", "24x", "-1h", "2026-13-01", "99999999999d"])
def test_what_is_no_moment_is_refused_with_examples(text: str) -> None:
    with pytest.raises(PeriodError, match=r"neither a duration .* nor a date"):
        moment("--since", text, NOW, BERLIN)


def test_a_period_ends_now_at_the_latest() -> None:
    assert period("1h", None, NOW) == Period(NOW - HOUR, NOW)
    # since the beginning of time
    assert period("999999999w", None, NOW).days()[0] == dt.date(1970, 1, 1)
    assert period("2h", "1h", NOW) == Period(NOW - 2 * HOUR, NOW - HOUR)
    assert period("2026-11-16", "2027-01-01", NOW, dt.UTC).until_ms == NOW
    for since, until in (("1h", "2h"), ("2027-01-01", None), ("0s", None)):
        with pytest.raises(PeriodError, match="no time between"):
            period(since, until, NOW, dt.UTC)


def test_the_days_of_a_period_are_those_of_the_directories() -> None:
    first, last = period("2026-11-15", "2026-11-16", NOW, BERLIN).days()
    assert (str(first), str(last)) == ("2026-11-14", "2026-11-15")
    midnight = Period(at("2026-11-15T00:00+00:00"), at("2026-11-16T00:00+00:00"))
    assert [str(day) for day in midnight.days()] == ["2026-11-15", "2026-11-15"]


@pytest.mark.parametrize(
    ("length", "most", "step"),
    [(DAY, 60, 30 * MINUTE), (HOUR, 60, 2 * MINUTE), (MINUTE, 60, 2000), (30 * DAY, 60, DAY)],
)
def test_steps_are_round_and_no_more_than_there_is_room_for(length: int, most: int, step: int) -> None:
    found = grid(Period(NOW - length, NOW), most, zone=dt.UTC)
    assert found.step_ms == step
    assert found.steps <= most
    assert found.origin_ms <= NOW - length
    assert found.begin_ms(found.steps) >= NOW


def test_steps_of_a_day_begin_at_the_reader_s_midnight() -> None:
    found = grid(Period(NOW - 3 * DAY, NOW), 10, DAY, BERLIN)
    assert found == Grid(at("2026-11-13T00:00+01:00"), DAY, 4)


@pytest.mark.parametrize("text", ["0s", "often", "1x"])
def test_a_step_is_a_duration(text: str) -> None:
    with pytest.raises(PeriodError, match="must be a duration"):
        step_ms(text)
    assert step_ms("5m") == 300_000
