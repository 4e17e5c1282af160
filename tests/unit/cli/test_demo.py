"""The demo's check: what it says when somebody stops it before it has an answer."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from warren.cli import demo as module
from warren.cli.main import app
from warren.demo.groups import CAST
from warren.demo.stage import Scene


class Stage:
    """A stage on which nobody has been seen yet."""

    url = "http://127.0.0.1:1"
    traffic = SimpleNamespace(cast=CAST)

    def __init__(self, port: int, seed: int) -> None: ...

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None: ...

    def scenes(self) -> list[Scene]:
        return [Scene(actor, None) for actor in CAST]


def test_a_check_that_is_stopped_before_its_first_look_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()
    asked.set()
    monkeypatch.setattr(module, "Stage", Stage)
    monkeypatch.setattr(module, "stop_asked", lambda: asked)
    # the log of the whole test run stays what it is
    monkeypatch.setattr(module, "configure", lambda _: None)

    ended = CliRunner().invoke(app, ["demo", "--check", "--port", "0"])

    assert ended.exit_code == 1, ended.output
    assert "Stopped after 0 s, before every group had its status." in ended.output
    assert f"{CAST[0].name}: should be" in ended.output
