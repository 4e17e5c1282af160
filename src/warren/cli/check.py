"""`warren check`: check a configuration without starting anything."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from warren.cli.options import ConfigDir, ConfigFile, config_path
from warren.config import Examination, Problem, Settings, examine
from warren.errors import ConfigError

if TYPE_CHECKING:
    from warren.cli.attempts import Outcome


def check(
    *,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    connect: Annotated[
        bool,
        typer.Option("--connect", help="Also connect to every Kafka, ZooKeeper, notifier and sink in it."),
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit of each connection.")
    ] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a configuration without starting anything.

    It reports all problems at once, each with its location and its fix.
    Environment variables count, as they do at start.

    Exit code: 0 when it is valid, 1 when a server cannot be reached, 2 when
    the configuration has errors.

    [bold]Examples[/bold]

    [cyan]warren check[/cyan]

    [cyan]warren check --config-dir /etc/burrow --connect[/cyan]

    [cyan]warren check --config burrow.toml --json[/cyan]
    """
    path = config_path(config_dir, config)
    try:
        found = _with_templates(examine(path, os.environ))
    except ConfigError as error:
        found = Examination(path, None, tuple(Problem("error", "", text, "") for text in error.problems))
    outcomes = _outcomes(found.settings, timeout) if connect and found.settings else []
    if as_json:
        typer.echo(_json(found, outcomes))
    else:
        _show(found, outcomes)
    if found.settings is None:
        raise typer.Exit(2)
    if not all(outcome.reached for outcome in outcomes):
        raise typer.Exit(1)


def _with_templates(found: Examination) -> Examination:
    """Adds the errors of the notifiers' templates, where the settings are valid."""
    settings = found.settings
    if settings is None or not settings.notifier:
        return found
    from warren.notifier import templates  # noqa: PLC0415 - slow import, needed with notifiers only

    problems = (*found.problems, *templates.examine(settings))
    usable = all(problem.severity != "error" for problem in problems)
    return Examination(found.path, settings if usable else None, problems)


def _outcomes(settings: Settings, limit_s: float) -> "Sequence[Outcome]":
    from warren.cli.attempts import run_probes  # noqa: PLC0415
    from warren.cli.probes import probes  # noqa: PLC0415 - clients cost a third of a second

    jobs = list(probes(settings))
    with Console(stderr=True).status(f"Trying {len(jobs)} servers…"):
        return run_probes(jobs, limit_s)


def _json(found: Examination, outcomes: "Sequence[Outcome]") -> str:
    jobs = [
        {
            "key": outcome.probe.key,
            "kind": outcome.probe.kind,
            "address": outcome.probe.address,
            "reached": outcome.reached,
            "detail": outcome.detail,
            "seconds": round(outcome.seconds, 4),
        }
        for outcome in outcomes
    ]
    return json.dumps(
        {
            "file": str(found.path),
            "ok": found.settings is not None and all(outcome.reached for outcome in outcomes),
            "problems": [asdict(problem) for problem in found.problems],
            "connections": jobs,
        },
        indent=2,
    )


def _show(found: Examination, outcomes: "Sequence[Outcome]") -> None:
    console = Console(highlight=False, soft_wrap=True)
    for problem in found.problems:
        colour, sign = ("red", "✗") if problem.severity == "error" else ("yellow", "!")
        head = Text(f"{sign} {problem.severity}", style=f"bold {colour}")
        if problem.key:
            head.append(f"  {problem.key}", style="bold")
        if problem.line is not None:
            head.append(f"  {found.path.name}:{problem.line}", style="dim")
        console.print(head)
        body = f"{problem.what}; {problem.remedy}" if problem.remedy else problem.what
        console.print(Text("    " + body.replace("\n", "\n    ")))
    for outcome in outcomes:
        sign, colour = ("✓", "green") if outcome.reached else ("✗", "red")
        line = Text(f"{sign} ", style=f"bold {colour}")
        line.append(outcome.probe.key, style="bold")
        line.append(f"  {outcome.probe.kind} {outcome.probe.address}  ")
        line.append(outcome.detail, style="" if outcome.reached else colour)
        line.append(f"  {outcome.seconds * 1000:.0f} ms", style="dim")
        console.print(line)
    console.print(_closing(found, outcomes))


def _closing(found: Examination, outcomes: "Sequence[Outcome]") -> Text:
    counts = f"{_count(len(found.errors), 'problem')}, {_count(len(found.warnings), 'warning')}"
    lost = sum(not outcome.reached for outcome in outcomes)
    if found.settings is None:
        return Text(f"{found.path}: {counts}", style="bold red")
    if lost:
        return Text(f"{found.path}: {counts}; {lost} of {len(outcomes)} not reached", style="bold red")
    reached = f"; all {_count(len(outcomes), 'server')} reached" if outcomes else ""
    colour = "yellow" if found.warnings else "green"
    return Text(f"{found.path}: {counts}{reached}. {_summary(found.settings)}", style=colour)


def _summary(settings: Settings) -> str:
    """What the configuration describes, in a line."""
    clusters = ", ".join(settings.cluster)
    parts = [_count(len(settings.cluster), "cluster") + (f" ({clusters})" if clusters else "")]
    for noun, modules in (
        ("consumer", settings.consumer),
        ("notifier", settings.notifier),
        ("sink", settings.sink),
    ):
        if modules:
            parts.append(_count(len(modules), noun))
    listeners = ", ".join(server.address for server in settings.httpserver.values())
    return f"{', '.join(parts)}; listens on {listeners}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
