"""`warren notify-test`: send a sample through a notifier and show what happened."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from warren import secrecy
from warren.cli.colours import coloured
from warren.cli.options import ConfigDir, ConfigFile, config_path
from warren.common.status import Status
from warren.config import Settings, load
from warren.errors import ConfigError
from warren.spelling import did_you_mean

if TYPE_CHECKING:
    from warren.config import AnyNotifier
    from warren.notifier.message import Kind, Message
    from warren.notifier.senders import Draft, Sender

# longer than any module's own limit, so that that one applies
_LIMIT_S: Final = 120.0
# receivers should see that it is a test
_SAMPLE_GROUP: Final = "warren-notify-test"


def notify_test(
    *,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help=r"The notifier: N of its section \[notifier.N].")
    ],
    status: Annotated[Literal["OK", "WARN", "ERR"], typer.Option(help="The sample group's status.")] = "WARN",
    kind: Annotated[
        Literal["open", "close"] | None,
        typer.Option(help="Which message; without it open, and close for status OK.", show_default=False),
    ] = None,
    group: Annotated[str, typer.Option(metavar="GROUP", help="The sample group's name.")] = _SAMPLE_GROUP,
    config_dir: ConfigDir = None,
    config: ConfigFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")
    ] = False,
) -> None:
    """Send a sample through a notifier and show what happened.

    The sample is of no real group, and no incident is changed. One attempt is made.

    Exit code: 0 when it was sent, 1 when it was not delivered, 2 when there is
    no such notifier or the configuration has errors.

    [bold]Examples[/bold]

    [cyan]warren notify-test ops --config-dir /etc/burrow[/cyan]

    [cyan]warren notify-test ops --status ERR --group payments[/cyan]

    [cyan]warren notify-test mail --kind close --dry-run[/cyan]
    """
    settings = load(config_path(config_dir, config), os.environ)
    module = _module(settings, name)
    told: Kind = kind or ("close" if status == "OK" else "open")
    from warren.notifier.links import pages  # noqa: PLC0415 - slow imports, not needed for --help
    from warren.notifier.trial import check_templates, sample_message  # noqa: PLC0415

    check_templates(settings, name)
    message = sample_message(settings, name, Status[status], told, group=group, page=pages(settings))
    console = Console(highlight=False)
    sender = _sender(settings, name, module)
    try:
        sent = _shown(console, sender, message, module, dry_run=dry_run)
    finally:
        sender.close()
    if not sent:
        raise typer.Exit(1)


def _module(settings: Settings, name: str) -> AnyNotifier:
    if name in settings.notifier:
        return settings.notifier[name]
    known = ", ".join(settings.notifier)
    there = f"there are: {known}" if known else "there is none: add a section [notifier.NAME]"
    near = did_you_mean(name, settings.notifier, "")
    raise ConfigError([f"there is no notifier {name}; {near + ' ' if near else ''}{there}"])


def _sender(settings: Settings, name: str, module: AnyNotifier) -> Sender:
    from warren.notifier.links import pages  # noqa: PLC0415
    from warren.notifier.senders import sender  # noqa: PLC0415

    return sender(name, module, pages(settings), settings.path)


def _shown(console: Console, sender: Sender, message: Message, module: AnyNotifier, *, dry_run: bool) -> bool:
    """Whether it was sent, or --dry-run is set."""
    from warren.notifier.senders import DeliveryError  # noqa: PLC0415

    console.print(_title(message, module))
    try:
        draft = sender.draft(message)
    except DeliveryError as error:
        console.print(_verdict("✗ not sent", "red", str(error)))
        return False
    if draft is not None:
        console.print(_panel(draft))
    if dry_run:
        console.print(_verdict("· not sent", "yellow", "--dry-run"))
        return True
    begun = time.monotonic()
    try:
        with console.status("Sending …"):
            answer = sender.send(message, _LIMIT_S)
    except DeliveryError as error:
        again = "It would be retried." if error.retriable else "It would not be retried."
        console.print(_verdict("✗ not delivered", "red", str(error), begun, again))
        return False
    console.print(_verdict("✓ sent", "green", answer, begun))
    return True


def _title(message: Message, module: AnyNotifier) -> Text:
    line = Text(f"notifier.{message.module}", style="bold").append(
        f"  {module.class_name}  ", style="not bold dim"
    )
    line.append(
        f"{message.kind} message: {message.result.group} on {message.result.cluster} is ", style="not bold"
    )
    return line.append_text(coloured(message.result.status))


def _panel(draft: Draft) -> Panel:
    head = Text("\n").join([_head_line(number, line) for number, line in enumerate(draft.head)])
    parts: list[RenderableType] = [head]
    if draft.body:
        parts += ["", _content(draft.body.strip("\n"))]
    return Panel(Group(*parts), box=box.ROUNDED, border_style="dim", title="what is sent", title_align="left")


def _head_line(number: int, line: str) -> Text:
    if number == 0:
        # a URL may contain a token
        return Text(" ".join(secrecy.address(word) for word in line.split(" ")), style="bold")
    name, colon, value = line.partition(":")
    return Text(name + colon, style="cyan").append(value, style="default")


def _content(body: str) -> RenderableType:
    """JSON in full, whatever its form; other text as it is."""
    try:
        pretty = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return Text(body)
    return Syntax(pretty, "json", theme="ansi_dark", background_color="default", word_wrap=True)


def _verdict(sign: str, colour: str, detail: str, begun: float | None = None, *more: str) -> Text:
    line = Text(sign, style=f"bold {colour}")
    if begun is not None:
        line.append(f" after {(time.monotonic() - begun) * 1000:.0f} ms", style="not bold dim default")
    line.append(f"  {detail}", style="not bold default")
    for sentence in more:
        line.append(f"\n  {sentence}", style="not bold dim default")
    return line
