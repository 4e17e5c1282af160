"""Telegraf's patterns: what they match, and what is wrong with those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.config import examine, load
from warren.config.globs import compiled
from warren.config.patterns import PatternError


@pytest.mark.parametrize(
    ("glob", "fits", "does_not"),
    [
        ("team-*", ["team-", "team-a/b"], ["my-team-a", "team"]),
        ("a?c", ["abc", "a.c"], ["ac", "abbc"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a-c]x", ["dx"], ["ax"]),
        ("{app,web}-*", ["app-1", "web-"], ["db-1", "app"]),
        ("a.b", ["a.b"], ["axb"]),
        (r"a\*", ["a*"], ["ab"]),
        ("a,b}", ["a,b}"], ["a"]),
        ("**", ["", "anything"], []),
    ],
)
def test_a_pattern_fits_whole_names(glob: str, fits: list[str], does_not: list[str]) -> None:
    assert [name for name in (*fits, *does_not) if compiled(glob).matches(name)] == fits


@pytest.mark.parametrize("glob", ["[a-", "{a,b", "[z-a]"])
def test_a_pattern_that_cannot_be_used_says_why(glob: str) -> None:
    with pytest.raises(PatternError):
        compiled(glob)


SINK = '[cluster.c]\nservers=["a:9092"]\n[sink.s]\nclass-name = "parquet"\npath = "x"\n'


@pytest.mark.parametrize("key", ["groups_include", "groups-include"])
def test_telegraf_s_spelling_is_understood(tmp_path: Path, key: str) -> None:
    (tmp_path / "burrow.toml").write_text(SINK + f'{key} = ["team-*"]\n')
    settings = load(tmp_path, {})
    assert [str(each) for each in settings.sink["s"].groups_include] == ["team-*"]
    assert not [each for each in settings.warnings if "sink" in each]


def test_a_wrong_pattern_is_reported_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").write_text(SINK + 'topics_exclude = ["[a"]\n')
    (problem,) = examine(tmp_path, {}).errors
    assert problem.key == "sink.s.topics-exclude"
    assert "[ is never closed" in problem.what
