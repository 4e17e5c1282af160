"""From when to when: what a person writes for a moment, and the grid of steps that a period is divided into."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from warren.errors import WarrenError

SECOND_MS: Final = 1000
# unit: its milliseconds
_UNITS: Final = {
    "s": SECOND_MS,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
}
_DURATION: Final = re.compile(r"(\d{1,9})\s*(s|min|m|h|d|w)")
# steps that read well, in seconds
_STEPS_S: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(each * 60 for each in (1, 2, 5, 10, 15, 30)),
    *(each * 3600 for each in (1, 2, 3, 6, 12)),
    *(each * 86_400 for each in (1, 2, 7, 14, 28)),
)


class PeriodError(WarrenError):
    """A moment, a duration or a period that makes no sense."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Period:
    """From `since_ms` until before `until_ms`."""

    since_ms: int
    until_ms: int

    @property
    def seconds(self) -> float:
        return (self.until_ms - self.since_ms) / SECOND_MS

    def days(self) -> tuple[dt.date, dt.date]:
        """The first and the last day in UTC: the names of the directories."""
        return _utc(self.since_ms).date(), _utc(self.until_ms - 1).date()

    def from_first(self, first_ms: int) -> Period:
        """Without the time before the first sample."""
        return replace(self, since_ms=min(max(self.since_ms, first_ms), self.until_ms - 1))


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps of equal length: step `n` begins at `origin_ms + n * step_ms`."""

    origin_ms: int
    step_ms: int
    steps: int

    def begin_ms(self, step: int) -> int:
        return self.origin_ms + step * self.step_ms


def period(since: str, until: str | None, now_ms: int, zone: dt.tzinfo | None = None) -> Period:
    """From what a person wrote; `zone` is the reader's, None: that of this machine."""
    until_ms = now_ms if until is None else min(moment("--until", until, now_ms, zone), now_ms)
    since_ms = max(moment("--since", since, now_ms, zone), 0)
    if since_ms >= until_ms:
        raise PeriodError(
            f"There is no time between --since {since} and --until {until or 'now'}: "
            "--since must be before --until and before now."
        )
    return Period(since_ms, until_ms)


def moment(option: str, text: str, now_ms: int, zone: dt.tzinfo | None = None) -> int:
    """`24h`: so long ago. A date: its midnight, or the time with it, by the reader's clock unless it has a zone."""
    given = text.strip()
    ago_ms = duration_ms(given)
    if ago_ms is not None:
        return now_ms - ago_ms
    try:
        read = dt.datetime.fromisoformat(given)
        if read.tzinfo is None:
            read = read.replace(tzinfo=zone) if zone else read.astimezone()
        return round(read.timestamp() * SECOND_MS)
    except (ValueError, OverflowError, OSError):
        raise PeriodError(
            f"{option} {text}: neither a duration (90s, 15m, 24h, 7d, 4w) nor a date (2026-11-01, 2026-11-01T08:30)."
        ) from None


def duration_ms(text: str) -> int | None:
    """`15m` in milliseconds; None: not a duration."""
    match = _DURATION.fullmatch(text.strip().lower())
    return int(match[1]) * _UNITS[match[2]] if match else None


def step_ms(text: str) -> int:
    found = duration_ms(text)
    if not found:
        raise PeriodError(f"--step {text}: must be a duration such as 30s, 5m or 1h.")
    return found


def grid(period: Period, most: int, step: int | None = None, zone: dt.tzinfo | None = None) -> Grid:
    """Steps of `step` ms, else the shortest that read well and are no more than `most`; they begin at round times."""
    length = step or _step(period.until_ms - period.since_ms, most)
    begin = _utc(period.since_ms)
    offset = (begin.astimezone(zone) if zone else begin.astimezone()).utcoffset() or dt.timedelta()
    shift = round(offset.total_seconds() * SECOND_MS)
    origin = (period.since_ms + shift) // length * length - shift
    return Grid(origin, length, -(-(period.until_ms - origin) // length))


def _step(length_ms: int, most: int) -> int:
    # one more than fits, since the first step begins before the period
    for each in _STEPS_S:
        if length_ms <= each * SECOND_MS * max(most - 1, 1):
            return each * SECOND_MS
    return -(-length_ms // max(most - 1, 1))


def described(period: Period, zone: dt.tzinfo | None = None) -> str:
    """`2026-11-15 08:00 to 2026-11-16 08:00 CET`."""
    begin, end = (local(each, zone) for each in (period.since_ms, period.until_ms))
    form = "%Y-%m-%d %H:%M" if period.seconds >= 600 else "%Y-%m-%d %H:%M:%S"
    return f"{begin:{form}} to {end:{form}} {end.tzname() or ''}".rstrip()


def local(at_ms: int, zone: dt.tzinfo | None = None) -> dt.datetime:
    """By the reader's clock."""
    return _utc(at_ms).astimezone(zone) if zone else _utc(at_ms).astimezone()


def spread(days: Sequence[dt.date]) -> str:
    """`2026-11-01 to 2026-11-15`."""
    first, last = min(days), max(days)
    return f"{first}" if first == last else f"{first} to {last}"


def _utc(at_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(at_ms / SECOND_MS, dt.UTC)
