"""Answers as rows: named columns of known kinds, which tables, CSV, JSON and pictures are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from warren.history.period import Grid, Period


class Kind(Enum):
    """What a value is, and so how it is written."""

    TEXT = "text"
    STATUS = "status"
    COUNT = "count"
    SECONDS = "seconds"
    SHARE = "share"
    RATE = "rate"
    TIME = "time"
    # of a query of the user's
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `name` is that of CSV and JSON, `heading` that of a table."""

    name: str
    kind: Kind
    heading: str = ""
    # whether a table has a bar beside the number
    bar: bool = False
    # whether only CSV and JSON have it
    spare: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """One line of a chart, step by step of the grid; None: not known."""

    label: str
    values: Sequence[float | None]
    # by step; empty where there are none
    statuses: Sequence[str | None] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows, and what to draw."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    period: Period | None = None
    grid: Grid | None = None
    # one per row, or of their own
    strips: Sequence[Strip] = ()
    # heading of the strips in a table
    strip_heading: str = ""
    # sentences under the table
    notes: Sequence[str] = field(default_factory=tuple)

    def column(self, name: str) -> list[Any]:
        at = [each.name for each in self.columns].index(name)
        return [row[at] for row in self.rows]
