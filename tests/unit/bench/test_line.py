"""The line between a benchmark and its processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import alive, eventually

from warren.bench import line
from warren.bench.line import BenchError, Child

ECHO = "tests.unit.bench.echo"


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    with Child(ECHO, {"number": 7}, tmp_path) as running:
        yield running


def test_the_child_gets_its_task_and_what_it_prints_is_not_on_the_line(child: Child) -> None:
    assert child.hear("task")["task"] == {"number": 7}


def test_commands_are_answered_and_what_comes_before_goes_to_the_other(child: Child) -> None:
    others: list[dict[str, Any]] = []
    child.ask("say", text="grüß dich")
    assert child.hear("said", other=others.append)["text"] == "grüß dich"
    assert [each["event"] for each in others] == ["task"]


def test_what_the_child_cannot_do_is_an_error_here(child: Child) -> None:
    child.ask("fail")
    with pytest.raises(BenchError, match="it cannot be done"):
        child.hear("said")


def test_a_child_that_ends_leaves_its_last_words(child: Child) -> None:
    child.ask("crash")
    with pytest.raises(BenchError, match="ended before 'said': the last words"):
        child.hear("said")


def test_silence_is_an_error_that_names_what_did_not_come(child: Child) -> None:
    with pytest.raises(BenchError, match="'said' within 0 s"):
        child.hear("said", timeout_s=0.2)


def test_nothing_is_left_of_a_child_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "GRACE_S", 0.5)
    with Child(ECHO, {}, tmp_path) as child:
        child.ask("beget")
        offspring = child.hear("begot")["pid"]
        child.ask("hang")
        child.hear("hangs")
        assert alive(offspring)
    assert eventually(lambda: not alive(child.pid) and not alive(offspring), within_s=5)
