"""The findings of `warren lab --long` as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from warren.lab.forward import Judge
from warren.lab.long.plan import JUDGES, LongFindings
from warren.lab.long.score import LongScore
from warren.lab.report import targets_table

# headings of the columns
_TITLES: Final = {Judge.TREND: "trend", Judge.CACHING: "caching", Judge.BURROW: "Burrow"}
_HEALTHY: Final = ("false alarms", "flaps")
_TROUBLE: Final = ("seen (s)", "right", "closes", "false")
# a terminal with fewer columns has no room for all judges
_WIDE: Final = 120
_COMPARED: Final = (Judge.TREND, Judge.BURROW)


def long_tables(findings: LongFindings, width: int) -> Iterator[Table | Text]:
    """The tables for a terminal of this width: targets, healthy classes, classes in trouble."""
    judges = JUDGES if width >= _WIDE else _COMPARED
    yield targets_table(findings.targets)
    for title, figures, rows in _parts(findings, judges):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("consumer", min_width=20)
        for figure in figures:
            for number, judge in enumerate(judges):
                heading = f"{figure if number == 0 else ''}\n{_TITLES[judge]}"
                table.add_column(heading, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        yield table
    yield Text(
        f"{findings.groups:,} groups, {findings.group_days:.0f} days of traffic, seed {findings.seed}. false alarms: "
        "per 1,000 groups and day in which only OK is right; flaps: incidents per group and day that open again "
        "within ten minutes; seen: seconds to any status but OK, median; right: share of the looks that are not OK "
        "from then on; closes: how often it is OK again, per day of trouble.",
        style="dim",
    )


def long_markdown(findings: LongFindings) -> str:
    """The tables of classes for a page of the documentation."""
    parts: list[str] = []
    for _, figures, rows in _parts(findings, JUDGES):
        headings = ["consumer", *(f"{figure}: {_TITLES[judge]}" for figure in figures for judge in JUDGES)]
        lines = [f"| {' | '.join(headings)} |", "|---|" + "--:|" * (len(headings) - 1)]
        parts.append("\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]))
    return "\n\n".join(parts)


def _parts(
    findings: LongFindings, judges: Sequence[Judge]
) -> Iterator[tuple[str, Sequence[str], list[list[str]]]]:
    """Of each table that has rows: its title, its figures, and its rows."""
    healthy, trouble = findings.names(healthy=True), findings.names(healthy=False)
    if healthy:
        rows = [_healthy_cells(name, [findings.of(name, judge) for judge in judges]) for name in healthy]
        rows.append(_healthy_cells("all", [findings.healthy(judge) for judge in judges]))
        yield "Healthy", _HEALTHY, rows
    if trouble:
        rows = [_trouble_cells(name, [findings.of(name, judge) for judge in judges]) for name in trouble]
        yield "In trouble", _TROUBLE, rows


def _healthy_cells(name: str, scores: Sequence[LongScore]) -> list[str]:
    return [
        name,
        *(f"{each.false_per_1000:,.0f}" for each in scores),
        *(_rate(each.flaps_a_day) for each in scores),
    ]


def _trouble_cells(name: str, scores: Sequence[LongScore]) -> list[str]:
    return [
        name,
        *(_seen(each) for each in scores),
        *(f"{math.floor(each.right_share * 1000) / 10:.1f}" for each in scores),
        *(_rate(each.closes_a_day) for each in scores),
        *(f"{each.false_per_1000:,.0f}" for each in scores),
    ]


def _rate(rate: float) -> str:
    return "0" if rate == 0 else f"{rate:.2f}" if rate < 10 else f"{rate:.0f}"


def _seen(score: LongScore) -> str:
    """The median, and how many were never seen."""
    if score.seen_s is None or math.isinf(score.seen_s):
        return "never"
    unseen = f" (not {score.unseen})" if score.unseen else ""
    return f"{score.seen_s:,.0f}{unseen}"
