"""Go's time.Time and related types, with the methods that a template may call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, Final

from warren.gotemplate.escapes import json_string
from warren.gotemplate.layouts import DAYS, MONTHS, format_time
from warren.gotemplate.types import (
    BOOL,
    INT,
    INT64,
    STRING,
    Function,
    GoError,
    Kind,
    Type,
    give,
    struct_of,
    wrapped,
)

_SECOND: Final = 1_000_000_000
# seconds from the first day of year 1 to that of 1970
_YEAR_ONE: Final = 62_135_596_800
_CYCLE_DAYS: Final = 146_097  # the calendar repeats after 400 years
_NANO_LAYOUT: Final = "2006-01-02T15:04:05.999999999Z07:00"


@dataclass(frozen=True)
class Moment:
    """A moment in UTC or in the local time zone."""

    # since 1970
    seconds: int
    nanosecond: int = 0
    local: bool = False

    @cached_property
    def _zone(self) -> tuple[int, str]:
        if not self.local:
            return 0, "UTC"
        try:
            there = time.localtime(self.seconds)
        except (OverflowError, OSError, ValueError):  # outside the range of the C library
            return 0, "UTC"
        return there.tm_gmtoff, there.tm_zone

    @property
    def offset(self) -> int:
        return self._zone[0]

    @property
    def zone(self) -> str:
        return self._zone[1]

    @cached_property
    def _date(self) -> tuple[int, int, int, int, int]:
        days = (self.seconds + self.offset) // 86400 + date(1970, 1, 1).toordinal()
        cycles, rest = divmod(days - 1, _CYCLE_DAYS)
        day = date.fromordinal(rest + 1)
        return day.year + 400 * cycles, day.month, day.day, day.timetuple().tm_yday, days % 7

    @property
    def year(self) -> int:
        return self._date[0]

    @property
    def month(self) -> int:
        return self._date[1]

    @property
    def day(self) -> int:
        return self._date[2]

    @property
    def year_day(self) -> int:
        return self._date[3]

    @property
    def weekday(self) -> int:
        """0 is Sunday."""
        return self._date[4]

    @property
    def hour(self) -> int:
        return (self.seconds + self.offset) % 86400 // 3600

    @property
    def minute(self) -> int:
        return (self.seconds + self.offset) % 3600 // 60

    @property
    def second(self) -> int:
        return (self.seconds + self.offset) % 60

    @property
    def nanoseconds(self) -> int:
        """Since 1970."""
        return self.seconds * _SECOND + self.nanosecond

    def __str__(self) -> str:
        return format_time(self, "2006-01-02 15:04:05.999999999 -0700 MST")


# Go's zero value of a time
ZERO: Final = Moment(-_YEAR_ONE)


def from_milliseconds(milliseconds: int) -> Moment:
    """As Go's time.Unix: in the local time zone."""
    seconds, rest = divmod(milliseconds, 1000)
    return Moment(seconds, rest * 1_000_000, local=True)


def _moved(moment: Moment, nanoseconds: int) -> Moment:
    seconds, rest = divmod(moment.nanosecond + nanoseconds, _SECOND)
    return replace(moment, seconds=moment.seconds + seconds, nanosecond=rest)


def _add_date(moment: Moment, years: int, months: int, days: int) -> Moment:
    month0 = moment.month - 1 + months
    year = moment.year + years + month0 // 12
    if abs(year) > 200_000 or abs(days) > 100_000_000:
        raise GoError("the date is out of range")
    cycles, inside = divmod(year - 1, 400)
    first = date(inside + 1, month0 % 12 + 1, 1).toordinal() + cycles * _CYCLE_DAYS
    today = (moment.seconds + moment.offset) // 86400 + date(1970, 1, 1).toordinal()
    shift = (first + moment.day - 1 + days - today) * 86400
    moved = replace(moment, seconds=moment.seconds + shift)
    # the same clock time, also when the zone's offset differs then
    return replace(moved, seconds=moved.seconds + moment.offset - moved.offset)


def _plain(name: str, result: Type, call: Callable[[Any], Any]) -> Function:
    return Function(name, (), call, result)


MONTH: Final = Type(Kind.INT, "time.Month", text=lambda month: MONTHS[month - 1])
give(MONTH, _plain("String", STRING, lambda month: MONTHS[month - 1]))
WEEKDAY: Final = Type(Kind.INT, "time.Weekday", text=lambda day: DAYS[day])
give(WEEKDAY, _plain("String", STRING, lambda day: DAYS[day]))
# in nanoseconds; a template writes it as a number
DURATION: Final = Type(Kind.INT, "time.Duration")
# its data is a Moment; Go's fields are not exported
TIME: Final = struct_of(
    "time.Time", text=str, json=lambda moment: json_string(format_time(moment, _NANO_LAYOUT))
)
give(
    TIME,
    Function("Format", (STRING,), format_time, STRING),
    _plain("String", STRING, str),
    _plain("UTC", TIME, lambda moment: replace(moment, local=False)),
    _plain("Local", TIME, lambda moment: replace(moment, local=True)),
    _plain("Unix", INT64, lambda moment: moment.seconds),
    _plain("UnixMilli", INT64, lambda moment: moment.nanoseconds // 1_000_000),
    _plain("UnixMicro", INT64, lambda moment: moment.nanoseconds // 1000),
    _plain("UnixNano", INT64, lambda moment: wrapped(moment.nanoseconds, INT64)),
    _plain("Year", INT, lambda moment: moment.year),
    _plain("Month", MONTH, lambda moment: moment.month),
    _plain("Day", INT, lambda moment: moment.day),
    _plain("YearDay", INT, lambda moment: moment.year_day),
    _plain("Weekday", WEEKDAY, lambda moment: moment.weekday),
    _plain("Hour", INT, lambda moment: moment.hour),
    _plain("Minute", INT, lambda moment: moment.minute),
    _plain("Second", INT, lambda moment: moment.second),
    _plain("Nanosecond", INT, lambda moment: moment.nanosecond),
    _plain("IsZero", BOOL, lambda moment: moment.nanoseconds == ZERO.nanoseconds),
    Function("Add", (DURATION,), _moved, TIME),
    Function("AddDate", (INT, INT, INT), _add_date, TIME),
)
