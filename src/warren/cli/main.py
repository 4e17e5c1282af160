"""The command line: `warren COMMAND`, its help, its version and its errors."""

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

import warren
from warren.errors import WarrenError


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its module and its line in the overview."""

    # the module in warren.cli holds a function of this name, or `app` (a typer.Typer) when it has subcommands
    name: str
    summary: str
    panel: str = "Watch"

    @property
    def module(self) -> str:
        """The full name of its module."""
        return f"warren.cli.{self.name.replace('-', '_')}"


# one line per command, in the order of the overview; those whose module is not there are left out
COMMANDS: Final = (
    Command("run", "Monitor the clusters of a configuration and serve Burrow's API."),
    Command("status", "Show the groups of a running server, worst first."),
    Command("history", "Ask the history: the worst groups, lag over time, availability, SQL."),
    Command("check", "Check a configuration without starting anything."),
    Command("notify-test", "Send a sample through a notifier and show what happened."),
    Command("explain", "Explain why a window has its status."),
    Command("demo", "See it all at once: a broker, groups in trouble, and their verdicts.", "Try"),
    Command("broker", "Run a real Kafka broker on this machine.", "Try"),
    Command("traffic", "Run producers and consumer groups of every status on a Kafka cluster.", "Try"),
    Command("lab", "Test the verdicts on traffic with known verdicts.", "Try"),
    Command("bench", "Measure the pipeline on this machine.", "Try"),
)


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they run, so that the overview is fast."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for command in COMMANDS:
            if importlib.util.find_spec(command.module) is not None:
                self.commands[command.name] = TyperCommand(
                    command.name, help=command.summary, rich_help_panel=command.panel
                )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The real command in place of the overview's line."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and loaded(str(name)), rest


def loaded(name: str) -> Any:
    """The command itself, from its module."""
    command = next(command for command in COMMANDS if command.name == name)
    module = importlib.import_module(command.module)
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(**_STYLE)
        app.command(name)(getattr(module, name.replace("-", "_")))
    real = typer.main.get_command(app)
    real.name = name
    return real


# common settings of all commands
_STYLE: Final[dict[str, Any]] = {
    "rich_markup_mode": "rich",
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(cls=LazyGroup, name="warren", no_args_is_help=True, **_STYLE)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"warren {warren.__version__}")
        raise typer.Exit


@app.callback()
def overview(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Warren tells you which Kafka consumer groups are in trouble, without thresholds.

    It reads Burrow's configuration and answers Burrow's HTTP API.

    [bold]Examples[/bold]

    [cyan]warren demo[/cyan]                         see it work on this machine

    [cyan]warren check --config-dir config[/cyan]    what is wrong with config/burrow.toml

    [cyan]warren run --config-dir config[/cyan]      watch the clusters it names
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: a WarrenError is shown as one message, never as a traceback."""
    try:
        app(arguments, prog_name="warren")
    except WarrenError as error:
        # in one piece: a log line of another thread may come at any time
        typer.echo(typer.style("Error: ", fg=typer.colors.RED, bold=True) + str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
