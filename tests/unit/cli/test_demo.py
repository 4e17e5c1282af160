"""The demo's table at several widths, and what its check says when somebody stops it before it has an answer."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from warren.cli import demo as module
from warren.cli.main import app
from warren.demo.groups import CAST
from warren.demo.stage import Scene


class Stage:
    """A stage on which nobody has been seen yet."""

    url = "http://127.0.0.1:1"
    traffic = SimpleNamespace(cast=CAST)

    history = None

    def __init__(self, port: int, seed: int, **_: object) -> None: ...

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None: ...

    def scenes(self) -> list[Scene]:
        return [Scene(actor, None) for actor in CAST]


def test_a_check_that_is_stopped_before_its_first_look_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = threading.Event()
    stopping.set()
    monkeypatch.setattr(module, "Stage", Stage)
    monkeypatch.setattr(module, "stop_signal", lambda: stopping)
    # the log of the whole test run stays what it is
    monkeypatch.setattr(module, "configure", lambda _: None)

    ended = CliRunner().invoke(app, ["demo", "--check", "--port", "0"])

    assert ended.exit_code == 1, ended.output
    assert "Stopped after 0 s, before every group had its status." in ended.output
    assert f"{CAST[0].name}: should be" in ended.output


@dataclass(frozen=True, slots=True)
class Judged(Scene):
    """A group with the verdict that it was made for, and more lag than it has after a day."""

    status: Any

    @property
    def worst(self) -> Any:
        return self.actor.partition_status

    @property
    def filled(self) -> tuple[int, int]:
        return 5, 5


def shown(width: int) -> list[str]:
    """The table's lines in a terminal of that many columns."""
    scenes: list[Scene] = [
        Judged(actor, SimpleNamespace(status=actor.status, totallag=99_999)) for actor in CAST
    ]
    terminal = Console(width=width, file=io.StringIO(), record=True)
    terminal.print(module.table(scenes, width))
    return terminal.export_text().splitlines()


@pytest.mark.parametrize(("width", "sentences"), [(60, False), (80, False), (100, True), (140, True)])
def test_every_group_has_one_line_with_its_whole_name(width: int, sentences: bool) -> None:
    lines = shown(width)

    # the title, two lines of headings, and a rule
    assert len(lines) == 4 + len(CAST)
    for line, actor in zip(lines[4:], CAST, strict=True):
        assert line.split()[0] == actor.name
        assert (actor.description in line) == sentences
        assert {actor.status.name, actor.partition_status.name, "99,999"} <= set(line.split())
    assert not any("…" in line for line in lines)


def test_a_verdict_that_has_not_come_yet_keeps_its_line() -> None:
    terminal = Console(width=80, file=io.StringIO(), record=True)
    terminal.print(module.table([Scene(actor, None) for actor in CAST], 80))

    assert len(terminal.export_text().splitlines()) == 4 + len(CAST)
