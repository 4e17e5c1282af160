"""`warren lab`: how accurate the verdicts are, on traffic with known verdicts."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from warren.lab import report, trace_picture, trace_report
from warren.lab.long.classes import LONG_SCENARIOS
from warren.lab.long.plan import LONG, LONG_QUICK, carry_out_long
from warren.lab.long.report import long_markdown, long_tables
from warren.lab.plan import (
    DEFAULT_SEED,
    DEFAULT_THRESHOLD,
    FULL,
    QUICK,
    Findings,
    LabError,
    carry_out,
    chosen,
)
from warren.lab.trace_plan import TraceFindings, judge_traces, replay
from warren.lab.traces import Cadence, load_all


def lab(
    *,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS", help="Only classes with this in their name; may repeat."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One polling interval, and less traffic.")] = False,
    seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="The same traffic each time; another number, other traffic."),
    ] = DEFAULT_SEED,
    threshold: Annotated[
        int, typer.Option(min=0, metavar="N", help="The lag of the threshold to compare with.")
    ] = DEFAULT_THRESHOLD,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures there; - prints them.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw the figures there.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write the table of classes there.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when a target is missed.")] = False,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Real traces (*.csv.gz) instead of simulated traffic."),
    ] = None,
    cadence: Annotated[
        Cadence, typer.Option(help="How the groups of --traces commit, and every how many seconds.")
    ] = Cadence.CHECKPOINTS_10,
    draw: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACE@HH:MM-HH:MM",
            help="With --traces and --plot: draw this stretch of a trace, and nothing else; may repeat.",
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="In real time: a broker, its traffic and the whole of Warren."),
    ] = False,
    long: Annotated[
        bool,
        typer.Option("--long", help="Other classes: a day each, with chance in it; some minutes."),
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=30, metavar="S", help="How long to watch with --live, once windows are full.")
    ] = 120.0,
) -> None:
    """Test the verdicts on traffic with known verdicts.

    Producers and consumers of all kinds are simulated, and evaluated by the same windows and rules that
    [cyan]warren run[/cyan] uses, compared with Burrow's rules and a threshold on the lag.

    [bold]Examples[/bold]

    [cyan]warren lab[/cyan]                                     a month of traffic, in about a minute

    [cyan]warren lab --only slow --only behind --seed 7[/cyan]  some classes, other traffic

    [cyan]warren lab --json lab.json --plot lab.svg[/cyan]      for later

    [cyan]warren lab --long[/cyan]                              days of random traffic, in some minutes

    [cyan]warren lab --traces DIR --cadence auto5[/cyan]        real jobs with injected faults

    [cyan]warren lab --live[/cyan]                              some minutes on a real broker
    """
    _refuse_what_does_not_go_together(
        picture,
        draw,
        traces,
        alone=not (check or as_json or markdown),
        simulated=bool(only or quick or live or long),
    )
    if live:
        from warren.lab.live import present  # noqa: PLC0415 - needs Spark

        kept = present(Console(), seconds, as_json)
    elif long:
        if picture is not None:
            raise LabError("--long draws no picture: leave out --plot")
        kept = _long(only or [], as_json, markdown, quick=quick, seed=seed)
    elif traces is not None and draw and picture is not None:
        _draw(traces, draw, picture, cadence, seed=seed, threshold=threshold)
        kept = True
    else:
        findings: Findings | TraceFindings
        if traces is not None:
            findings = _judged(traces, cadence, seed=seed, threshold=threshold)
        else:
            findings = _tried(only or [], quick=quick, seed=seed, threshold=threshold)
        _present(findings, as_json, picture, markdown)
        kept = findings.kept
    if check and not kept:
        raise typer.Exit(1)


def _refuse_what_does_not_go_together(
    picture: Path | None, draw: list[str] | None, traces: Path | None, *, alone: bool, simulated: bool
) -> None:
    """`alone`: no other output is asked for; `simulated`: something is that only simulated traffic has."""
    if picture is not None and picture.suffix != ".svg":
        raise LabError(f"{picture} is not an SVG file: give a name that ends in .svg")
    if draw and (traces is None or picture is None or not alone):
        raise LabError(
            "--draw makes a picture of traces only: give --traces DIR and --plot FILE.svg, and no --json, "
            "--markdown or --check"
        )
    if traces is not None and simulated:
        raise LabError(
            "--traces replays all traces of a directory: leave out --only, --quick, --long and --live"
        )


def _present(
    findings: Findings | TraceFindings, as_json: Path | None, picture: Path | None, markdown: Path | None
) -> None:
    if isinstance(findings, TraceFindings):
        drawn, text = trace_report.picture(findings), trace_report.markdown(findings)
        tables = functools.partial(trace_report.tables, findings)
    else:
        drawn, text = report.picture(findings), report.markdown(findings)
        tables = functools.partial(report.tables, findings)
    _show(findings.to_dict(), tables, as_json)
    if picture is not None:
        _write(picture, drawn)
    if markdown is not None:
        _write(markdown, text + "\n")


def _tried(only: list[str], *, quick: bool, seed: int, threshold: int) -> Findings:
    scenarios = chosen(only)
    with _progress() as tell:
        return carry_out(QUICK if quick else FULL, scenarios, seed=seed, threshold=threshold, tell=tell)


def _long(only: list[str], as_json: Path | None, markdown: Path | None, *, quick: bool, seed: int) -> bool:
    """Whether all targets are kept."""
    scenarios = chosen(only, LONG_SCENARIOS)
    with _progress() as tell:
        findings = carry_out_long(LONG_QUICK if quick else LONG, scenarios, seed=seed, tell=tell)
    _show(findings.to_dict(), lambda width: long_tables(findings, width), as_json)
    if markdown is not None:
        _write(markdown, long_markdown(findings) + "\n")
    return findings.kept


def _judged(directory: Path, cadence: Cadence, *, seed: int, threshold: int) -> TraceFindings:
    traces = load_all(directory)
    with _progress() as tell:
        return judge_traces(
            traces,
            cadence,
            seed=seed,
            threshold=threshold,
            tell=lambda share: tell(f"{len(traces)} traces", share),
        )


def _draw(
    directory: Path, texts: list[str], picture: Path, cadence: Cadence, *, seed: int, threshold: int
) -> None:
    traces = load_all(directory)
    drawn = [trace_picture.stretch(text, traces) for text in texts]
    with _progress() as tell:
        when, found = replay(
            traces,
            cadence,
            seed=seed,
            threshold=threshold,
            until_s=max(each.end_s for each in drawn),
            tell=lambda share: tell("replay", share),
        )
    _write(picture, trace_picture.svg(traces, when, found, drawn))


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on standard error; it is told the current step and its share."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=1.0)
        yield lambda what, share: bars.update(task, description=what, completed=share)


def _show(
    figures: dict[str, Any], tables: Callable[[int], Iterable[Table | Text]], as_json: Path | None
) -> None:
    text = json.dumps(figures, indent=1)
    if as_json == Path("-"):
        sys.stdout.write(text + "\n")
        return
    console = Console()
    for each in tables(console.width):
        console.print(each, highlight=False)
        console.print()
    if as_json is not None:
        _write(as_json, text + "\n")


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"cannot write {path}: {error.strerror}; give a file in a writable directory"
        ) from error
