"""A power cut left files of Spark's empty, and a stop left a plan that could not be read without the brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.pipeline.unfinished import forget_unfinished, remove_torn_files

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"version":3}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


def checkpoint(directory: Path, *, offsets: dict[int, str], commits: dict[int, str]) -> Path:
    for name, files in (("offsets", offsets), ("commits", commits)):
        (directory / name).mkdir()
        for number, content in files.items():
            (directory / name / str(number)).write_text(content)
            (directory / name / f".{number}.crc").write_text("")
    return directory


def with_state(checkpoint: Path, *versions: int) -> Path:
    """State that was stored; trigger 7 stores version 8."""
    for task in ("0", "1"):
        (checkpoint / "state" / "0" / task).mkdir(parents=True)
        for version in versions:
            for suffix in ("zip", "changelog"):
                (checkpoint / "state" / "0" / task / f"{version}.{suffix}").write_text("")
    return checkpoint


def versions(checkpoint: Path) -> set[str]:
    return {path.name for path in (checkpoint / "state").glob("*/*/*")}


def left(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.glob("[oc]*/*") if path.suffix != ".crc"}


@pytest.mark.parametrize("torn", ["", "v1", 'v1\n{"batchWa', 'v1\n{"batchWatermarkMs":0}\n{"vers', "\0\0\0"])
def test_offsets_that_were_cut_off_go_with_their_commit(tmp_path: Path, torn: str) -> None:
    with_state(checkpoint(tmp_path, offsets={7: OFFSETS, 8: torn}, commits={7: COMMIT, 8: COMMIT}), 8, 9)
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "commits/7"}
    assert not (tmp_path / "offsets" / ".8.crc").exists()
    assert versions(tmp_path) == {"8.zip", "8.changelog"}


def test_a_commit_that_was_cut_off_goes_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS}, commits={7: COMMIT, 8: ""})
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7"}


def test_a_commit_that_was_cut_off_goes_with_the_plan_that_followed_it(tmp_path: Path) -> None:
    with_state(
        checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS, 9: OFFSETS}, commits={7: COMMIT, 8: ""}),
        8,
        9,
        10,
    )
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7"}
    assert versions(tmp_path) == {"8.zip", "8.changelog", "9.zip", "9.changelog"}


def test_both_files_of_the_newest_trigger_and_the_commit_before_were_cut_off(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets={7: OFFSETS, 8: "", 9: ""}, commits={7: COMMIT, 8: ""})
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "commits/7"}


def test_a_trigger_that_was_under_way_is_left_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS}, commits={7: COMMIT})
    remove_torn_files(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7"}


def test_a_trigger_that_was_cut_off_is_planned_afresh(tmp_path: Path) -> None:
    with_state(checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS}, commits={7: COMMIT}), 8, 9)
    forget_unfinished(tmp_path)
    assert left(tmp_path) == {"offsets/7", "commits/7"}
    assert not (tmp_path / "offsets" / ".8.crc").exists()
    # another state will be stored under that number
    assert versions(tmp_path) == {"8.zip", "8.changelog"}


def test_a_trigger_that_is_done_stays(tmp_path: Path) -> None:
    with_state(checkpoint(tmp_path, offsets={7: OFFSETS, 8: OFFSETS}, commits={7: COMMIT, 8: COMMIT}), 8, 9)
    forget_unfinished(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7", "commits/8"}
    assert versions(tmp_path) == {"8.zip", "8.changelog", "9.zip", "9.changelog"}


def test_the_very_first_trigger_stays_since_it_says_where_reading_begins(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets={0: OFFSETS}, commits={})
    forget_unfinished(tmp_path)
    assert left(tmp_path) == {"offsets/0"}


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    remove_torn_files(tmp_path / "none")
    forget_unfinished(tmp_path / "none")
    assert not (tmp_path / "none").exists()
