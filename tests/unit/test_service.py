"""Warren as a whole: its settings, and the order of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from warren.config import load
from warren.errors import ConfigError
from warren.service import Service


def service(tmp_path: Path, more: str) -> Service:
    (tmp_path / "burrow.toml").write_text(f"[spark]\ncheckpoint-dir = '{tmp_path}'\n{more}")
    return Service(load(tmp_path, {}))


def test_every_mistake_of_the_templates_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "open.tmpl").write_text("{{.Gruop}}\n{{.Clutser}}\n")
    with pytest.raises(ConfigError) as error:
        service(tmp_path, "[notifier.n]\nclass-name = 'null'\ntemplate-open = 'open.tmpl'\n")
    assert len(error.value.problems) == 2
    for line, word in enumerate(("Gruop", "Clutser"), 1):
        assert f"open.tmpl, line {line}: " in error.value.problems[line - 1]
        assert word in error.value.problems[line - 1]


def test_a_template_beside_the_configuration_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open.tmpl").write_text("{{.Group}}\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    notifier = "class-name = 'http'\nurl-open = 'http://a.example.com'\ntemplate-open = 'open.tmpl'\n"
    service(tmp_path, f"[notifier.n]\n{notifier}")


def test_without_notifiers_there_is_nothing_to_start(tmp_path: Path) -> None:
    assert service(tmp_path, "").urls == {}


class Recorder:
    """Stands for a part of Warren, and notes what is called."""

    def __init__(self, name: str, calls: list[str], failing: str = "") -> None:
        self._name, self._calls, self._failing = name, calls, failing

    def start(self) -> None:
        self._call("start")

    def stop(self) -> None:
        self._call("stop")

    def expect_stop(self) -> None:
        self._call("expect")

    def _call(self, what: str) -> None:
        self._calls.append(f"{what} {self._name}")
        if self._calls[-1] == self._failing:
            raise RuntimeError(self._failing)


def with_parts(tmp_path: Path, failing: str = "") -> tuple[Service, list[str]]:
    made = service(tmp_path, "")
    calls: list[str] = []
    made._parts = tuple(Recorder(name, calls, failing) for name in ("server", "engine", "notifier"))
    return made, calls


def test_parts_stop_in_the_reverse_order_of_their_start(tmp_path: Path) -> None:
    made, calls = with_parts(tmp_path)
    with made:
        assert calls == ["start server", "start engine", "start notifier"]
    assert calls[3:] == ["stop notifier", "stop engine", "stop server"]


def test_a_signal_to_all_processes_failed_queries_while_the_notifier_was_stopped(tmp_path: Path) -> None:
    made = service(tmp_path, "[sink.s]\nclass-name = 'parquet'\npath = 'history'\n")
    calls: list[str] = []
    made._parts = (Recorder("notifier", calls),)
    made.engine._queries["c"] = cast("Any", Recorder("cluster", calls))
    assert made.sinks is not None
    made.sinks._queries["s"] = cast("Any", Recorder("sink", calls))
    with made:
        calls.clear()
    # what fails from then on is no failure
    assert calls == ["expect cluster", "expect sink", "stop notifier"]


def test_the_parts_before_one_that_cannot_start_are_stopped(tmp_path: Path) -> None:
    made, calls = with_parts(tmp_path, "start notifier")
    with pytest.raises(RuntimeError), made:
        pass
    assert calls[3:] == ["stop engine", "stop server"]


def test_a_part_that_fails_to_stop_does_not_keep_the_others_running(tmp_path: Path) -> None:
    made, calls = with_parts(tmp_path, "stop notifier")
    with pytest.raises(RuntimeError), made:
        pass
    assert calls[3:] == ["stop notifier", "stop engine", "stop server"]


def test_the_engine_starts_after_the_server_and_stops_before_it(tmp_path: Path) -> None:
    made = service(tmp_path, "[notifier.n]\nclass-name = 'null'\n")
    assert made._parts == (made._server, made.engine, made._notifier)
