"""Answers of the history in the terminal: tables with bars and sparklines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from warren.cli.colours import coloured
from warren.cli.status import printable
from warren.common.status import Status
from warren.history.answers import Answer, Column, Kind, Strip
from warren.history.export import iso
from warren.history.period import SECOND_MS, described, local

_BAR: Final = 12
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_STYLES: Final = {"OK": "green", "WARN": "yellow", "ERR": "red"}
# columns of a sparkline
SPARKLINE: Final = 30
# a pipe has no width: lines are never broken there
_ENDLESS: Final = 500
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def console() -> Console:
    """For the answer itself; into a pipe or a file it writes plain lines."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_ENDLESS)


def table(answer: Answer) -> RenderableType:
    """The whole answer."""
    parts: list[RenderableType] = []
    if answer.title:
        title = Text.assemble((printable(answer.title).plain, "bold"))
        if answer.period:
            title.append(f"  {described(answer.period)}", "dim")
        parts.append(title)
    # of a group over time there is one line for all rows, else one for each
    own = len(answer.strips) == len(answer.rows) and bool(answer.strip_heading)
    if not own:
        parts += [_line(strip) for strip in answer.strips if _known(strip.values)]
    parts.append(_rows(answer, own=own) if answer.rows else Text("no rows", "dim"))
    parts += [Text(note, "dim") for note in answer.notes]
    return Group(*parts)


def _rows(answer: Answer, *, own: bool) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="dim")
    visible = [(at, column) for at, column in enumerate(answer.columns) if not column.spare]
    for _, column in visible:
        left = column.kind in {Kind.TEXT, Kind.STATUS, Kind.TIME, Kind.ANY}
        shown.add_column(
            printable(column.heading or column.name),
            justify="left" if left else "right",
            overflow="fold" if column.kind in {Kind.TEXT, Kind.ANY} else "ellipsis",
            no_wrap=column.kind not in {Kind.TEXT, Kind.ANY},
        )
        if column.bar:
            shown.add_column("", no_wrap=True)
    if own:
        shown.add_column(answer.strip_heading, no_wrap=True)
    greatest = {at: _greatest([row[at] for row in answer.rows]) for at, column in visible if column.bar}
    for number, row in enumerate(answer.rows):
        cells: list[RenderableType] = []
        for at, column in visible:
            cells.append(_cell(row[at], column, answer))
            if column.bar:
                whole = 1.0 if column.kind is Kind.SHARE else greatest[at]
                cells.append(Text(bar(row[at] or 0, whole), _bar_style(answer, row, column)))
        if own:
            cells.append(sparkline(answer.strips[number]))
        shown.add_row(*cells)
    return shown


def _cell(value: Any, column: Column, answer: Answer) -> RenderableType:
    if value is None:
        return Text("-", "dim")
    if column.kind is Kind.STATUS and value in Status.__members__:
        return coloured(Status[value])
    if column.kind is Kind.SECONDS and not value:
        return Text("0 s", "dim")
    if column.kind is Kind.TIME:
        return _time(value, answer)
    written = _WRITTEN.get(column.kind)
    return written(value) if written else printable(str(value))


def _time(at_ms: int, answer: Answer) -> str:
    if answer.grid is None:
        # a query of the user's: Spark reckons in UTC there
        return iso(at_ms)
    form = "%Y-%m-%d %H:%M" if answer.grid.step_ms >= 60 * SECOND_MS else "%Y-%m-%d %H:%M:%S"
    return f"{local(at_ms):{form}}"


def duration(seconds: float) -> str:
    """`2 d 3 h`, `45 min`, `8 s`: the two greatest units."""
    left = round(seconds)
    parts: list[str] = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or (parts and unit != "s"):
            parts.append(f"{count} {unit}")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not part.startswith("0 ")) or "0 s"


def share(value: float) -> str:
    """Never rounded up to 100 %, nor down to nothing."""
    if 0.9995 <= value < 1:
        return "99.9+%"
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.1%}"


_WRITTEN: Final[dict[Kind, Callable[[Any], str]]] = {
    Kind.COUNT: lambda value: f"{value:,}",
    Kind.SECONDS: duration,
    Kind.SHARE: share,
    Kind.RATE: lambda value: f"{value:,.1f}",
}


def bar(value: float, greatest: float, width: int = _BAR) -> str:
    """As long as its share of the greatest; a value that is not 0 is seen."""
    if greatest <= 0 or value <= 0:
        return ""
    whole, part = divmod(min(value / greatest, 1.0) * width, 1)
    return ("█" * int(whole) + _EIGHTHS[int(part * 8)]).rstrip() or _EIGHTHS[1]


def sparkline(strip: Strip, width: int = SPARKLINE) -> Text:
    """One character a step, coloured by its status; a space where nothing is known."""
    values, statuses = _narrowed(strip, width)
    greatest = _greatest(values)
    line = Text()
    for value, status in zip(values, statuses, strict=True):
        if value is None:
            line.append(" ")
            continue
        level = round(value / greatest * (len(_LEVELS) - 1)) if greatest else 0
        line.append(_LEVELS[level], _STYLES.get(status or "", "cyan"))
    return line


def _line(strip: Strip) -> Text:
    line = sparkline(strip, width=60)
    return Text.assemble(line, (f"  {_amount(_greatest(strip.values))} at most", "dim"))


def _narrowed(strip: Strip, width: int) -> tuple[list[float | None], list[str | None]]:
    """Steps that share a character become the greatest and the worst of them."""
    count = len(strip.values)
    statuses = strip.statuses or [None] * count
    if count <= width:
        return list(strip.values), list(statuses)
    edges = [count * at // width for at in range(width + 1)]
    pairs = list(pairwise(edges))
    values = [
        max((each for each in strip.values[begin:end] if each is not None), default=None)
        for begin, end in pairs
    ]
    worst = [
        max((each for each in statuses[begin:end] if each), key=lambda name: Status[name], default=None)
        for begin, end in pairs
    ]
    return values, worst


def _bar_style(answer: Answer, row: Sequence[Any], column: Column) -> str:
    names = [each.name for each in answer.columns]
    if column.name == "ok_share":
        return "green" if row[names.index("ok_share")] >= 0.999 else "yellow"
    if "status" in names:
        return _STYLES.get(row[names.index("status")], "red") if column.name == "max_lag" else "red"
    return "cyan"


def _greatest(values: Sequence[Any]) -> float:
    return max((float(each) for each in values if each is not None), default=0.0)


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"


def _known(values: Sequence[Any]) -> bool:
    return any(each is not None for each in values)
