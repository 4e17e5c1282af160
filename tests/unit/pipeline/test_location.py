"""A checkpoint that was moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.pipeline.location import CheckpointMovedError, check_location


def made(directory: Path) -> Path:
    checkpoint = directory / "production" / "query"
    checkpoint.mkdir(parents=True)
    check_location(checkpoint)
    return checkpoint


def test_a_checkpoint_that_was_moved_made_the_query_fail_for_ever(tmp_path: Path) -> None:
    old = made(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    with pytest.raises(CheckpointMovedError, match=f"was made at {old}, .* move or mount it there again"):
        check_location(tmp_path / "new" / "production" / "query")
    (tmp_path / "new").rename(tmp_path / "old")
    check_location(old)


def test_a_link_at_the_old_path_is_enough(tmp_path: Path) -> None:
    made(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "old").symlink_to(tmp_path / "new")
    check_location(tmp_path / "new" / "production" / "query")


@pytest.mark.parametrize("left", [b"", b"\n", b"\xff\xfe"])
def test_a_power_cut_left_no_path(tmp_path: Path, left: bytes) -> None:
    checkpoint = made(tmp_path / "old")
    (checkpoint.parent / "location").write_bytes(left)
    check_location(checkpoint)
    assert (checkpoint.parent / "location").read_text() == f"{checkpoint}\n"


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    check_location(tmp_path / "production" / "query")
    assert (tmp_path / "production" / "location").exists()
