"""Answers as CSV and JSON, for programs: numbers without units, times in UTC."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import io
import json
import math
from typing import Any, Final

from warren.history.answers import Answer, Column, Kind

# a spreadsheet takes a cell that begins so for a formula, and others choose the names of groups
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def as_csv(answer: Answer) -> str:
    """RFC 4180, with a line of names."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_cell(column.name) for column in answer.columns])
    for row in answer.rows:
        writer.writerow(
            [_cell(_plain(cell, column)) for cell, column in zip(row, answer.columns, strict=True)]
        )
    return out.getvalue()


def as_json(*answers: tuple[str, Answer]) -> str:
    """One object: for each answer its rows."""
    return json.dumps(
        {
            name: [
                {column.name: _plain(cell, column) for cell, column in zip(row, answer.columns, strict=True)}
                for row in answer.rows
            ]
            for name, answer in answers
        },
        default=_unusual,
        ensure_ascii=False,
        indent=2,
        allow_nan=False,
    )


def iso(at_ms: int) -> str:
    moment = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)
    return moment.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds").replace("+00:00", "Z")


def _plain(cell: Any, column: Column) -> Any:
    if cell is None:
        return None
    if column.kind is Kind.TIME:
        return iso(cell)
    if isinstance(cell, float) and not math.isfinite(cell):
        # JSON has no such numbers
        return str(cell)
    return cell


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, default=_unusual, ensure_ascii=False)
    return value


def _unusual(value: Any) -> Any:
    """Of the user's own queries: what JSON has no type for."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
