"""Burrow's own verdicts on 500 random windows: all of them are ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.verdict import RuleSettings, digest, judge
from warren.storage.windows import Windows

CASES: Final[list[dict[str, Any]]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "windows" / "captured.jsonl").read_text().splitlines()
]


def window(case: dict[str, Any]) -> Windows:
    made = Windows.empty(1, case["intervals"])
    for column, entry in enumerate(case["window"]):
        if entry is not None:
            made.offset[0, column] = entry["offset"]
            made.timestamp[0, column] = entry["timestamp"]
            made.observed_at[0, column] = entry["observedAt"]
            made.lag[0, column] = UNKNOWN if entry["lag"] is None else entry["lag"]
            made.order[0, column] = column
    return made


def test_the_cases_are_all_here_and_of_every_status() -> None:
    assert len(CASES) == 500
    assert {case["status"] for case in CASES} == {"OK", "WARN", "STOP", "STALL", "REWIND"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['kind']}")
def test_verdict_is_burrows(case: dict[str, Any]) -> None:
    verdict = judge(
        digest(window(case), case["allowed_lag"]),
        np.array(case["broker_ring"][-1:]),
        np.array([min(case["broker_ring"])]),
        case["evaluated_at_ms"],
        RuleSettings(case["intervals"], case["allowed_lag"], case["minimum_complete"]),
    )

    assert Status(verdict.status[0]).name == case["status"]
    assert int(verdict.current_lag[0]) == case["current_lag"]
    # Burrow writes the shortest decimal of a single-precision number
    assert float(str(verdict.complete[0])) == case["complete"]
