"""What the lists of topics lack, from the driver to the planner."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.cluster.missing_partitions import MissingPartitions


def test_what_was_told_is_asked_for_until_something_else_is_told(tmp_path: Path) -> None:
    driver, planner = MissingPartitions(tmp_path / "new"), MissingPartitions(tmp_path / "new")
    assert planner.read() == ()
    driver.write([("orders", 3), ("größe", 0)])
    assert planner.read() == (("orders", 3), ("größe", 0))
    driver.write([])
    assert planner.read() == ()


def test_a_start_forgets_what_the_process_before_missed(tmp_path: Path) -> None:
    MissingPartitions(tmp_path).write([("orders", 3)])
    MissingPartitions(tmp_path).write([])
    assert MissingPartitions(tmp_path).read() == ()


@pytest.mark.parametrize("left", ["", "[[", '{"orders": 3}', '[["orders", "x"]]'])
def test_a_file_that_a_power_cut_left_behind_stops_nobody(tmp_path: Path, left: str) -> None:
    (tmp_path / "missing.json").write_text(left)
    assert MissingPartitions(tmp_path).read() == ()


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    MissingPartitions(tmp_path / "file").write([("orders", 3)])
    assert MissingPartitions(tmp_path / "file").read() == ()
