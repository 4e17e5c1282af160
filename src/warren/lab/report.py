"""The findings of `warren lab` as tables and as a plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from warren.bench import plot
from warren.lab.forward import Judge
from warren.lab.plan import Findings, Target
from warren.lab.scenarios import Kind
from warren.lab.score import Score

# headings of the columns
_JUDGES: Final = {
    Judge.TREND: "trend",
    Judge.CACHING: "caching",
    Judge.BURROW: "Burrow",
    Judge.THRESHOLD: "threshold",
}
_HEADINGS: Final = (
    "consumer",
    *(f"right: {title}" for title in _JUDGES.values()),
    *(f"{figure}: {title}" for figure in ("alarms", "flips", "seen (s)") for title in ("trend", "Burrow")),
)
# a terminal with fewer columns has no room for all judges
_WIDE: Final = 100
_COMPARED: Final = {judge: _JUDGES[judge] for judge in (Judge.TREND, Judge.BURROW)}
# no such consumers in this run
_NO: Final = "-"


def tables(findings: Findings, width: int) -> Iterator[Table | Text]:
    """The tables for a terminal of this width: targets, classes, polling settings."""
    yield targets_table(findings.targets)
    yield _classes(findings, _JUDGES if width >= _WIDE else _COMPARED)
    yield _ways(findings)
    yield Text(
        f"{findings.groups:,} groups, {findings.group_days:.0f} days of traffic, seed {findings.seed}. right: share of "
        "looks with the right verdict; alarms: false ones per group and day; flips: changes per group and hour "
        f"without cause; seen: seconds to the right verdict, median and worst. threshold: {findings.threshold:,} "
        "messages.",
        style="dim",
    )


def targets_table(targets: Sequence[Target]) -> Table:
    """The targets, and which were missed."""
    table = Table(title="Targets", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    table.add_column("target")
    table.add_column("found")
    for target in targets:
        mark = Text("kept", "green") if target.kept else Text("MISSED", "bold red")
        table.add_row(mark, target.promise, target.found)
    return table


def _classes(findings: Findings, judges: Mapping[Judge, str]) -> Table:
    table = Table(title="Classes", title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("consumer", min_width=20)
    for title in judges.values():
        table.add_column(f"{title}\nright", justify="right", no_wrap=True)
    for title in ("alarms\ntrend", "\nBurrow", "flips\ntrend", "\nBurrow", "seen (s)\ntrend", "\nBurrow"):
        table.add_column(title, justify="right", no_wrap=True)
    for name in findings.names:
        table.add_row(*_class_cells(findings, name, judges))
    return table


def _class_cells(findings: Findings, name: str, judges: Iterable[Judge]) -> list[str]:
    """One class of consumers, as `_HEADINGS` names it for these judges."""
    own, burrow = findings.of(name, Judge.TREND), findings.of(name, Judge.BURROW)
    return [
        name,
        *(_share(findings.of(name, judge).right_share) for judge in judges),
        _rate(own.false_alarms_a_day),
        _rate(burrow.false_alarms_a_day),
        _rate(own.flips_an_hour),
        _rate(burrow.flips_an_hour),
        _seen(own),
        _seen(burrow),
    ]


def _ways(findings: Findings) -> Table:
    table = Table(title="Polling settings (trend)", title_justify="left", box=None, pad_edge=False)
    table.add_column("setting")
    for title in ("alarms\nhealthy", "flips\neven lag", "right\nslow", "seen (s)\nslow", "right\nbroken"):
        table.add_column(title, justify="right", no_wrap=True)
    for way, kinds in findings.ways.items():
        healthy, even = kinds.get(Kind.HEALTHY), kinds.get(Kind.EVEN)
        slow, broken = kinds.get(Kind.SLOW), kinds.get(Kind.BROKEN)
        table.add_row(
            way,
            _rate(healthy.false_alarms_a_day) if healthy else _NO,
            _rate(even.flips_an_hour) if even else _NO,
            _share(slow.right_share) if slow else _NO,
            _seen(slow) if slow else _NO,
            _share(broken.right_share) if broken else _NO,
        )
    return table


def picture(findings: Findings) -> str:
    """The share of right verdicts per kind of consumer, and alarms and flips where none should be, as SVG."""
    kinds = [kind for kind in Kind if any(each.kind is kind for each in findings.classes)]

    def of(kind: Kind, judge: Judge) -> list[Score]:
        return [each for each in findings.classes if (each.kind, each.judge) == (kind, judge)]

    def right(kind: Kind, judge: Judge) -> float:
        found = of(kind, judge)
        return 100 * sum(each.right for each in found) / sum(each.looks for each in found)

    calm = [kind for kind in kinds if kind in {Kind.HEALTHY, Kind.EVEN}]
    panels = [
        plot.Panel(
            "Right verdicts",
            "% of looks",
            [str(kind) for kind in kinds],
            {title: [right(kind, judge) for kind in kinds] for judge, title in _JUDGES.items()},
        )
    ]
    if calm:
        panels.append(
            plot.Panel(
                "False alarms",
                "per group and day",
                [str(kind) for kind in calm],
                {
                    title: [_mean([each.false_alarms_a_day for each in of(kind, judge)]) for kind in calm]
                    for judge, title in _JUDGES.items()
                },
            )
        )
    return plot.svg(f"warren lab, seed {findings.seed}: {findings.group_days:.0f} days of traffic", panels)


def markdown(findings: Findings) -> str:
    """The tables of classes and ways for a page of the documentation."""
    lines = [
        f"| {' | '.join(_HEADINGS)} |",
        "|---|" + "--:|" * (len(_HEADINGS) - 1),
    ]
    lines += [f"| {' | '.join(_class_cells(findings, name, _JUDGES))} |" for name in findings.names]
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def _share(share: float) -> str:
    """A share in percent, rounded down: 100 only if it is exactly that."""
    percent = math.floor(share * 1000) / 10
    return f"{percent:.1f}" if percent < 100 else "100"


def _rate(rate: float) -> str:
    return "0" if rate == 0 else f"{rate:.2f}" if rate < 10 else f"{rate:.0f}"


def _seen(score: Score) -> str:
    """Median and worst time to the right verdict."""
    if score.median_s is None or score.worst_s is None:
        return ""
    if math.isinf(score.median_s):
        return "never"
    median, worst = (
        f"{each:.0f}" if math.isfinite(each) else "never" for each in (score.median_s, score.worst_s)
    )
    return f"{median} / {worst}"
