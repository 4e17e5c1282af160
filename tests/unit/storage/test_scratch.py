"""Scratch files: a shortcut that may fail at any time and never lies."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from warren.common import frames
from warren.storage.scratch import Scratch

ROWS = pa.record_batch({"offset": pa.array(range(100))})
A, B = uuid.uuid4().hex, uuid.uuid4().hex


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    return tmp_path / "warren"


@pytest.fixture
def scratch() -> Scratch:
    return Scratch("production")


def test_what_is_kept_is_found_under_its_token_and_bucket_only(place: Path, scratch: Scratch) -> None:
    scratch.keep(7, A, b"places", ROWS)
    found = scratch.find(7, A)
    assert found is not None
    assert found[0].to_pybytes() == b"places"
    assert frames.unpack(found[1]) == ROWS
    assert scratch.find(7, B) is None
    assert scratch.find(8, A) is None
    assert Scratch("staging").find(7, A) is None


def test_triggers_that_failed_left_files_behind_for_ever(place: Path, scratch: Scratch) -> None:
    for _ in range(5):
        scratch.keep(7, uuid.uuid4().hex, b"1", ROWS)
    assert [path.name for path in place.iterdir()] == ["production-7"]


def test_a_file_that_is_written_over_while_it_is_in_use_can_still_be_read(
    place: Path, scratch: Scratch
) -> None:
    scratch.keep(7, A, b"1" * 10_000, ROWS)
    found = scratch.find(7, A)
    scratch.keep(7, B, b"3", ROWS)
    assert found is not None
    assert found[0].to_pybytes() == b"1" * 10_000


@pytest.mark.parametrize(
    "left", [b"", A.encode()[:9], A.encode()], ids=["nothing", "half of the identity", "the identity alone"]
)
def test_a_file_that_a_power_cut_left_short_is_not_taken(place: Path, scratch: Scratch, left: bytes) -> None:
    place.mkdir()
    (place / "production-7").write_bytes(left)
    assert scratch.find(7, A) is None


def test_a_disk_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scratch: Scratch
) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "file"))
    scratch.keep(7, A, b"1", ROWS)
    assert scratch.find(7, A) is None
