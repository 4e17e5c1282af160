"""`warren demo`: a broker, groups in trouble and Warren's verdicts on them, live in the terminal."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import structlog
import typer
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from warren.cli.colours import coloured
from warren.cli.signals import stop_signal
from warren.config.sections import Logging
from warren.demo.stage import CLUSTER, Scene, Stage
from warren.demo.traffic import DEFAULT_SEED
from warren.logs import configure

# how long --check waits for every group to have its status
CHECK_S: Final = 180.0
# after so long the history has something to say
HISTORY_S: Final = 60.0
_REFRESH_S: Final = 0.5
# a terminal in which every table has room
_ENDLESS: Final = 1000


def demo(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the API; 0 takes any free one.")
    ] = 8000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same traffic.")] = DEFAULT_SEED,
    history: Annotated[
        bool,
        typer.Option("--history", help="Also write a history, and say how to ask it; gone after the demo."),
    ] = False,
    history_dir: Annotated[
        Path | None,
        typer.Option("--history-dir", metavar="DIR", help="Write the history there, and leave it there."),
    ] = None,
    zookeeper: Annotated[
        bool,
        typer.Option("--zookeeper", help="Also start a ZooKeeper, with groups that commit there."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="End when every group has its status (0), or after 180 s (1)."),
    ] = False,
) -> None:
    """Run everything on this machine: a real Kafka broker, groups of every status, and Warren.

    Everything runs on 127.0.0.1 and is removed after Ctrl-C, but for --history-dir.

    [bold]Examples[/bold]

    [cyan]warren demo[/cyan]              the live table, and Burrow's API on port 8000

    [cyan]warren demo --port 0[/cyan]     on any free port

    [cyan]warren demo --history[/cyan]    after a minute, ask the history in another terminal

    [cyan]warren demo --zookeeper[/cyan]  with an old consumer and a Storm spout in ZooKeeper

    [cyan]warren demo --check[/cyan]      does every group get its intended status?
    """
    stopping = stop_signal()
    console = Console()
    # only errors are logged, beside the table
    configure(Logging(level="error"))
    log = structlog.get_logger("warren.demo")
    with console.status("Starting Kafka, its traffic and Spark …"):
        stage = Stage(port, seed, history=history, history_dir=history_dir, zookeeper=zookeeper)
        stage.__enter__()
    console.print(
        f"Open {stage.url}/ in a browser. Burrow's API is at {stage.url}/v3/kafka/{CLUSTER}/consumer"
    )
    began = time.monotonic()
    scenes, passed, asked = stage.scenes(), 0.0, True
    try:
        with Live(console=console, auto_refresh=False, screen=False) as live:
            while not stopping.wait(_REFRESH_S):
                scenes, passed = stage.scenes(), time.monotonic() - began
                live.update(picture(stage, scenes, passed, console.width), refresh=True)
                if check and _seen_enough(stage, scenes, passed):
                    break
        if check and stage.history is not None:
            asked = _asked(console, stage.history)
    finally:
        with console.status("Stopping …"):
            stage.__exit__(None, None, None)
    log.info("demo ended", seconds=round(time.monotonic() - began))
    if check:
        _verdict(console, scenes, passed, stopped=stopping.is_set())
        if not asked:
            console.print("The history did not answer.", style="red")
            raise typer.Exit(1)


def picture(stage: Stage, scenes: list[Scene], passed: float, width: int) -> RenderableType:
    """The live table and where to look further."""
    url = stage.url
    progress = stage.service.engine.progress(CLUSTER)
    foot = Text(f"\n {url}/", style="cyan")
    foot.append(f"\n {url}/v3/kafka/{CLUSTER}/consumer/recommender/lag", style="cyan")
    foot.append(
        f"\n {passed:.0f} s · trigger {progress.triggers}, {progress.trigger_ms} ms · Ctrl-C stops\n",
        style="dim",
    )
    if stage.history is not None:
        foot.append(f" {_advice(stage.history, passed)}\n", style="cyan")
    if progress.error:
        foot.append(f"\n {progress.error}", style="red")
    return Group(table(scenes, width), foot)


def _advice(history: Path, passed: float) -> str:
    """When and how to ask the history."""
    command = f"warren history worst --path {shlex.quote(str(history))} --plot worst.svg"
    left = HISTORY_S - passed
    if left > 0:
        return f"The history is in {history}: in {left:.0f} s ask it in another terminal:\n {command}"
    return f"The history is in {history}; ask it in another terminal:\n {command}"


def _seen_enough(stage: Stage, scenes: list[Scene], passed: float) -> bool:
    written = stage.history is None or (stage.history / "groups").exists()
    return passed > CHECK_S or (written and all(each.as_intended for each in scenes))


def _asked(console: Console, history: Path) -> bool:
    """Ask the history as a person would, in a process of its own; whether it answered with a picture."""
    picture = history / "_worst.svg"
    question = ["history", "worst", "--path", str(history), "--plot", str(picture)]
    with console.status("Asking the history …"):
        answered = subprocess.run(
            [sys.executable, "-m", "warren.cli.main", *question], capture_output=True, text=True, check=False
        )
    console.print(Text(answered.stdout + answered.stderr), soft_wrap=True)
    drawn = picture.exists() and picture.stat().st_size > 0
    picture.unlink(missing_ok=True)
    return answered.returncode == 0 and drawn


def table(scenes: list[Scene], width: int) -> Table:
    """A line for each group; with the sentence on what it does where a whole line has room for it."""
    full = _table(scenes, sentences=True)
    return full if Console(width=_ENDLESS).measure(full).maximum <= width else _table(scenes, sentences=False)


def _table(scenes: list[Scene], *, sentences: bool) -> Table:
    table = Table(
        title="Warren demo",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 0, 0, 1),
    )
    table.add_column("group", style="bold", no_wrap=True)
    if sentences:
        table.add_column("what it does", style="dim", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("worst\npartition", no_wrap=True)
    table.add_column("lag", justify="right", no_wrap=True)
    table.add_column("windows\nfull", justify="right", no_wrap=True)
    table.add_column("as\nmeant", justify="center", no_wrap=True)
    for scene in scenes:
        full, committed = scene.filled
        table.add_row(
            scene.actor.name,
            *([scene.actor.description] if sentences else []),
            coloured(scene.status.status) if scene.status else "…",
            coloured(scene.worst) if scene.worst else "…",
            f"{scene.status.totallag:,}" if scene.status else "",
            f"{full} of {committed}" if committed else "",
            Text("✓", "green") if scene.as_intended else Text("·", "dim"),
        )
    return table


def _verdict(console: Console, scenes: list[Scene], passed: float, *, stopped: bool) -> None:
    wrong = [scene for scene in scenes if not scene.as_intended]
    if not wrong:
        console.print(f"Every group has its intended status, after {passed:.0f} s.", style="green")
        return
    if stopped:
        console.print(f"Stopped after {passed:.0f} s, before every group had its status.", style="red")
    for scene in wrong:
        console.print(
            f"{scene.actor.name}: should be {scene.actor.status.name} "
            f"(worst partition {scene.actor.partition_status.name}), is "
            f"{scene.status.status.name if scene.status else 'not seen'} "
            f"({scene.worst.name if scene.worst else 'none'}), {scene.filled[0]} of {scene.filled[1]} windows full",
            style="red",
        )
    raise typer.Exit(1)
