"""`warren history`: questions to the history, answered by Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer
from rich.console import Console

from warren.cli.options import ConfigDir, ConfigFile, config_path
from warren.clock import now_ms
from warren.history import export, pictures
from warren.history.period import Period, period, step_ms

if TYPE_CHECKING:
    from warren.history.answers import Answer
    from warren.history.questions import Wanted
    from warren.history.store import History

app = typer.Typer(
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Ask the history that a parquet sink has written.

Moments are durations (90s, 15m, 24h, 7d, 4w: so long ago) or dates (2026-11-01, 2026-11-01T08:30) in your time zone.
A sample counts until the next one; while Warren was down, nothing is known, and that is not OK time.

[bold]Examples[/bold]

[cyan]warren history worst --config-dir config[/cyan]                 who was in trouble in the last day

[cyan]warren history worst --path history --plot worst.svg[/cyan]     the same as a picture

[cyan]warren history group payments --since 7d[/cyan]                 lag and status over time

[cyan]warren history topic orders --since 2h[/cyan]                   how much is written, and who reads it

[cyan]warren history availability --since 2026-10-01 --until 2026-11-01 --format csv[/cyan]

[cyan]warren history sql "SELECT max(total_lag) FROM groups WHERE day = '2026-11-15'"[/cyan]""",
)

_Found = TypeVar("_Found")
# steps that a chart in the terminal and a picture have room for
_TERMINAL_STEPS: Final = 60
_PICTURE_STEPS: Final = 240
_EVERYTHING: Final = 1_000_000


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Path_ = Annotated[
    str | None,
    typer.Option("--path", metavar="PATH", help="Where the history is, instead of a configuration."),
]
Sink = Annotated[
    str | None, typer.Option("--sink", metavar="NAME", help="Which parquet sink, where there are several.")
]
Since = Annotated[str, typer.Option(metavar="WHEN", help="From when on: 24h, 7d, 2026-11-01.")]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Until when; without it until now.")]
ClusterOption = Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to write it.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw it, too: FILE.png or FILE.svg.")
]
Step = Annotated[str | None, typer.Option(metavar="DURATION", help="Length of a step: 30s, 5m, 1h.")]


@app.command()
def worst(
    *,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    path: Path_ = None,
    sink: Sink = None,
    since: Since = "24h",
    until: Until = None,
    cluster: ClusterOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Groups at most.")] = 20,
    form: FormatOption = Format.TABLE,
    plot: Plot = None,
) -> None:
    """Which groups were not OK: for how long, and how bad.

    [cyan]warren history worst --path history --since 7d --plot worst.png[/cyan]
    """
    within = _period(since, until, plot)

    def ask(history: History) -> Answer:
        from warren.history import questions  # noqa: PLC0415

        return questions.worst(history, _wanted(within, cluster, limit, plot))

    answer = _asked(config_dir, config, path, sink, ask)
    _show(form, ("groups", answer))
    _draw(plot, pictures.worst, answer)


@app.command()
def availability(
    *,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    path: Path_ = None,
    sink: Sink = None,
    since: Since = "30d",
    until: Until = None,
    cluster: ClusterOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Groups at most; without it 50 in a table, else all.")
    ] = None,
    form: FormatOption = Format.TABLE,
    plot: Plot = None,
) -> None:
    """Which share of the time each group was OK, the lowest first.

    [cyan]warren history availability --since 2026-10-01 --until 2026-11-01 --format csv > october.csv[/cyan]
    """
    within = _period(since, until, plot)
    most = limit or (50 if form is Format.TABLE else _EVERYTHING)

    def ask(history: History) -> Answer:
        from warren.history import questions  # noqa: PLC0415

        return questions.availability(history, _wanted(within, cluster, most, None))

    answer = _asked(config_dir, config, path, sink, ask)
    _show(form, ("groups", answer))
    _draw(plot, pictures.availability, answer)


@app.command()
def group(
    name: Annotated[str, typer.Argument(metavar="GROUP")],
    *,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    path: Path_ = None,
    sink: Sink = None,
    since: Since = "24h",
    until: Until = None,
    cluster: ClusterOption = None,
    step: Step = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Steps at most, the last ones.")] = None,
    form: FormatOption = Format.TABLE,
    plot: Plot = None,
) -> None:
    """Lag and status of one group over time.

    [cyan]warren history group payments --since 7d --step 1h[/cyan]
    """
    within, length = _period(since, until, plot), step_ms(step) if step else None

    def ask(history: History) -> Answer:
        from warren.history import questions  # noqa: PLC0415

        wanted = _wanted(within, cluster, limit or _EVERYTHING, plot, length)
        return questions.group(history, wanted, name)

    answer = _asked(config_dir, config, path, sink, ask)
    _show(form, ("steps", answer))
    _draw(plot, pictures.group, answer)


@app.command()
def topic(
    name: Annotated[str, typer.Argument(metavar="TOPIC")],
    *,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    path: Path_ = None,
    sink: Sink = None,
    since: Since = "24h",
    until: Until = None,
    cluster: ClusterOption = None,
    step: Step = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Steps, and groups, at most.")] = None,
    readers: Annotated[
        bool, typer.Option("--readers", help="Only who reads it; CSV has the inflow without this.")
    ] = False,
    form: FormatOption = Format.TABLE,
    plot: Plot = None,
) -> None:
    """How much is written to a topic, and which groups read it.

    [cyan]warren history topic orders --since 2h --step 5m[/cyan]
    """
    within, length = _period(since, until, plot), step_ms(step) if step else None

    def ask(history: History) -> tuple[Answer, Answer]:
        from warren.history import questions  # noqa: PLC0415

        wanted = _wanted(within, cluster, limit or _EVERYTHING, plot, length)
        return questions.topic(history, wanted, name)

    inflow, read_by = _asked(config_dir, config, path, sink, ask)
    shown = [("inflow", inflow), ("readers", read_by)]
    if readers:
        shown = shown[1:]
    elif form is Format.CSV:
        shown = shown[:1]
    _show(form, *shown)
    _draw(plot, pictures.topic, inflow, read_by)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Spark SQL; - reads it from standard input.")],
    *,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    path: Path_ = None,
    sink: Sink = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="From when on: 24h, 7d, 2026-11-01; without it everything."),
    ] = None,
    until: Until = None,
    cluster: ClusterOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows at most.")] = 1000,
    form: FormatOption = Format.TABLE,
    plot: Plot = None,
) -> None:
    """Any query over the tables groups, partitions and topics; times are in UTC.

    The columns are in docs/history.md. A query that names the day reads only that day.

    [cyan]warren history sql "SELECT `group`, max(total_lag) FROM groups GROUP BY 1 ORDER BY 2 DESC" --since 1d[/cyan]
    """
    within = _period(since or "1970-01-02", until, plot)
    text = sys.stdin.read() if query == "-" else query

    def ask(history: History) -> Answer:
        from warren.history import questions  # noqa: PLC0415

        chosen = within if since or until else None
        return questions.sql(history, text, chosen, cluster, limit)

    answer = _asked(config_dir, config, path, sink, ask)
    _show(form, ("rows", answer))
    _draw(plot, pictures.sql, answer)


def _period(since: str, until: str | None, plot: Path | None) -> Period:
    """What can be wrong is found before Spark is started."""
    if plot is not None:
        pictures.check(plot)
    return period(since, until, now_ms())


def _wanted(
    within: Period, cluster: str | None, limit: int, plot: Path | None, length_ms: int | None = None
) -> Wanted:
    from warren.history.questions import Wanted  # noqa: PLC0415

    steps = _PICTURE_STEPS if plot else _TERMINAL_STEPS
    return Wanted(within, cluster, limit, steps, length_ms)


def _asked(
    config_dir: Path | None,
    config: Path | None,
    path: str | None,
    sink: str | None,
    ask: Callable[[History], _Found],
) -> _Found:
    where, conf = _place(config_dir, config, path, sink)
    progress = Console(stderr=True)
    with progress.status("Starting Spark …") as shown:
        # Spark's imports take a second
        from warren.history.session import history_session  # noqa: PLC0415
        from warren.history.store import History  # noqa: PLC0415

        with history_session(conf) as session:
            shown.update(f"Reading the history at {where} …")
            history = History(session, where)
            return history.retried(lambda: ask(history))


def _place(
    config_dir: Path | None, config: Path | None, path: str | None, sink: str | None
) -> tuple[str, dict[str, str]]:
    """Where the history is, and the settings of Spark that reach it."""
    from warren.config.loader import load  # noqa: PLC0415 - not needed with --path
    from warren.history.place import place  # noqa: PLC0415

    if path is not None:
        if sink is not None:
            raise typer.BadParameter("give --path or --sink, not both")
        given = config_dir is not None or config is not None
        conf = load(config_path(config_dir, config), os.environ).spark.conf if given else {}
        return path, conf
    settings = load(config_path(config_dir, config), os.environ)
    return place(settings, sink), settings.spark.conf


def _show(form: Format, *answers: tuple[str, Answer]) -> None:
    if form is Format.JSON:
        typer.echo(export.as_json(*answers))
    elif form is Format.CSV:
        for _, answer in answers:
            typer.echo(export.as_csv(answer), nl=False)
    else:
        from warren.cli.history_table import console, table  # noqa: PLC0415

        shown = console()
        for number, (_, answer) in enumerate(answers):
            if number:
                shown.print()
            shown.print(table(answer))


def _draw(plot: Path | None, draw: Callable[..., None], *answers: Any) -> None:
    if plot is None:
        return
    draw(*answers, plot)
    # beside the answer, not in it: it may go into a pipe
    typer.echo(f"Drawn: {plot}", err=True)
