"""The plan of a batch survives the process, and one that cannot be read stops nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from warren.sinks.plan import Plan, PlanFile, highest


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = PlanFile(tmp_path / "sink" / "plan.json")
    assert file.read() is None
    file.write(Plan(3, 10, (11, 12)))
    assert file.read() == Plan(3, 10, (11, 12))
    assert Plan(3, 10, (11, 12)).last == 12
    assert Plan(3, 10, ()).last == 10
    assert [path.name for path in (tmp_path / "sink").iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    "text", ["", "{", '{"batch": "x"}', '{"batch":1,"done":1,"samples":[],"version":99}']
)
def test_a_plan_that_cannot_be_used_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    assert PlanFile(tmp_path / "plan.json").read() is None


def test_the_highest_number_of_all_sinks_that_ever_were(tmp_path: Path) -> None:
    assert highest(tmp_path / "none") == 0
    PlanFile(tmp_path / "a" / "plan.json").write(Plan(1, 5, (6,)))
    PlanFile(tmp_path / "b" / "plan.json").write(Plan(1, 3, (4,)))
    assert highest(tmp_path) == 6
