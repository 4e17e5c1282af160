"""What the lists of topics lack, from the driver to the planner."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.cluster.missing import MissingPlaces


def test_what_was_told_is_asked_for_until_something_else_is_told(tmp_path: Path) -> None:
    driver, planner = MissingPlaces(tmp_path / "new"), MissingPlaces(tmp_path / "new")
    assert planner.asked() == ()
    driver.tell([("orders", 3), ("größe", 0)])
    assert planner.asked() == (("orders", 3), ("größe", 0))
    driver.tell([])
    assert planner.asked() == ()


def test_a_start_forgets_what_the_process_before_missed(tmp_path: Path) -> None:
    MissingPlaces(tmp_path).tell([("orders", 3)])
    MissingPlaces(tmp_path).tell([])
    assert MissingPlaces(tmp_path).asked() == ()


@pytest.mark.parametrize("left", ["", "[[", '{"orders": 3}', '[["orders", "x"]]'])
def test_a_file_that_a_power_cut_left_behind_stops_nobody(tmp_path: Path, left: str) -> None:
    (tmp_path / "missing.json").write_text(left)
    assert MissingPlaces(tmp_path).asked() == ()


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    MissingPlaces(tmp_path / "file").tell([("orders", 3)])
    assert MissingPlaces(tmp_path / "file").asked() == ()
