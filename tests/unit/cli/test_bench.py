"""`warren bench` without a broker: its table, its help, and what it says when it cannot run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from warren.bench.figures import Better, Figure, Report
from warren.cli.bench import table
from warren.cli.main import main

REPORT = Report(
    "replay",
    datetime(2026, 1, 1, tzinfo=UTC),
    {},
    [
        Figure("rate", 577_000, "records/s"),
        Figure("warm", 0.75, "x", 0.7, Better.HIGHER),
        Figure("cold", 2.5, "x", 15 / 7),
    ],
    {"cores": 2, "load_before": [0.1, 0.2, 0.3]},
)


def test_the_table_has_figures_targets_and_whether_they_are_reached() -> None:
    console = Console(width=120)
    with console.capture() as caught:
        console.print(table(REPORT))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in caught.get().splitlines()]
    assert ["rate", "577,000 records/s", "", ""] in rows
    assert ["warm", "0.75 x", "at least 0.7 x", "yes"] in rows
    assert ["cold", "2.5 x", "at most 2.14 x", "no"] in rows
    assert "2 cores, load before 0.1, 0.2, 0.3" in caught.get()


@pytest.mark.parametrize("command", ["replay", "steady", "scale", "api", "all", ""])
def test_every_benchmark_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *command.split(), "--help"])
    assert ended.value.code == 0
    assert "--results" in capsys.readouterr().out


def test_without_java_it_says_so_and_leaves_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit) as ended:
        main(["bench", "steady", "--results", str(tmp_path / "results")])
    assert ended.value.code == 1
    assert "JAVA_HOME" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
