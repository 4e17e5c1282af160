"""The findings of `warren lab --traces` as tables and as a plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.table import Table
from rich.text import Text

from warren.bench import plot
from warren.lab.forward import Judge
from warren.lab.report import targets_table
from warren.lab.trace_plan import BEST, KLAG, TraceFindings
from warren.lab.trace_score import LONG_S, SHORT_S, WITHIN_S, TraceScore

# judge: heading of its column
JUDGES: Final[Mapping[str, str]] = {
    Judge.TREND: "trend",
    Judge.CACHING: "caching",
    Judge.BURROW: "Burrow",
    Judge.THRESHOLD: "threshold",
    KLAG: "klag",
    BEST: "best",
}
# a terminal with fewer columns has no room for all judges
_WIDE: Final = 100
_FIRST: Final = 4


def tables(findings: TraceFindings, width: int) -> Iterator[Table | Text]:
    """The tables for a terminal of this width: targets, judges."""
    yield targets_table(findings.targets)
    shown = list(JUDGES) if width >= _WIDE else list(JUDGES)[:_FIRST]
    table = Table(title="Judges", title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    for judge in shown:
        table.add_column(JUDGES[judge], justify="right", no_wrap=True)
    for name, cells in _rows(findings).items():
        table.add_row(name, *(cells[judge] for judge in shown))
    yield table
    yield Text(_legend(findings), style="dim")


def _legend(findings: TraceFindings) -> str:
    one = findings.totals[Judge.TREND]
    days, quiet = one.watched_s / 86_400, one.quiet_s / 86_400
    return (
        f"{len(findings.thresholds)} traces, {days:.1f} group-days, {quiet:.1f} of them quiet, commits "
        f"{findings.cadence}, seed {findings.seed}. threshold: {findings.threshold:,} messages; klag: its velocity "
        "above 0; best: the best threshold for each trace in hindsight. flap: an incident that opens again within "
        "ten minutes. delay: from an effective fault to the first alarm; clear: from recovery to OK."
    )


def _rows(findings: TraceFindings) -> dict[str, dict[str, str]]:
    """Name of a figure: judge: the figure."""
    totals = findings.totals
    one = totals[Judge.TREND]

    def of(figure: str) -> dict[str, str]:
        return {judge: _number(getattr(found, figure)) for judge, found in totals.items()}

    def share(figure: str) -> dict[str, str]:
        return {judge: _percent(getattr(found, figure)) for judge, found in totals.items()}

    return {
        **{
            f"effective faults seen within {limit} s, of {one.faults}": {
                judge: str(found.seen_within(limit)) for judge, found in totals.items()
            }
            for limit in WITHIN_S
        },
        f"troubles of {LONG_S} s and more seen, of {one.long}": of("long_seen"),
        "% of their time not OK, until the lag shrinks": share("growing_share"),
        "% of their time not OK, until recovery": share("whole_share"),
        f"troubles of {SHORT_S} to {LONG_S} s seen, of {one.short}": of("short_seen"),
        "false alarms per quiet group-day": of("false_a_day"),
        "flaps per group and day": of("flaps_a_day"),
        "delay, median (s)": of("delay_s"),
        "clear, median (s)": of("clear_s"),
    }


def markdown(findings: TraceFindings) -> str:
    """The table of judges for a page of the documentation."""
    lines = [f"| | {' | '.join(JUDGES.values())} |", "|---|" + "--:|" * len(JUDGES)]
    for name, cells in _rows(findings).items():
        lines.append(f"| {name} | {' | '.join(cells[judge] for judge in JUDGES)} |")
    return "\n".join(lines)


def picture(findings: TraceFindings) -> str:
    """What is seen, and what is false, by the judges that fit, as SVG."""
    totals = {JUDGES[judge]: findings.totals[judge] for judge in list(JUDGES)[:_FIRST]}

    def seen(found: TraceScore) -> list[float]:
        within = found.seen_within(LONG_S) / max(found.faults, 1)
        return [100 * each for each in (within, found.short_share or 0.0, found.long_share or 0.0)]

    def wrong(found: TraceScore) -> list[float]:
        return [found.false_a_day or 0.0, found.flaps_a_day or 0.0]

    panels = [
        plot.Panel(
            "Seen",
            "%",
            [f"faults in {LONG_S} s", f"{SHORT_S} to {LONG_S} s", f"{LONG_S} s and more"],
            {title: seen(found) for title, found in totals.items()},
        ),
        plot.Panel(
            "Wrong",
            "per group and day",
            ["false alarms", "flaps"],
            {title: wrong(found) for title, found in totals.items()},
        ),
    ]
    return plot.svg(f"warren lab --traces, {findings.cadence}, seed {findings.seed}", panels)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if 0 < value < 10 and value != int(value) else f"{value:.0f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
