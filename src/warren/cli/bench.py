"""`warren bench`: measure the pipeline on this machine, compared with targets."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from warren.bench import plot
from warren.bench.api import ApiPlan, api
from warren.bench.clusters import ClustersPlan, clusters
from warren.bench.figures import Figure, Report
from warren.bench.outages import OutagesPlan, outages
from warren.bench.replay import ReplayPlan, replay
from warren.bench.scale import LEVELS, Level, ScalePlan, levels, panels, scale
from warren.bench.sinks import SinksPlan, sinks
from warren.bench.steady import SteadyPlan, steady
from warren.bench.workload import DEFAULT_SIZES, INTERVALS, Sizes, Tell

app = typer.Typer(
    rich_markup_mode="rich", add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}
)

Groups = Annotated[int, typer.Option(min=1, metavar="G", help="Groups that commit.")]
Partitions = Annotated[int, typer.Option(min=1, metavar="P", help="Partitions that each group commits.")]
OffsetsPartitions = Annotated[int, typer.Option(min=1, metavar="N", help="Partitions of the offsets topic.")]
Rate = Annotated[float, typer.Option(min=1, metavar="R", help="Commits a second.")]
Seconds = Annotated[float, typer.Option(min=1, metavar="S", help="How long to measure.")]
WarmUp = Annotated[float, typer.Option(min=0, metavar="S", help="How long to let it run before.")]
Entries = Annotated[int, typer.Option(min=1, metavar="N", help="Commits in each window before it starts.")]
Results = Annotated[Path, typer.Option(metavar="DIR", help="Where the JSON goes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the JSON instead of the table.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: a smoke test.")]
Check = Annotated[bool, typer.Option("--check", help="Exit with 1 when a target is missed.")]

Bench = Callable[[Tell], Report]

_RESULTS: Final = Path("bench-results")


@dataclass(frozen=True, slots=True)
class Plans:
    """All benchmarks at one size."""

    replay: ReplayPlan
    steady: SteadyPlan
    scale: ScalePlan
    api: ApiPlan
    sinks: SinksPlan
    clusters: ClustersPlan
    outages: OutagesPlan


_REPLAY: Final = ReplayPlan()
_STEADY: Final = SteadyPlan()
_SCALE: Final = ScalePlan()
_API: Final = ApiPlan()
_SINKS: Final = SinksPlan()
_CLUSTERS: Final = ClustersPlan()
_OUTAGES: Final = OutagesPlan()
_FULL: Final = Plans(_REPLAY, _STEADY, _SCALE, _API, _SINKS, _CLUSTERS, _OUTAGES)
_SMALL: Final = Sizes(groups=40, partitions=5, offsets_partitions=4)
_QUICK: Final = Plans(
    ReplayPlan(_SMALL, commits=20_000, runs=1),
    SteadyPlan(_SMALL, rate=200, warm_up_s=3, seconds=6),
    ScalePlan((Level(100, 100), Level(1_000, 100)), 5, 4, warm_up_s=3, seconds=6),
    ApiPlan(_SMALL, rate=200, warm_up_s=3, seconds=6, scrapes=3, pages=20, page_rounds=1),
    SinksPlan(_SMALL, rate=200, warm_up_s=3, seconds=11, rounds=1, samples=2, runs=1),
    ClustersPlan((1, 3), rate=10, warm_up_s=3, seconds=6),
    OutagesPlan(2, rate=10, warm_up_s=3, seconds=15),
)


@app.command("replay")
def replay_command(
    *,
    commits: Annotated[int, typer.Option(min=1, metavar="N", help="Commits in the topic.")] = _REPLAY.commits,
    groups: Groups = DEFAULT_SIZES.groups,
    partitions: Partitions = DEFAULT_SIZES.partitions,
    offsets_partitions: OffsetsPartitions = DEFAULT_SIZES.offsets_partitions,
    runs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each kind; the best counts.")
    ] = _REPLAY.runs,
    min_distance: Annotated[
        int | None, typer.Option(min=0, metavar="S", help="[storage] min-distance of the windows.")
    ] = _REPLAY.min_distance_s,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Time from a topic full of commits to a snapshot: compared with a bare drain, warm and cold.

    [bold]Examples[/bold]

    [cyan]warren bench replay[/cyan]

    [cyan]warren bench replay --commits 400000 --groups 200 --runs 1[/cyan]   a small one
    """
    plan = ReplayPlan(Sizes(groups, partitions, offsets_partitions), commits, runs, min_distance)
    _present([partial(replay, plan)], results, as_json=as_json, check=check)


@app.command("steady")
def steady_command(
    *,
    groups: Groups = DEFAULT_SIZES.groups,
    partitions: Partitions = DEFAULT_SIZES.partitions,
    offsets_partitions: OffsetsPartitions = DEFAULT_SIZES.offsets_partitions,
    rate: Rate = _STEADY.rate,
    seconds: Seconds = _STEADY.seconds,
    warm_up: WarmUp = _STEADY.warm_up_s,
    entries: Entries = INTERVALS,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Trigger times, time from a commit to a snapshot that shows it, processor and memory at a steady rate.

    [bold]Examples[/bold]

    [cyan]warren bench steady[/cyan]

    [cyan]warren bench steady --groups 200 --seconds 20 --warm-up 5[/cyan]    a small one
    """
    sizes = Sizes(groups, partitions, offsets_partitions)
    plan = SteadyPlan(sizes, rate, warm_up, seconds, entries)
    _present([partial(steady, plan)], results, as_json=as_json, check=check)


@app.command("scale")
def scale_command(
    *,
    windows: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="N", help="A level of so many windows; may repeat."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1, metavar="R", help="Commits a second; default 2,000, and 5,000 from a million on."
        ),
    ] = None,
    partitions: Partitions = DEFAULT_SIZES.partitions,
    offsets_partitions: OffsetsPartitions = DEFAULT_SIZES.offsets_partitions,
    seconds: Seconds = _SCALE.seconds,
    warm_up: WarmUp = _SCALE.warm_up_s,
    entries: Entries = INTERVALS,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """The same as steady with 10,000, 100,000 and 1,000,000 windows, as a plot in the terminal and as SVG.

    [bold]Examples[/bold]

    [cyan]warren bench scale[/cyan]

    [cyan]warren bench scale --windows 10000 --windows 100000 --seconds 30[/cyan]    two levels
    """
    chosen = levels(windows or [level.windows for level in LEVELS], rate)
    plan = ScalePlan(chosen, partitions, offsets_partitions, warm_up, seconds, entries)
    _present([partial(scale, plan)], results, as_json=as_json, check=check)


@app.command("api")
def api_command(
    *,
    groups: Groups = DEFAULT_SIZES.groups,
    partitions: Partitions = DEFAULT_SIZES.partitions,
    offsets_partitions: OffsetsPartitions = DEFAULT_SIZES.offsets_partitions,
    rate: Rate = _API.rate,
    seconds: Seconds = _API.seconds,
    warm_up: WarmUp = _API.warm_up_s,
    scrapes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Pairs of scrapes in each form.")
    ] = _API.scrapes,
    connections: Annotated[
        int, typer.Option(min=1, metavar="N", help="Connections that the client keeps.")
    ] = _API.connections,
    pages: Annotated[
        int, typer.Option(min=1, max=400, metavar="N", help="Web pages that are open.")
    ] = _API.pages,
    only_pages: Annotated[bool, typer.Option("--only-pages", help="Measure the open pages only.")] = False,
    entries: Entries = INTERVALS,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Scrapes, lag pages and open web pages while the pipeline runs, and what they do to its triggers.

    [bold]Examples[/bold]

    [cyan]warren bench api[/cyan]

    [cyan]warren bench api --groups 200 --seconds 10 --warm-up 5[/cyan]   a small one

    [cyan]warren bench api --only-pages --groups 10000 --partitions 10[/cyan]   ten thousand groups in a hundred pages
    """
    sizes = Sizes(groups, partitions, offsets_partitions)
    rounds = max(round(seconds * _API.page_rounds / _API.seconds), 1)
    plan = ApiPlan(
        sizes, rate, warm_up, seconds, entries, scrapes, connections, pages, rounds, only_pages=only_pages
    )
    _present([partial(api, plan)], results, as_json=as_json, check=check)


@app.command("sinks")
def sinks_command(
    *,
    groups: Groups = DEFAULT_SIZES.groups,
    partitions: Partitions = DEFAULT_SIZES.partitions,
    offsets_partitions: OffsetsPartitions = DEFAULT_SIZES.offsets_partitions,
    rate: Rate = _SINKS.rate,
    seconds: Annotated[
        float, typer.Option(min=1, metavar="S", help="Length of a turn with or without sinks.")
    ] = _SINKS.seconds,
    warm_up: WarmUp = _SINKS.warm_up_s,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Turns of each kind.")] = _SINKS.rounds,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Samples that are written at once for the rates.")
    ] = _SINKS.samples,
    runs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each kind; the best counts.")
    ] = _SINKS.runs,
    elasticsearch: Annotated[
        str, typer.Option(metavar="URL", help="A server to write to; without one Elasticsearch is left out.")
    ] = _SINKS.elasticsearch,
    entries: Entries = INTERVALS,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Rows per second into Parquet, Kafka and Elasticsearch, compared with a bare script, and triggers beside it.

    [bold]Examples[/bold]

    [cyan]warren bench sinks[/cyan]

    [cyan]warren bench sinks --elasticsearch http://localhost:9200[/cyan]    with Elasticsearch

    [cyan]warren bench sinks --groups 200 --seconds 12 --rounds 1[/cyan]   a small one
    """
    sizes = Sizes(groups, partitions, offsets_partitions)
    plan = SinksPlan(sizes, rate, warm_up, seconds, entries, rounds, samples, runs, elasticsearch)
    _present([partial(sinks, plan)], results, as_json=as_json, check=check)


@app.command("clusters")
def clusters_command(
    *,
    clusters_: Annotated[
        list[int] | None,
        typer.Option("--clusters", min=1, metavar="N", help="So many clusters at once; may repeat."),
    ] = None,
    groups: Groups = _CLUSTERS.sizes.groups,
    partitions: Partitions = _CLUSTERS.sizes.partitions,
    offsets_partitions: OffsetsPartitions = _CLUSTERS.sizes.offsets_partitions,
    rate: Rate = _CLUSTERS.rate,
    seconds: Seconds = _CLUSTERS.seconds,
    warm_up: WarmUp = _CLUSTERS.warm_up_s,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Memory, processor and trigger times with 1, 10 and 30 small clusters in one instance.

    [bold]Examples[/bold]

    [cyan]warren bench clusters[/cyan]

    [cyan]warren bench clusters --clusters 1 --clusters 5 --seconds 20[/cyan]    two levels
    """
    counts = tuple(sorted(set(clusters_ or _CLUSTERS.counts)))
    plan = ClustersPlan(counts, Sizes(groups, partitions, offsets_partitions), rate, warm_up, seconds)
    _present([partial(clusters, plan)], results, as_json=as_json, check=check)


@app.command("outages")
def outages_command(
    *,
    healthy: Annotated[
        int, typer.Option("--clusters", min=1, metavar="N", help="Clusters without trouble.")
    ] = _OUTAGES.healthy,
    groups: Groups = _OUTAGES.sizes.groups,
    partitions: Partitions = _OUTAGES.sizes.partitions,
    offsets_partitions: OffsetsPartitions = _OUTAGES.sizes.offsets_partitions,
    rate: Rate = _OUTAGES.rate,
    seconds: Seconds = _OUTAGES.seconds,
    warm_up: WarmUp = _OUTAGES.warm_up_s,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Triggers of six clusters with and without four more: down, dying, slow, refusing the login.

    [bold]Examples[/bold]

    [cyan]warren bench outages[/cyan]

    [cyan]warren bench outages --seconds 900[/cyan]    what grows while clusters are away for long
    """
    sizes = Sizes(groups, partitions, offsets_partitions)
    plan = OutagesPlan(healthy, sizes, rate, warm_up, seconds)
    _present([partial(outages, plan)], results, as_json=as_json, check=check)


@app.command("all")
def all_command(
    *, quick: Quick = False, results: Results = _RESULTS, as_json: AsJson = False, check: Check = False
) -> None:
    """All of them, one after the other, as `warren bench` alone does; about half an hour."""
    plans = _QUICK if quick else _FULL
    benches: list[Bench] = [
        partial(replay, plans.replay),
        partial(steady, plans.steady),
        partial(scale, plans.scale),
        partial(api, plans.api),
        partial(sinks, plans.sinks),
        partial(clusters, plans.clusters),
        partial(outages, plans.outages),
    ]
    _present(benches, results, as_json=as_json, check=check)


@app.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
    *,
    quick: Quick = False,
    results: Results = _RESULTS,
    as_json: AsJson = False,
    check: Check = False,
) -> None:
    """Measure Warren on this machine, compared with targets; without a subcommand: all benchmarks.

    Every benchmark starts its own Kafka broker, writer and Warren, in processes of their own, and leaves
    only a file in bench-results.

    [bold]Examples[/bold]

    [cyan]warren bench[/cyan]                  everything, about half an hour

    [cyan]warren bench --quick[/cyan]          everything at small sizes, to see that it works

    [cyan]warren bench steady --seconds 120[/cyan]
    """
    if context.invoked_subcommand is None:
        all_command(quick=quick, results=results, as_json=as_json, check=check)


def _present(benches: list[Bench], results: Path, *, as_json: bool, check: bool) -> None:
    """Run them one after the other, show what each found, and leave it in files."""
    # SIGTERM is handled like Ctrl-C, and SIGINT is enabled: shells disable it for background jobs
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    console = Console()
    reports = []
    try:
        for bench in benches:
            with _bars() as tell:
                report = bench(tell)
            reports.append(report)
            path = report.save(results)
            if as_json:
                print(json.dumps(report.to_dict()))
            else:
                console.print(table(report))
                if report.name == "scale":
                    _plot(console, report, results)
                console.print(f"{path}\n", style="dim", highlight=False, soft_wrap=True)
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
        raise typer.Exit(1) from None
    if check and not all(report.reached for report in reports):
        raise typer.Exit(1)


def _plot(console: Console, report: Report, results: Path) -> None:
    pictures = panels(report)
    console.print(plot.terminal(pictures))
    path = results / f"{report.stem}.svg"
    path.write_text(plot.svg("Warren by number of windows", pictures))
    console.print(f"{path}", style="dim", highlight=False, soft_wrap=True)


def table(report: Report) -> Table:
    """The figures with their targets."""
    shown = Table(title=f"warren bench {report.name}", title_justify="left", title_style="bold")
    shown.add_column("figure")
    shown.add_column("value", justify="right")
    shown.add_column("target", justify="right")
    shown.add_column("reached", justify="center")
    for figure in report.figures:
        target = (
            "" if figure.target is None else f"{figure.better.value} {_number(figure.target, figure.unit)}"
        )
        shown.add_row(figure.name, _number(figure.value, figure.unit), target, _mark(figure))
    load = ", ".join(f"{each:.1f}" for each in report.machine["load_before"])
    shown.caption = f"{report.machine['cores']} cores, load before {load}"
    return shown


def _mark(figure: Figure) -> Text:
    if figure.reached is None:
        return Text("")
    return Text("yes", "green") if figure.reached else Text("no", "bold red")


def _number(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
    return f"{digits} {unit}".strip()


@contextmanager
def _bars() -> Iterator[Tell]:
    """One bar per step, on stderr so that the figures can go into a file."""
    steps: dict[str, TaskID] = {}
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:

        def tell(step: str, done: float, total: float | None) -> None:
            if step not in steps:
                for earlier in steps.values():
                    progress.stop_task(earlier)
                steps[step] = progress.add_task(step, total=total)
            progress.update(steps[step], completed=done, total=total)

        yield tell


def _interrupt(_number: int, _frame: FrameType | None) -> Any:
    raise KeyboardInterrupt
