"""Go's time layouts: the reference time Monday, January 2, 2006, 15:04:05 -0700 in the desired format."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from warren.gotemplate.times import Moment

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

# the elements of a layout; the first match counts
_PIECE: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST"
    r"|0[1-6]|002|15|1|2006|(?<=_)2006|__2|_2(?!006)|2|3|4|5|PM|pm"
    r"|[-Z]070000|[-Z]07:00:00|[-Z]0700|[-Z]07:00|[-Z]07"
    r"|[.,](?:0+|9+)(?![0-9])"
)


def _hour12(moment: Moment) -> int:
    return moment.hour % 12 or 12


# piece of a layout: its text
_PIECES: Final[dict[str, Callable[[Moment], str]]] = {
    "January": lambda moment: MONTHS[moment.month - 1],
    "Jan": lambda moment: MONTHS[moment.month - 1][:3],
    "1": lambda moment: str(moment.month),
    "01": lambda moment: f"{moment.month:02d}",
    "Monday": lambda moment: DAYS[moment.weekday],
    "Mon": lambda moment: DAYS[moment.weekday][:3],
    "2": lambda moment: str(moment.day),
    "_2": lambda moment: f"{moment.day:2d}",
    "02": lambda moment: f"{moment.day:02d}",
    "__2": lambda moment: f"{moment.year_day:3d}",
    "002": lambda moment: f"{moment.year_day:03d}",
    "15": lambda moment: f"{moment.hour:02d}",
    "3": lambda moment: str(_hour12(moment)),
    "03": lambda moment: f"{_hour12(moment):02d}",
    "4": lambda moment: str(moment.minute),
    "04": lambda moment: f"{moment.minute:02d}",
    "5": lambda moment: str(moment.second),
    "05": lambda moment: f"{moment.second:02d}",
    "2006": lambda moment: f"-{-moment.year:04d}" if moment.year < 0 else f"{moment.year:04d}",
    "06": lambda moment: f"{abs(moment.year) % 100:02d}",
    "PM": lambda moment: "PM" if moment.hour >= 12 else "AM",
    "pm": lambda moment: "pm" if moment.hour >= 12 else "am",
    "MST": lambda moment: moment.zone,
}


@lru_cache(maxsize=256)
def _split(layout: str) -> tuple[tuple[str, bool], ...]:
    """The layout's parts, and whether each is a piece or literal text."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for found in _PIECE.finditer(layout):
        parts.append((layout[at : found.start()], False))
        parts.append((found.group(), True))
        at = found.end()
    parts.append((layout[at:], False))
    return tuple(parts)


def format_time(moment: Moment, layout: str) -> str:
    return "".join(_piece(moment, part) if special else part for part, special in _split(layout))


def _piece(moment: Moment, piece: str) -> str:
    made = _PIECES.get(piece)
    if made is not None:
        return made(moment)
    if piece[0] in ".,":
        return _fraction(moment.nanosecond, piece)
    return _offset(moment.offset, piece)


def _fraction(nanosecond: int, piece: str) -> str:
    digits = f"{nanosecond:09d}"[: len(piece) - 1]
    if piece[1] == "9":
        digits = digits.rstrip("0")
        return piece[0] + digits if digits else ""
    return piece[0] + digits.ljust(len(piece) - 1, "0")


def _offset(offset: int, piece: str) -> str:
    if piece[0] == "Z" and offset == 0:
        return "Z"
    # Go takes the sign from the whole minutes
    sign = "-" if offset <= -60 else "+"
    size = abs(offset) if sign == "-" else offset
    colon = ":" if ":" in piece else ""
    text = f"{sign}{size // 3600:02d}"
    if len(piece) > 3:
        text += f"{colon}{size % 3600 // 60:02d}"
    if piece.removeprefix(piece[0]) in {"070000", "07:00:00"}:
        text += f"{colon}{size % 60:02d}"
    return text
