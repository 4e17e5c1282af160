"""A power cut left files of Spark's empty or cut off, and the query failed at every start."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.pipeline.torn_files import remove_torn_files

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"version":3}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


def checkpoint(directory: Path, *, offsets: dict[int, str], commits: dict[int, str]) -> Path:
    for name, files in (("offsets", offsets), ("commits", commits)):
        (directory / name).mkdir()
        for number, content in files.items():
            (directory / name / str(number)).write_text(content)
            (directory / name / f".{number}.crc").write_text("")
    return directory


def left(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.glob("*/*") if path.suffix != ".crc"}


@pytest.mark.parametrize("torn", ["", "v1", 'v1\n{"batchWa', 'v1\n{"batchWatermarkMs":0}\n{"vers', "\0\0\0"])
def test_offsets_that_were_cut_off_go_with_their_commit(tmp_path: Path, torn: str) -> None:
    checkpoint(tmp_path, offsets={7: OFFSETS, 8: torn}, commits={7: COMMIT, 8: COMMIT})
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "commits/7"}
    assert not (tmp_path / "offsets" / ".8.crc").exists()


def test_a_commit_that_was_cut_off_goes_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS}, commits={7: COMMIT, 8: ""})
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7"}


def test_a_trigger_that_was_under_way_is_left_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS}, commits={7: COMMIT})
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7"}


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    remove_torn_files(tmp_path / "none")
    assert not (tmp_path / "none").exists()
