"""The frame of the command line: quick help, plain errors, honest exit codes."""

import importlib.machinery
import subprocess
import sys
import types

import pytest
import typer
from typer.testing import CliRunner

import warren
from warren.cli import main as frame
from warren.cli.main import COMMANDS, app, loaded, main
from warren.errors import ConfigError, WarrenError

RUNNER = CliRunner()


def available() -> list[str]:
    return list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A command of the test's own, in place of `check`."""
    own = types.ModuleType("warren.cli.check")
    own.__spec__ = importlib.machinery.ModuleSpec("warren.cli.check", None)
    monkeypatch.setitem(sys.modules, "warren.cli.check", own)
    return own


def test_version() -> None:
    answer = RUNNER.invoke(app, ["--version"])
    assert (answer.exit_code, answer.output) == (0, f"warren {warren.__version__}\n")


def test_the_overview_has_every_command_and_examples() -> None:
    output = RUNNER.invoke(app, ["--help"]).output
    assert "Examples" in output
    assert [name for name in available() if name not in output] == []


def test_commands_without_a_module_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "COMMANDS", (*COMMANDS, frame.Command("nowhere", "It has no module.")))
    assert "nowhere" not in available()
    assert "check" in available()


@pytest.mark.parametrize("name", available())
def test_every_command_has_examples(name: str) -> None:
    answer = RUNNER.invoke(app, [name, "--help"])
    assert answer.exit_code == 0
    assert "Examples" in answer.output
    assert f"warren {name}" in answer.output


def test_help_imports_no_command() -> None:
    script = (
        "import sys, warren.cli.main as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('pyspark', 'pyarrow', 'numpy', 'pydantic', 'confluent_kafka', 'httpx', 'starlette')\n"
        "print('LOADED', [name for name in heavy if name in sys.modules])\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.rstrip().endswith("LOADED []")


def test_a_misspelt_command_is_guessed() -> None:
    answer = RUNNER.invoke(app, ["chekc"])
    assert answer.exit_code == 2
    assert "Did you mean 'check'?" in answer.output


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            WarrenError("The broker is gone; start it again."),
            1,
            "Error: The broker is gone; start it again.\n",
        ),
        (ConfigError(["a: wrong; mend it", "b: wrong"]), 2, "Error: a: wrong; mend it\nb: wrong\n"),
    ],
    ids=["something is not so", "configuration"],
)
def test_errors_are_one_message(
    module: types.ModuleType, capsys: pytest.CaptureFixture[str], error: WarrenError, code: int, said: str
) -> None:
    def check() -> None:
        raise error

    module.check = check  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as left:
        main(["check"])
    assert left.value.code == code
    assert capsys.readouterr() == ("", said)


def test_faults_of_our_own_are_not_hidden(module: types.ModuleType) -> None:
    def check() -> None:
        raise RuntimeError("a fault")

    module.check = check  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="a fault"):
        main(["check"])


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["check", "--no-such-option"])
    assert left.value.code == 2
    assert "No such option" in capsys.readouterr().err


def test_a_command_may_have_subcommands(module: types.ModuleType) -> None:
    group = typer.Typer()

    @group.command()
    def replay() -> None:
        typer.echo("replayed")

    @group.command()
    def steady() -> None:
        typer.echo("steady")

    module.app = group  # type: ignore[attr-defined]
    assert RUNNER.invoke(app, ["check", "replay"]).output == "replayed\n"
    assert RUNNER.invoke(app, ["check", "steady"]).output == "steady\n"
    assert RUNNER.invoke(app, ["check", "never"]).exit_code == 2


def test_a_command_is_called_by_its_name() -> None:
    assert loaded("check").name == "check"
