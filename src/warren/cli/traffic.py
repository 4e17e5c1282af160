"""`warren traffic`: groups of every status on a real broker, or commit records by the million."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any, Final

import structlog
import typer
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from warren.cli.colours import coloured
from warren.cli.signals import stop_signal
from warren.demo.commit_records import Shape
from warren.demo.commit_writer import CommitWriter, Written
from warren.demo.groups import Actor
from warren.demo.traffic import DEFAULT_SEED, Traffic
from warren.errors import ConfigError

_REFRESH_S: Final = 1.0
_DEFAULT: Final = Shape()
_FAST: Final = "Commit records straight into a topic"


def traffic(
    *,
    bootstrap_servers: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Bootstrap servers, separated by commas.")
    ],
    seed: Annotated[int, typer.Option(help="The same seed writes and commits the same.")] = DEFAULT_SEED,
    duration: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Stop by itself; without it, Ctrl-C stops.")
    ] = None,
    client_properties: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A librdkafka property, such as for TLS or SASL; may repeat."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object per line: the cast, then its progress each second."),
    ] = False,
    commits: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Write N commit records.", rich_help_panel=_FAST),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=1, metavar="R", help="Write R commit records a second.", rich_help_panel=_FAST),
    ] = None,
    groups: Annotated[
        int, typer.Option(min=1, metavar="G", help="Groups that commit.", rich_help_panel=_FAST)
    ] = _DEFAULT.groups,
    partitions: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="P",
            help="Partitions of the data topic; each group has all.",
            rich_help_panel=_FAST,
        ),
    ] = _DEFAULT.partitions,
    topic_of_data: Annotated[
        str, typer.Option(metavar="NAME", help="Topic that the commits are about.", rich_help_panel=_FAST)
    ] = _DEFAULT.data_topic,
    offsets_topic: Annotated[
        str, typer.Option(metavar="NAME", help="Topic that the commits go to.", rich_help_panel=_FAST)
    ] = _DEFAULT.offsets_topic,
    offsets_partitions: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Partitions of the topic of commits.", rich_help_panel=_FAST),
    ] = _DEFAULT.offsets_partitions,
    value_version: Annotated[
        int, typer.Option(min=0, max=4, help="Version of the records' values.", rich_help_panel=_FAST)
    ] = _DEFAULT.value_version,
    advance_heads: Annotated[
        bool,
        typer.Option(
            "--advance-heads",
            help="With --rate: a record per data partition and second.",
            rich_help_panel=_FAST,
        ),
    ] = False,
) -> None:
    """Run producers and consumer groups of every status on a Kafka cluster, until Ctrl-C.

    Ten groups on four topics: healthy, slow, dead, stuck, rewound and more; the table shows the status that Warren
    should report. With --commits or --rate it writes commit records instead, into a topic of their own.

    Examples:

      warren traffic --bootstrap-servers localhost:9092

      warren traffic --bootstrap-servers localhost:9092 --duration 60 --json

      warren traffic --bootstrap-servers localhost:9092 --commits 4000000 --groups 2000 --partitions 50

      warren traffic --bootstrap-servers localhost:9092 --rate 5000 --duration 60 --groups 2000
    """
    properties = _properties(client_properties or [])
    _log_to_stderr()
    if commits is None and rate is None:
        if advance_heads:
            raise ConfigError(["--advance-heads: needs --rate"])
        _play(Traffic(bootstrap_servers, seed=seed, client_properties=properties), duration, as_json=as_json)
        return
    if rate is None and (duration is not None or advance_heads):
        raise ConfigError(["--duration and --advance-heads: need --rate when commit records are written"])
    shape = Shape(groups, partitions, topic_of_data, offsets_topic, offsets_partitions, value_version)
    writer = CommitWriter(bootstrap_servers, shape, seed=seed, client_properties=properties)
    if rate is not None and commits is not None:
        duration = min(commits / rate, duration if duration is not None else float("inf"))
    written = _write(writer, commits, rate, duration, advance_heads=advance_heads)
    _report(written, shape, as_json=as_json)


def _properties(pairs: list[str]) -> dict[str, str]:
    problems = [f"--client-properties {pair}: has to be KEY=VALUE" for pair in pairs if "=" not in pair]
    if problems:
        raise ConfigError(problems)
    return dict(pair.split("=", 1) for pair in pairs)


def _log_to_stderr() -> None:
    # looked up for each line: a live table replaces stderr, so that lines go above it
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _play(running: Traffic, duration: float | None, *, as_json: bool) -> None:
    stop_event = stop_signal()
    with running:
        end = None if duration is None else time.monotonic() + duration
        if as_json:
            _print({"cast": [_described(actor) for actor in running.cast]})
            for _ in _seconds(stop_event, end):
                _print(_progress(running))
            return
        console = Console()
        with Live(_table(running), console=console, auto_refresh=False) as live:
            for _ in _seconds(stop_event, end):
                live.update(_table(running), refresh=True)
        if not console.is_terminal:
            console.line()
        console.print("Stopping: the members leave their groups.")


def _seconds(stop_event: threading.Event, end: float | None) -> Iterator[None]:
    """Once a second until stopped, or until the end."""
    while not stop_event.is_set():
        left = _REFRESH_S if end is None else min(_REFRESH_S, end - time.monotonic())
        if left <= 0 or stop_event.wait(left):
            return
        yield


def _print(line: dict[str, Any]) -> None:
    typer.echo(json.dumps(line))


def _described(actor: Actor) -> dict[str, Any]:
    return {
        "group": actor.name,
        "description": actor.description,
        "topics": [topic.name for topic in actor.topics],
        "protocol": actor.protocol.value,
        "members": actor.members,
        "status": actor.status.name,
        "partition_status": actor.partition_status.name,
        "complete": actor.complete,
    }


def _progress(running: Traffic) -> dict[str, Any]:
    groups = {
        done.group: {"commits": done.commits, "offset": done.offset, "lag": done.lag}
        | ({"trouble": done.trouble} if done.trouble else {})
        for done in running.progress()
    }
    return {"timestamp_ms": time.time_ns() // 1_000_000, "groups": groups}


def _table(running: Traffic) -> Table:
    table = Table("group", "what it does", "should end in", title="Traffic")
    for heading in ("commits", "offset", "lag"):
        table.add_column(heading, justify="right")
    for actor, done in zip(running.cast, running.progress(), strict=True):
        verdict = coloured(actor.status)
        if actor.partition_status != actor.status:
            verdict += Text(f" ({actor.partition_status.name})")
        # errors before the first commit only
        trouble = done.trouble and not done.commits
        table.add_row(
            actor.name,
            Text(done.trouble, "red") if trouble else actor.description,
            verdict,
            f"{done.commits:,}",
            f"{done.offset:,}",
            f"{done.lag:,}",
        )
    return table


def _write(
    writer: CommitWriter,
    commits: int | None,
    rate: float | None,
    duration: float | None,
    *,
    advance_heads: bool,
) -> Written:
    total = commits if rate is None else None if duration is None else round(rate * duration)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    stop_event = stop_signal()
    with bar:
        task = bar.add_task("topics", total=None, rate="")
        writer.prepare()
        began = time.monotonic()
        bar.update(task, description="commits", total=total)

        def show(done: int) -> None:
            speed = done / max(time.monotonic() - began, 1e-3)
            bar.update(task, completed=done, rate=f"{speed:,.0f}/s")

        if rate is None:
            return writer.write(commits or 0, show, stop=stop_event)
        return writer.run(rate, duration, advance_heads=advance_heads, stop=stop_event, progress=show)


def _report(written: Written, shape: Shape, *, as_json: bool) -> None:
    if as_json:
        _print(
            {"commits": written.commits, "seconds": round(written.seconds, 3), "rate": round(written.rate)}
        )
        return
    typer.echo(
        f"{written.commits:,} commits of {shape.groups:,} groups in {shape.offsets_topic}, "
        f"{written.seconds:.1f} s, {written.rate:,.0f} a second."
    )
