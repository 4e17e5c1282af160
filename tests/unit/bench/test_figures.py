"""Figures, their targets, and reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from warren.bench.figures import Better, Figure, Report, percentiles


class Case(NamedTuple):
    name: str
    value: float
    target: float | None
    better: Better
    reached: bool | None


CASES = [
    Case("below a limit", 1.4, 1.5, Better.LOWER, True),
    Case("at a limit", 1.5, 1.5, Better.LOWER, True),
    Case("above a limit", 1.6, 1.5, Better.LOWER, False),
    Case("above a demand", 0.8, 0.7, Better.HIGHER, True),
    Case("at a demand", 0.7, 0.7, Better.HIGHER, True),
    Case("below a demand", 0.6, 0.7, Better.HIGHER, False),
    Case("for information", 0.6, None, Better.LOWER, None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_target_is_reached_or_missed(case: Case) -> None:
    assert Figure("x", case.value, "s", case.target, case.better).reached is case.reached


def _report(*figures: Figure) -> Report:
    return Report(
        "steady", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), {"rate": 10}, figures, {"cores": 2}, {"raw": [1]}
    )


def test_a_report_reaches_its_targets_when_none_is_missed() -> None:
    assert _report(Figure("a", 1, target=2), Figure("b", 9)).reached
    assert not _report(Figure("a", 1, target=2), Figure("b", 9, target=2)).reached


def test_a_report_is_kept_as_json_under_its_name_and_time(tmp_path: Path) -> None:
    path = _report(Figure("a", 1, "s", 2)).save(tmp_path / "new")
    assert path.name == "steady-20260102T030405Z.json"
    kept = json.loads(path.read_text())
    assert kept["figures"] == [
        {"name": "a", "value": 1, "unit": "s", "target": 2, "better": "at most", "reached": True}
    ]
    assert kept["sizes"] == {"rate": 10}
    assert kept["machine"] == {"cores": 2}
    assert kept["detail"] == {"raw": [1]}


def test_percentiles_come_with_the_count_and_the_greatest() -> None:
    assert percentiles(range(101), 50, 99) == {"count": 101, "p50": 50, "p99": 99, "max": 100}
    assert percentiles([], 50) == {}
