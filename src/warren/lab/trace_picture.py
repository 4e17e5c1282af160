"""Stretches of traces as pictures: the lag in seconds over time, and under it what every judge says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

import numpy as np

from warren.common.status import Status
from warren.lab.forward import Moments, Statuses, Watched
from warren.lab.plan import LabError
from warren.lab.producers import Floats
from warren.lab.trace_report import JUDGES
from warren.lab.traces import Trace, spans

_FORM: Final = re.compile(r"(?P<trace>.+)@(?P<begin>\d+:\d\d(:\d\d)?)-(?P<end>\d+:\d\d(:\d\d)?)")
_COLOURS: Final = {
    Status.OK: "#3fae7a",
    Status.WARN: "#f29d38",
    Status.ERR: "#d33",
    Status.STOP: "#d33",
    Status.STALL: "#9a6dd7",
    Status.REWIND: "#4c8bf5",
}
_OWN: Final = "#222"
_SEEN: Final = "#a0522d"
_TROUBLE: Final = "#fde0dc"
_DOWN: Final = "#bbb"
_FAULT: Final = "#c00"
_LEGEND: Final = (
    (_OWN, "lag by the trace"),
    (_SEEN, "lag by the commits"),
    (_TROUBLE, "trouble"),
    (_DOWN, "down"),
    (_FAULT, "fault"),
    (_COLOURS[Status.OK], "OK"),
    (_COLOURS[Status.WARN], "WARN"),
    (_COLOURS[Status.STOP], "ERR or STOP"),
    (_COLOURS[Status.STALL], "STALL"),
    (_COLOURS[Status.REWIND], "REWIND"),
)
_WIDTH: Final = 980
# of the legend, and of one stretch
_ABOVE: Final = 30
_HEIGHT: Final = 270
_LEFT: Final = 70
_RIGHT: Final = _WIDTH - 16
# the area of the lag, and the strips under it
_TOP: Final = 28
_FLOOR: Final = 170
_GAP: Final = 8
_STRIP: Final = 14
# seconds between two marks of the time axis: the first that leaves at most so many
_MARKS_S: Final = (60, 120, 300, 600, 1800, 3600, 7200)
_MOST_MARKS: Final = 14


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a trace."""

    number: int
    begin_s: int
    end_s: int


def stretch(text: str, traces: Sequence[Trace]) -> Stretch:
    """What `TRACE@HH:MM-HH:MM` means, in hours since the start of the trace."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise LabError(f"{text} is no stretch of a trace: write TRACE@HH:MM-HH:MM, since its start")
    names = [trace.name for trace in traces]
    if found["trace"] not in names:
        raise LabError(f"there is no trace {found['trace']}; there are {', '.join(names)}")
    number = names.index(found["trace"])
    begin_s, end_s = _seconds(found["begin"]), min(_seconds(found["end"]), traces[number].length_s)
    if end_s - begin_s < 60:
        last = _clock(traces[number].length_s)
        raise LabError(f"{text} has less than a minute: the trace lasts from 00:00:00 to {last}")
    return Stretch(number, begin_s, end_s)


def svg(traces: Sequence[Trace], when: Moments, found: Watched, drawn: Sequence[Stretch]) -> str:
    """The stretches, one below the other."""
    height = _ABOVE + _HEIGHT * len(drawn)
    parts = [*_legend()]
    for index, part in enumerate(drawn):
        parts.append(f'<g transform="translate(0,{_ABOVE + _HEIGHT * index})">')
        parts += _panel(traces[part.number], when, found, part)
        parts.append("</g>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="11" fill="#333">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _legend() -> Iterator[str]:
    x = 12
    for colour, name in _LEGEND:
        yield f'<rect x="{x}" y="10" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="19">{name}</text>'
        # of a letter, about
        x += 36 + 7 * len(name)


def _panel(trace: Trace, when: Moments, found: Watched, part: Stretch) -> Iterator[str]:
    looks = slice(*np.searchsorted(when.asked_s, [part.begin_s, part.end_s]).tolist())
    asked_s = when.asked_s[looks]
    second = asked_s.astype(np.int64)
    inflow = trace.inflow()[second]
    own, seen = trace.lag[second] / inflow, found.lag[looks, part.number] / inflow
    highest = max(float(own.max()), float(seen.max()), 1.0) * 1.05
    bottom = _FLOOR + _GAP + _STRIP * len(found.statuses)

    def x(at_s: float) -> float:
        return _LEFT + (at_s - part.begin_s) / (part.end_s - part.begin_s) * (_RIGHT - _LEFT)

    def line(values: Floats, colour: str) -> str:
        points = " ".join(
            f"{x(at):.1f},{_FLOOR - value / highest * (_FLOOR - _TOP):.1f}"
            for at, value in zip(asked_s.tolist(), values.tolist(), strict=True)
        )
        return f'<polyline points="{points}" fill="none" stroke="{colour}"/>'

    def band(since_s: float, until_s: float, colour: str, top: int = _TOP, floor: int = bottom) -> str:
        since_s, until_s = max(since_s, part.begin_s), min(until_s, part.end_s)
        if since_s >= until_s:
            return ""
        width = x(until_s) - x(since_s)
        return f'<rect x="{x(since_s):.1f}" y="{top}" width="{width:.1f}" height="{floor - top}" fill="{colour}"/>'

    yield f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(trace.name)}</text>'
    yield from (band(since, until, _TROUBLE) for since, until in trace.troubles.tolist())
    yield from (band(since, until, _DOWN) for since, until in spans(~trace.up).tolist())
    for share in range(5):
        y = _FLOOR - share / 4 / 1.05 * (_FLOOR - _TOP)
        yield f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#0002"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{highest / 1.05 * share / 4:.0f} s</text>'
    yield line(own, _OWN)
    yield line(seen, _SEEN)
    for number, (judge, statuses) in enumerate(found.statuses.items()):
        top = _FLOOR + _GAP + _STRIP * number
        yield f'<text x="{_LEFT - 6}" y="{top + 10}" text-anchor="end">{JUDGES[judge]}</text>'
        for status, since_s, until_s in _strip(asked_s, statuses[looks, part.number], part.end_s):
            yield band(since_s, until_s, _COLOURS[status], top + 2, top + _STRIP - 2)
    for fault in trace.faults[(trace.faults >= part.begin_s) & (trace.faults < part.end_s)].tolist():
        yield (
            f'<line x1="{x(fault):.1f}" x2="{x(fault):.1f}" y1="{_TOP}" y2="{bottom}" stroke="{_FAULT}" '
            'stroke-dasharray="5 3"/>'
        )
    for mark in _marks(part):
        yield f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{bottom}" y2="{bottom + 4}" stroke="#333"/>'
        yield f'<text x="{x(mark):.1f}" y="{bottom + 16}" text-anchor="middle">{_clock(mark)[:-3]}</text>'


def _strip(asked_s: Floats, statuses: Statuses, end_s: float) -> Iterator[tuple[Status, float, float]]:
    """The stretches of the same status: each lasts until the look with another."""
    changes = np.flatnonzero(np.diff(statuses)) + 1
    begins = np.append(0, changes)
    ends_s = [*asked_s[changes].tolist(), float(end_s)]
    for begin, until_s in zip(begins.tolist(), ends_s, strict=True):
        yield Status(int(statuses[begin])), float(asked_s[begin]), until_s


def _marks(part: Stretch) -> range:
    length_s = part.end_s - part.begin_s
    every_s = next((each for each in _MARKS_S if length_s / each <= _MOST_MARKS), _MARKS_S[-1])
    return range(-(-part.begin_s // every_s) * every_s, part.end_s + 1, every_s)


def _seconds(clock: str) -> int:
    hours, minutes, *seconds = (int(each) for each in clock.split(":"))
    return 3600 * hours + 60 * minutes + sum(seconds)


def _clock(at_s: int) -> str:
    return f"{at_s // 3600:02}:{at_s // 60 % 60:02}:{at_s % 60:02}"
