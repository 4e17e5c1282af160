"""Warren as a whole, before it is started."""

from __future__ import annotations

from pathlib import Path

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
