"""A stop left a plan that could not be read without the brokers."""

from __future__ import annotations

from pathlib import Path

from warren.pipeline.unfinished import forget_unfinished


def checkpoint(directory: Path, *, offsets: tuple[int, ...], commits: tuple[int, ...]) -> Path:
    for name, numbers in (("offsets", offsets), ("commits", commits)):
        (directory / name).mkdir()
        for number in numbers:
            (directory / name / str(number)).write_text("v1\n{}")
            (directory / name / f".{number}.crc").write_text("")
    return directory


def with_state(checkpoint: Path, *versions: int) -> None:
    """State that was stored; trigger 7 stores version 8."""
    for task in ("0", "1"):
        (checkpoint / "state" / "0" / task).mkdir(parents=True)
        for version in versions:
            for suffix in ("zip", "changelog"):
                (checkpoint / "state" / "0" / task / f"{version}.{suffix}").write_text("")


def versions(checkpoint: Path) -> set[str]:
    return {path.name for path in (checkpoint / "state").glob("*/*/*")}


def left(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.glob("[oc]*/*") if path.suffix != ".crc"}


def test_a_trigger_that_was_cut_off_is_planned_afresh(tmp_path: Path) -> None:
    with_state(checkpoint(tmp_path, offsets=(7, 8), commits=(7,)), 8, 9)
    forget_unfinished(tmp_path)
    assert left(tmp_path) == {"offsets/7", "commits/7"}
    assert not (tmp_path / "offsets" / ".8.crc").exists()
    # another state will be stored under that number
    assert versions(tmp_path) == {"8.zip", "8.changelog"}


def test_a_trigger_that_is_done_stays(tmp_path: Path) -> None:
    with_state(checkpoint(tmp_path, offsets=(7, 8), commits=(7, 8)), 8, 9)
    forget_unfinished(tmp_path)
    assert left(tmp_path) == {"offsets/7", "offsets/8", "commits/7", "commits/8"}
    assert versions(tmp_path) == {"8.zip", "8.changelog", "9.zip", "9.changelog"}


def test_the_very_first_trigger_stays_since_it_says_where_reading_begins(tmp_path: Path) -> None:
    checkpoint(tmp_path, offsets=(0,), commits=())
    forget_unfinished(tmp_path)
    assert left(tmp_path) == {"offsets/0"}


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    forget_unfinished(tmp_path / "none")
    assert not (tmp_path / "none").exists()
