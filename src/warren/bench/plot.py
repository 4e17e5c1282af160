"""Bar charts, in the terminal and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

_TERMINAL_WIDTH: Final = 40
_COLOURS: Final = ("steel_blue1", "orange3", "sea_green3", "medium_purple", "grey70")
_SVG_COLOURS: Final = ("#4c8bf5", "#f29d38", "#3fae7a", "#9a6dd7", "#9aa0a6")
_WIDTH: Final = 460
_HEIGHT: Final = 300
# the area of the bars: between these, and down to the floor
_LEFT: Final = 56
_RIGHT: Final = 16
_TOP: Final = 56
_FLOOR: Final = _HEIGHT - 40
_BLOCKS: Final = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Panel:
    """One chart: for each label a bar of each series, beside or on top of each other."""

    title: str
    unit: str
    labels: Sequence[str]
    # series: a value for each label
    series: Mapping[str, Sequence[float]]
    stacked: bool = False
    # drawn as a line
    target: float | None = None

    @property
    def highest(self) -> float:
        """The maximum of the axis."""
        columns = list(zip(*self.series.values(), strict=True))
        tops: list[float] = [sum(column) if self.stacked else max(column) for column in columns]
        return max([*tops, self.target or 0.0, 1e-9])


def terminal(panels: Sequence[Panel]) -> RenderableType:
    """The charts as text."""
    return Group(*(_bars(panel) for panel in panels))


def _bars(panel: Panel) -> Table:
    target = f", target {panel.target:g} {panel.unit}" if panel.target is not None else ""
    shown = Table(title=f"{panel.title}{target}", title_justify="left", box=None, show_header=False)
    justified: tuple[JustifyMethod, ...] = ("right", "left", "left", "right")
    for justify in justified:
        shown.add_column(justify=justify)
    for index, label in enumerate(panel.labels):
        for number, (name, values) in enumerate(panel.series.items()):
            bar = _bar(values[index] / panel.highest * _TERMINAL_WIDTH)
            shown.add_row(
                label if number == 0 else "",
                name,
                Text(bar, _COLOURS[number % len(_COLOURS)]),
                f"{values[index]:.3g} {panel.unit}",
            )
    return shown


def _bar(length: float) -> str:
    whole, part = divmod(max(length, 0.0), 1)
    return ("█" * int(whole) + _BLOCKS[int(part * 8)]).rstrip() or _BLOCKS[1]


def svg(title: str, panels: Sequence[Panel]) -> str:
    """The charts beside each other, two in a row."""
    rows = -(-len(panels) // 2)
    width, height = _WIDTH * min(len(panels), 2), _HEIGHT * rows + 30
    drawn = [
        f'<g transform="translate({_WIDTH * (index % 2)},{30 + _HEIGHT * (index // 2)})">'
        f"{''.join(_drawn(panel))}</g>"
        for index, panel in enumerate(panels)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="#333">'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="12" y="20" font-size="15" font-weight="bold">{escape(title)}</text>'
        f"{''.join(drawn)}</svg>\n"
    )


def _drawn(panel: Panel) -> Iterator[str]:
    scale = (_FLOOR - _TOP) / (panel.highest * 1.1)
    yield f'<text x="{_LEFT}" y="20" font-weight="bold">{escape(panel.title)} ({escape(panel.unit)})</text>'
    for number, name in enumerate(panel.series):
        x = _LEFT + 88 * number
        yield f'<rect x="{x}" y="30" width="10" height="10" fill="{_colour(number)}"/>'
        yield f'<text x="{x + 14}" y="39">{escape(name)}</text>'
    for part in range(5):
        value = panel.highest * part / 4
        y = _FLOOR - value * scale
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    slot = (_WIDTH - _LEFT - _RIGHT) / len(panel.labels)
    for index, label in enumerate(panel.labels):
        left = _LEFT + slot * index
        yield from _column(panel, index, left + slot * 0.2, slot * 0.6, scale)
        middle = left + slot / 2
        yield f'<text x="{middle:.1f}" y="{_FLOOR + 18}" text-anchor="middle">{escape(label)}</text>'
    if panel.target is not None:
        y = _FLOOR - panel.target * scale
        yield (
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="#c33" stroke-dasharray="5 3"><title>target</title></line>'
        )


def _column(panel: Panel, index: int, left: float, width: float, scale: float) -> Iterator[str]:
    """The bars of one label."""
    base = 0.0
    each = width if panel.stacked else width / len(panel.series)
    for number, (name, values) in enumerate(panel.series.items()):
        value = max(values[index], 0.0)
        x = left if panel.stacked else left + each * number
        y = _FLOOR - (base + value) * scale
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{each:.1f}" height="{value * scale:.1f}" '
            f'fill="{_colour(number)}"><title>{escape(name)}: {value:.3g} {escape(panel.unit)}</title></rect>'
        )
        base += value if panel.stacked else 0.0


def _colour(number: int) -> str:
    return _SVG_COLOURS[number % len(_SVG_COLOURS)]
