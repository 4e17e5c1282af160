"""`warren lab` in fast-forward: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warren.cli.main import main
from warren.lab import trace_plan
from warren.lab.plan import Target

FEW = ["--quick", "--only", "rewound once", "--only", "idle at the head"]
TRACES = ["--traces", str(Path(__file__).parents[2] / "data" / "traces")]


def ended(arguments: list[str]) -> int:
    """The exit code of `warren lab`."""
    with pytest.raises(SystemExit) as end:
        main(["lab", *arguments])
    return int(end.value.code or 0)


def test_it_shows_targets_classes_and_ways_and_writes_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, picture, table = tmp_path / "lab.json", tmp_path / "lab.svg", tmp_path / "table.md"
    files = ["--json", str(figures), "--plot", str(picture), "--markdown", str(table)]
    assert ended([*FEW, *files, "--check"]) == 0

    shown = capsys.readouterr().out
    for word in ("Targets", "kept", "Classes", "rewound once", "Polling settings", "looks every 5 s"):
        assert word in shown
    found = json.loads(figures.read_text())
    assert {each["class"] for each in found["classes"]} >= {"rewound once", "idle at the head"}
    assert {each["judge"] for each in found["classes"]} == {"trend", "caching", "burrow", "threshold"}
    assert picture.read_text().startswith("<svg")
    assert table.read_text().startswith("| consumer |")


def test_long_runs_have_tables_of_their_own_and_say_when_a_target_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, table = tmp_path / "long.json", tmp_path / "long.md"
    arguments = ["--long", "--quick", "--only", "job every", "--json", str(figures), "--markdown", str(table)]
    ended_with = ended([*arguments, "--check"])

    shown = capsys.readouterr().out
    for word in ("Targets", "flap per group", "Healthy", "job every 60 min"):
        assert word in shown
    found = json.loads(figures.read_text())
    assert {each["class"] for each in found["classes"]} == {"job every 15 min", "job every 60 min"}
    assert table.read_text().startswith("| consumer | false alarms: trend |")
    assert ended_with == (0 if all(each["kept"] for each in found["targets"]) else 1)


def test_figures_alone_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended([*FEW, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "nonesuch"], "no class matches nonesuch; there are"),
        (["--plot", "lab.gif"], "lab.gif is not an SVG file: give a name that ends in .svg"),
        (["--long", "--only", "nonesuch"], 'there are "random service'),
        (["--long", "--plot", "lab.svg"], "--long draws no picture: leave out --plot"),
        ([*FEW, "--json", "/dev/null/lab.json"], "cannot write /dev/null/lab.json"),
        (["--traces", "/dev/null"], "/dev/null is not a directory"),
        ([*TRACES, "--quick"], "leave out --only, --quick, --long and --live"),
        (
            [*TRACES, "--draw", "x@00:01-00:09"],
            "--draw makes a picture of traces only: give --traces DIR and --plot",
        ),
        (
            [*TRACES, "--plot", "a.svg", "--draw", "x@00:01-00:09"],
            "there is no trace x; there are operator_cars",
        ),
    ],
    ids=[
        "no such class",
        "no such picture",
        "no such long class",
        "no long picture",
        "no such directory",
        "no such traces",
        "traces and classes",
        "drawn nowhere",
        "no such trace",
    ],
)
def test_what_it_cannot_do_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(arguments) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("kept", [True, False])
def test_traces_are_shown_and_written_and_their_targets_checked(
    kept: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        trace_plan, "targets", lambda found: [Target("a promise", f"{found.long} troubles", kept)]
    )
    figures, picture, table = tmp_path / "lab.json", tmp_path / "lab.svg", tmp_path / "table.md"
    files = ["--json", str(figures), "--plot", str(picture), "--markdown", str(table)]
    assert ended([*TRACES, "--cadence", "ckpt60", "--seed", "7", *files, "--check"]) == (0 if kept else 1)

    shown = capsys.readouterr().out
    for word in ("a promise", "5 troubles", "kept" if kept else "MISSED", "Burrow", "commits ckpt60, seed 7"):
        assert word in shown
    found = json.loads(figures.read_text())
    assert list(found["judges"]) == ["trend", "caching", "burrow", "threshold", "klag", "best threshold"]
    assert (found["cadence"], found["seed"], found["judges"]["trend"]["long_troubles"]) == ("ckpt60", 7, 5)
    assert picture.read_text().startswith("<svg")
    assert table.read_text().startswith("| | trend |")


def test_stretches_of_traces_are_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "stretch.svg"
    stretches = ["--draw", "operator_cars@00:03-00:10", "--draw", "operator_cars@00:12-00:17"]
    assert ended([*TRACES, *stretches, "--plot", str(picture)]) == 0
    assert picture.read_text().count("<g ") == 2
