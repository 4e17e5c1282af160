"""Go's time.Time and its relatives, with the methods that a template may call."""

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
    BYTES,
    FLOAT64,
    INT,
    INT64,
    STRING,
    UINT64,
    Field,
    Function,
    GoError,
    Kind,
    Type,
    as_bytes,
    give,
    pointer_to,
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
    """A moment in UTC or in the zone of this machine."""

    # since 1970
    seconds: int
    nanosecond: int = 0
    local: bool = False

    @cached_property
    def _zone(self) -> tuple[int, str, bool]:
        if not self.local:
            return 0, "UTC", False
        try:
            there = time.localtime(self.seconds)
        except (OverflowError, OSError, ValueError):  # further away than the C library can tell
            return 0, "UTC", False
        return there.tm_gmtoff, there.tm_zone, there.tm_isdst > 0

    @property
    def offset(self) -> int:
        return self._zone[0]

    @property
    def zone(self) -> str:
        return self._zone[1]

    @property
    def summer(self) -> bool:
        return self._zone[2]

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


# what a time that was never set is
ZERO: Final = Moment(-_YEAR_ONE)


def from_milliseconds(milliseconds: int) -> Moment:
    """As Go's time.Unix: in the zone of this machine."""
    seconds, rest = divmod(milliseconds, 1000)
    return Moment(seconds, rest * 1_000_000, local=True)


def duration_text(nanoseconds: int) -> str:
    """1h2m3.5s; less than a second in its own unit."""
    sign, size = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if size == 0:
        return "0s"
    for limit, unit, digits in ((1000, "ns", 0), (1_000_000, "µs", 3), (_SECOND, "ms", 6)):
        if size < limit:
            return sign + _decimal(size, digits) + unit
    minutes, rest = divmod(size, 60 * _SECOND)
    text = _decimal(rest, 9) + "s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text


def _decimal(size: int, digits: int) -> str:
    whole, rest = divmod(size, 10**digits)
    fraction = f"{rest:0{digits}d}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _place(moment: Moment) -> str:
    """Go says Local for the zone of the machine, unless that is UTC itself."""
    return "Local" if moment.local and (time.daylight or time.tzname[0] != "UTC") else "UTC"


def _source(moment: Moment) -> str:
    place = "Local" if moment.local else "UTC"
    clock = f"{moment.hour}, {moment.minute}, {moment.second}, {moment.nanosecond}"
    return f"time.Date({moment.year}, time.{MONTHS[moment.month - 1]}, {moment.day}, {clock}, time.{place})"


def _moved(moment: Moment, nanoseconds: int) -> Moment:
    seconds, rest = divmod(moment.nanosecond + nanoseconds, _SECOND)
    return replace(moment, seconds=moment.seconds + seconds, nanosecond=rest)


def _add_date(moment: Moment, years: int, months: int, days: int) -> Moment:
    month0 = moment.month - 1 + months
    year = moment.year + years + month0 // 12
    if abs(year) > 200_000 or abs(days) > 100_000_000:
        raise GoError("the date is out of reach")
    cycles, inside = divmod(year - 1, 400)
    first = date(inside + 1, month0 % 12 + 1, 1).toordinal() + cycles * _CYCLE_DAYS
    today = (moment.seconds + moment.offset) // 86400 + date(1970, 1, 1).toordinal()
    shift = (first + moment.day - 1 + days - today) * 86400
    moved = replace(moment, seconds=moment.seconds + shift)
    # the same clock time, also when the zone's offset is another one then
    return replace(moved, seconds=moved.seconds + moment.offset - moved.offset)


def _rounded(moment: Moment, step: int, *, up: bool) -> Moment:
    if step <= 0:
        return moment
    rest = (moment.nanoseconds + _YEAR_ONE * _SECOND) % step
    if up and rest + rest >= step:
        return _moved(moment, step - rest)
    return _moved(moment, -rest)


def _round_duration(length: int, step: int) -> int:
    if step <= 0:
        return length
    rest = abs(length) % step
    size = abs(length) - rest + (step if rest + rest >= step else 0)
    return size if length >= 0 else -size


def _truncate_duration(length: int, step: int) -> int:
    if step <= 0:
        return length
    size = abs(length) - abs(length) % step
    return size if length >= 0 else -size


def _plain(name: str, result: Type, call: Callable[[Any], Any]) -> Function:
    return Function(name, (), call, result)


MONTH: Final = Type(
    Kind.INT,
    "time.Month",
    text=lambda month: MONTHS[month - 1],
)
give(MONTH, _plain("String", STRING, lambda month: MONTHS[month - 1]))
WEEKDAY: Final = Type(
    Kind.INT,
    "time.Weekday",
    text=lambda day: DAYS[day],
)
give(WEEKDAY, _plain("String", STRING, lambda day: DAYS[day]))
LOCATION: Final = Type(
    Kind.STRUCT,
    "time.Location",
    text=str,
)
give(LOCATION, _plain("String", STRING, str))
_LOCATION_POINTER: Final = pointer_to(LOCATION)
DURATION: Final = Type(Kind.INT, "time.Duration", text=duration_text)
give(
    DURATION,
    _plain("String", STRING, duration_text),
    _plain("Abs", DURATION, abs),
    _plain("Hours", FLOAT64, lambda length: length / 3600e9),
    _plain("Minutes", FLOAT64, lambda length: length / 60e9),
    _plain("Seconds", FLOAT64, lambda length: length / 1e9),
    _plain("Milliseconds", INT64, lambda length: int(length / 1_000_000)),
    _plain("Microseconds", INT64, lambda length: int(length / 1000)),
    _plain("Nanoseconds", INT64, int),
    Function("Round", (DURATION,), _round_duration, DURATION),
    Function("Truncate", (DURATION,), _truncate_duration, DURATION),
)

TIME: Final = struct_of(
    "time.Time",
    Field("wall", UINT64, lambda moment: moment.nanosecond),
    Field("ext", INT64, lambda moment: moment.seconds + _YEAR_ONE),
    Field("loc", _LOCATION_POINTER, lambda moment: _place(moment) if moment.local else None),
    text=str,
    source=_source,
    json=lambda moment: json_string(format_time(moment, _NANO_LAYOUT)),
)


def _marshalled(moment: Moment) -> bytes:
    return as_bytes(format_time(moment, _NANO_LAYOUT))


give(
    TIME,
    Function("Format", (STRING,), format_time, STRING),
    _plain("String", STRING, str),
    _plain("GoString", STRING, _source),
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
    _plain("IsDST", BOOL, lambda moment: moment.summer),
    _plain("Location", _LOCATION_POINTER, _place),
    _plain("MarshalText", BYTES, _marshalled),
    _plain("MarshalJSON", BYTES, lambda moment: b'"' + _marshalled(moment) + b'"'),
    Function("After", (TIME,), lambda moment, other: moment.nanoseconds > other.nanoseconds, BOOL),
    Function("Before", (TIME,), lambda moment, other: moment.nanoseconds < other.nanoseconds, BOOL),
    Function("Equal", (TIME,), lambda moment, other: moment.nanoseconds == other.nanoseconds, BOOL),
    Function(
        "Compare",
        (TIME,),
        lambda moment, other: (
            (moment.nanoseconds > other.nanoseconds) - (moment.nanoseconds < other.nanoseconds)
        ),
        INT,
    ),
    Function(
        "Sub",
        (TIME,),
        lambda moment, other: min(max(moment.nanoseconds - other.nanoseconds, -(2**63)), 2**63 - 1),
        DURATION,
    ),
    Function("Add", (DURATION,), _moved, TIME),
    Function("AddDate", (INT, INT, INT), _add_date, TIME),
    Function("In", (_LOCATION_POINTER,), lambda moment, place: replace(moment, local=place != "UTC"), TIME),
    Function("Round", (DURATION,), lambda moment, step: _rounded(moment, step, up=True), TIME),
    Function("Truncate", (DURATION,), lambda moment, step: _rounded(moment, step, up=False), TIME),
    Function("Date", (), lambda moment: None, INT, results=3),
    Function("Clock", (), lambda moment: None, INT, results=3),
    Function("ISOWeek", (), lambda moment: None, INT, results=2),
    Function("Zone", (), lambda moment: None, STRING, results=2),
    Function("ZoneBounds", (), lambda moment: None, TIME, results=2),
)
