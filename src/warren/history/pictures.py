"""Answers as pictures, PNG or SVG, drawn by matplotlib."""

from __future__ import annotations

import datetime as dt
import logging
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warren.errors import WarrenError
from warren.history.answers import Answer, Kind, Strip
from warren.history.period import Grid, described, local

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = (".png", ".svg")
# rows of a picture: more cannot be read
_MOST_ROWS: Final = 40
# lines of a chart that can be told from each other
_MOST_LINES: Final = 8
_LONGEST_NAME: Final = 36

_INK: Final = "#24292f"
_DIM: Final = "#6e7781"
_FAINT: Final = "#d8dee4"
# status: its colour; distinct in light and dark also for those who do not see red and green
_COLOURS: Final = {"OK": "#7cc08f", "WARN": "#f0b429", "ERR": "#c8364a", "": "#eef1f4"}
_LINES: Final = ("#2f6fb3", "#e07b39", "#3d9970", "#8e5ea2", "#c8364a", "#6b8e23", "#17a2b8", "#8c6d31")
_STYLE: Final = {
    # names of groups are text, whatever is in them: $…$ is no formula
    "text.parse_math": False,
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _DIM,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlecolor": _DIM,
    "axes.titlelocation": "left",
    "text.color": _INK,
    "xtick.color": _DIM,
    "ytick.color": _INK,
    "ytick.major.size": 0,
    "grid.color": _FAINT,
    "grid.linewidth": 0.7,
    "svg.hashsalt": "warren",
    "figure.dpi": 110,
}


class PictureError(WarrenError):
    """A picture cannot be drawn."""

    exit_code = 2


def check(path: Path) -> None:
    """Before anything is asked: can a picture of this name be drawn?"""
    if path.suffix.lower() not in FORMATS:
        raise PictureError(f"--plot {path}: the name must end in .png or .svg.")
    if not path.absolute().parent.is_dir():
        raise PictureError(f"--plot {path}: there is no directory {path.absolute().parent}.")
    try:
        import matplotlib  # noqa: F401, PLC0415 - only those who want a picture have it
    except ImportError:
        raise PictureError("--plot needs matplotlib: pip install 'warren[plot]'.") from None


def worst(answer: Answer, path: Path) -> None:
    """The status of each group over time, and beside it how long it was not OK."""

    def draw(figure: Figure) -> None:
        strips = answer.strips[:_MOST_ROWS]
        grid = _grid_of(answer)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1.25))
        _status_rows(left, strips, grid)
        warn = [each / 60 for each in answer.column("warn_seconds")][: len(strips)]
        err = [each / 60 for each in answer.column("err_seconds")][: len(strips)]
        unit = "minutes"
        if max((a + b for a, b in zip(warn, err, strict=True)), default=0) > 180:
            warn, err, unit = [each / 60 for each in warn], [each / 60 for each in err], "hours"
        rows = range(len(strips))
        right.barh(rows, err, height=0.62, color=_COLOURS["ERR"])
        right.barh(rows, warn, left=err, height=0.62, color=_COLOURS["WARN"])
        right.set_title(f"not OK, {unit}")
        right.grid(axis="x")
        right.set_axisbelow(True)
        right.spines["left"].set_visible(False)
        right.set_xlim(left=0)
        right.margins(x=0.22)
        for row in rows:
            total = warn[row] + err[row]
            right.annotate(
                f" {total:,.1f}", (total, row), va="center", color=_DIM if total else _FAINT, fontsize=9
            )
        _legend(figure, ("OK", "WARN", "ERR", ""))

    _drawn(answer, path, len(answer.strips[:_MOST_ROWS]), draw)


def availability(answer: Answer, path: Path) -> None:
    """For each group which share of the known time it was in which status."""

    def draw(figure: Figure) -> None:
        strips = answer.strips[:_MOST_ROWS]
        names = [_short(each.label) for each in strips]
        axes, lowest = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1.1))
        seconds = {
            "OK": answer.column("ok_seconds"),
            "WARN": answer.column("warn_seconds"),
            "ERR": answer.column("err_seconds"),
            "": answer.column("unknown_seconds"),
        }
        begin = [0.0] * len(names)
        for status, found in seconds.items():
            share = [
                part / (sum(each[row] for each in seconds.values()) or 1) * 100
                for row, part in enumerate(found[: len(names)])
            ]
            axes.barh(range(len(names)), share, left=begin, height=0.62, color=_COLOURS[status])
            begin = [a + b for a, b in zip(begin, share, strict=True)]
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_title("share of the whole time, %")
        axes.spines["left"].set_visible(False)
        lowest.axis("off")
        lowest.set_title("OK, of the known time")
        lowest.set_xlim(0, 1)
        for row, share in enumerate(answer.column("ok_share")[: len(names)]):
            lowest.annotate(
                f"{share:.3%}", (0.55, row), va="center", ha="right", color=_INK if share < 1 else _DIM
            )
        _legend(figure, ("OK", "WARN", "ERR", ""))

    _drawn(answer, path, len(answer.strips[:_MOST_ROWS]), draw)


def group(answer: Answer, path: Path) -> None:
    """The lag over time, and the status below it."""

    def draw(figure: Figure) -> None:
        (strip,), grid = answer.strips, _grid_of(answer)
        lag, status = figure.subplots(2, 1, sharex=True, height_ratios=(9, 1))
        _line(lag, strip, grid, _LINES[0], filled=True)
        lag.set_title("lag, messages")
        _count_axis(lag)
        _status_rows(status, [strip], grid, height=1.0)
        status.set_yticks([0], ["status"])
        status.tick_params(axis="y", colors=_DIM)
        _legend(figure, ("OK", "WARN", "ERR", ""))

    _drawn(answer, path, 9, draw)


def topic(inflow: Answer, readers: Answer, path: Path) -> None:
    """What is written a second, and what each group reads of it."""

    def draw(figure: Figure) -> None:
        axes, grid = figure.subplots(), _grid_of(inflow)
        for number, strip in enumerate(inflow.strips):
            _line(axes, strip, grid, _FAINT if number else "#b9c4cf", filled=True)
        shown = readers.strips[:_MOST_LINES]
        for strip, colour in zip(shown, _LINES, strict=False):
            _line(axes, strip, grid, colour)
        axes.set_title("messages a second: written (area), and read by each group")
        _count_axis(axes)
        left_out = len(readers.strips) - len(shown)
        legend = axes.legend(
            loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=9, borderaxespad=0
        )
        if left_out:
            legend.set_title(f"without {left_out} more groups")

    _drawn(inflow, path, 9, draw)


def sql(answer: Answer, path: Path) -> None:
    """Lines over time when the first column is a time, else bars; the numeric columns are drawn."""
    numeric = [
        number
        for number, _ in enumerate(answer.columns)
        if number and all(isinstance(row[number], (int, float)) or row[number] is None for row in answer.rows)
    ]
    if not answer.rows or not numeric:
        raise PictureError(
            "The query gives nothing to draw: its first column is the time or the name, the others are numbers."
        )
    over_time = answer.columns[0].kind is Kind.TIME
    if not over_time and len(answer.rows) > _MOST_ROWS:
        raise PictureError(f"{len(answer.rows)} bars are too many for a picture: add LIMIT {_MOST_ROWS}.")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        names = [answer.columns[number].name for number in numeric][:_MOST_LINES]
        labels = [row[0] for row in answer.rows]
        for at, (number, colour) in enumerate(zip(numeric, _LINES, strict=False)):
            found = [float("nan") if row[number] is None else float(row[number]) for row in answer.rows]
            if over_time:
                order = sorted(range(len(labels)), key=lambda row: labels[row])
                moments: Any = [dt.datetime.fromtimestamp(labels[row] / 1000, dt.UTC) for row in order]
                axes.plot(
                    moments, [found[row] for row in order], color=colour, label=_short(names[at]), lw=1.6
                )
            else:
                wide = 0.8 / len(names)
                rows = [row + at * wide for row in range(len(labels))]
                axes.barh(rows, found, height=wide * 0.9, color=colour, label=_short(names[at]), align="edge")
        if over_time:
            _time_axis(axes, dt.UTC)
            _count_axis(axes)
        else:
            axes.set_yticks([row + 0.4 for row in range(len(labels))], [_short(str(each)) for each in labels])
            axes.invert_yaxis()
            axes.grid(axis="x")
            axes.set_axisbelow(True)
        if len(names) > 1:
            axes.legend(frameon=False, fontsize=9)
        else:
            axes.set_title(_short(names[0]))

    _drawn(answer, path, 9 if over_time else len(answer.rows) * max(len(numeric), 1), draw)


def _drawn(answer: Answer, path: Path, rows: int, draw: Callable[[Figure], None]) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - see `check`
    from matplotlib.figure import Figure  # noqa: PLC0415

    # a name in a script that the font lacks becomes boxes: no reason to print anything
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        height = min(max(1.9 + 0.3 * rows, 2.6), 16)
        figure: Any = Figure(figsize=(10.5, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        if answer.title:
            figure.suptitle(_clean(answer.title), x=0.012, ha="left", fontsize=13, fontweight="bold")
        draw(figure)
        if answer.period is not None:
            figure.supxlabel(described(answer.period), x=0.012, ha="left", fontsize=9, color=_DIM)
        try:
            # no date and no version in the file: the same answer makes the same bytes
            metadata: dict[str, Any] = (
                {"Date": None, "Creator": None} if path.suffix.lower() == ".svg" else {}
            )
            figure.savefig(path, metadata=metadata or {"Software": None}, facecolor="white")
        except OSError as error:
            raise PictureError(f"--plot {path}: {error.strerror or error}.") from None


def _status_rows(axes: Axes, strips: Sequence[Strip], grid: Grid, height: float = 0.62) -> None:
    """A row for each strip, coloured by its status; steps of the same status are one bar."""
    import matplotlib.dates as mdates  # noqa: PLC0415

    width = grid.step_ms / 86_400_000
    begin = mdates.date2num(dt.datetime.fromtimestamp(grid.origin_ms / 1000, dt.UTC))
    for row, strip in enumerate(strips):
        for status, colour in _COLOURS.items():
            runs = _runs(strip.statuses, status)
            bars = [(begin + first * width, (last - first) * width) for first, last in runs]
            axes.broken_barh(bars, (row - height / 2, height), facecolors=colour, linewidth=0)
    axes.set_yticks(range(len(strips)), [_short(each.label) for each in strips])
    axes.set_ylim(len(strips) - 0.5, -0.5)
    axes.set_xlim(begin, begin + grid.steps * width)
    axes.spines["left"].set_visible(False)
    if height < 1:
        axes.set_title("status")
    _time_axis(axes, _zone(grid))


def _runs(statuses: Sequence[str | None], status: str) -> list[tuple[int, int]]:
    """From which step until before which one it was in this status."""
    found: list[tuple[int, int]] = []
    for step, each in enumerate(statuses):
        if (each or "") != status:
            continue
        if found and found[-1][1] == step:
            found[-1] = (found[-1][0], step + 1)
        else:
            found.append((step, step + 1))
    return found


def _line(axes: Axes, strip: Strip, grid: Grid, colour: str, *, filled: bool = False) -> None:
    moments: list[Any] = [
        dt.datetime.fromtimestamp(grid.begin_ms(step) / 1000, dt.UTC) for step in range(grid.steps + 1)
    ]
    values = [float("nan") if each is None else each for each in strip.values]
    values.append(values[-1])
    axes.plot(moments, values, color=colour, lw=1.6, drawstyle="steps-post", label=_short(strip.label))
    if filled:
        axes.fill_between(moments, values, step="post", color=colour, alpha=0.28, linewidth=0)
    axes.set_xlim(moments[0], moments[-1])
    _time_axis(axes, _zone(grid))


def _time_axis(axes: Axes, zone: dt.tzinfo | None) -> None:
    import matplotlib.dates as mdates  # noqa: PLC0415

    locator = mdates.AutoDateLocator(tz=zone, minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator, tz=zone))


def _zone(grid: Grid) -> dt.tzinfo | None:
    return local(grid.origin_ms).tzinfo


def _count_axis(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415

    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.tick_params(axis="y", colors=_DIM)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)


def _legend(figure: Figure, statuses: Sequence[str]) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415

    figure.legend(
        handles=[Patch(color=_COLOURS[each], label=each or "not known") for each in statuses],
        loc="outside upper right",
        ncols=len(statuses),
        frameon=False,
        fontsize=9,
        handlelength=1,
        handleheight=1,
    )


def _grid_of(answer: Answer) -> Grid:
    if answer.grid is None:
        raise ValueError("an answer over time has a grid")
    return answer.grid


def _short(name: str) -> str:
    clean = _clean(name)
    return clean if len(clean) <= _LONGEST_NAME else f"{clean[: _LONGEST_NAME - 1]}…"


def _clean(name: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
