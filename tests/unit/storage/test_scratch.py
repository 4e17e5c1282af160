"""Scratch files: a shortcut that may fail at any time and never lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.storage import scratch


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    return tmp_path / "warren"


def test_what_is_kept_is_found_under_its_token_only(place: Path) -> None:
    scratch.keep("a", (b"places", b"windows"), "")
    found = scratch.find("a")
    assert found is not None
    assert [part.to_pybytes() for part in found] == [b"places", b"windows"]
    assert scratch.find("b") is None


def test_a_new_state_takes_the_place_of_the_old_one(place: Path) -> None:
    scratch.keep("a", (b"1", b"2"), "")
    scratch.keep("b", (b"3", b""), "a")
    assert [path.name for path in place.iterdir()] == ["b"]


def test_a_file_that_is_gone_while_it_is_in_use_can_still_be_read(place: Path) -> None:
    scratch.keep("a", (b"1" * 10_000, b"2"), "")
    found = scratch.find("a")
    scratch.keep("b", (b"3", b"4"), "a")
    assert found is not None
    assert found[0].to_pybytes() == b"1" * 10_000


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "file"))
    scratch.keep("a", (b"1", b"2"), "")
    assert scratch.find("a") is None
