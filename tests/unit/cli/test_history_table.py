"""Answers in the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from warren.cli.history_table import bar, duration, share, sparkline, table
from warren.history.answers import Answer, Column, Kind, Strip
from warren.history.period import Grid, Period


def shown(answer: Answer) -> str:
    console = Console(file=io.StringIO(), width=200, record=True, highlight=False)
    console.print(table(answer))
    return console.export_text()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.4, "0 s"), (59, "59 s"), (60, "1 min"), (3661, "1 h 1 min"), (86_400, "1 d"), (90_000, "1 d 1 h"),
     (86_410, "1 d")],
)  # fmt: skip
def test_durations_have_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0.0%"), (0.0001, "<0.1%"), (0.5, "50.0%"), (0.99961, "99.9+%"), (1, "100.0%")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(value: float, words: str) -> None:
    assert share(value) == words


def test_bars_and_sparklines() -> None:
    assert bar(0, 10) == ""
    assert bar(10, 10) == "█" * 12
    assert bar(0.001, 10) == "▏"
    assert bar(5, 10, width=4) == "██"
    assert sparkline(Strip("a", [0, None, 7, 14])).plain == "▁ ▅█"
    assert sparkline(Strip("a", [0, 0])).plain == "▁▁"
    # the greatest and worst of the steps that share a character
    narrow = sparkline(Strip("a", [0, 9, 1, 1], ["OK", "ERR", "OK", None]), width=2)
    assert narrow.plain == "█▂"
    assert [span.style for span in narrow.spans] == ["red", "green"]


def test_hostile_names_are_text() -> None:
    name = "[red]x[/red]\x1b[2J\r"
    columns = [Column("group", Kind.TEXT), Column("status", Kind.STATUS)]
    found = shown(Answer(f"Group {name}", columns, [(name, "OK"), (name, "[red]")]))
    assert "[red]x[/red]\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}" in found
    assert "\x1b" not in found


def test_what_is_spare_and_what_is_not_known() -> None:
    columns = [
        Column("cluster", Kind.TEXT, spare=True),
        Column("lag", Kind.COUNT, "greatest lag", bar=True),
        Column("rate", Kind.RATE),
        Column("time", Kind.TIME),
    ]
    grid = Grid(0, 60_000, 2)
    answer = Answer(
        "Title", columns, [("east", 12_345, None, 0)], Period(0, 120_000), grid, notes=["A note."]
    )
    found = shown(answer)
    assert "east" not in found
    assert "greatest lag" in found
    assert "12,345  ████████████  " in found
    assert "A note." in found


def test_no_rows_are_said() -> None:
    assert "no rows" in shown(Answer("Title", [Column("a", Kind.ANY)], []))
