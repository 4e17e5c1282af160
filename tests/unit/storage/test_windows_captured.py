"""Windows that a real Burrow kept of 500 random histories, made again from the commits that it read."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage.windows import Commits, Windows, place

CASES: Final[list[dict[str, Any]]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "windows" / "captured.jsonl").read_text().splitlines()
]

# Burrow stamps `observedAt` a moment after the log line that `seen_ms` was taken from, in whole seconds.
# These are the two commits of all where a second began in between: seen at ...062998, observed at ...063000.
STAMPED_LATER_MS: Final = {("b-0269", 1794729062998): 2, ("b-0501", 1794729062998): 2}

# offset, timestamp, observed at, lag
Slot = tuple[int, int, int, int | None]


def head_before(case: dict[str, Any], seen_ms: int) -> int:
    """The head that Burrow had stored last when it read a commit."""
    return int([head["offset"] for head in case["broker_offsets"] if head["at_ms"] <= seen_ms][-1])


def history(row: int, case: dict[str, Any]) -> list[tuple[int, ...]]:
    """The commits as they were read, with the lags Burrow gave them: none to one that was not the newest."""
    rows: list[tuple[int, ...]] = []
    newest = EMPTY
    for commit in case["commits_written"]:
        lag = max(head_before(case, commit["seen_ms"]) - commit["offset"], 0)
        known = lag if commit["order"] > newest else UNKNOWN
        newest = max(newest, commit["order"])
        observed_at = commit["seen_ms"] + STAMPED_LATER_MS.get((case["id"], commit["seen_ms"]), 0)
        rows.append(
            (row, commit["offset"], commit["timestamp"], observed_at, known, UNKNOWN, commit["order"])
        )
    return rows


def arrays(rows: list[tuple[int, ...]]) -> Commits:
    return Commits(*np.array(rows, dtype=np.int64).reshape(-1, 7).T.copy())


def slots(windows: Windows, row: int) -> list[Slot | None]:
    """A window as Burrow shows it: times of observation in whole seconds, unknown lags as nothing."""
    return [
        None
        if windows.order[row, column] == EMPTY
        else (
            int(windows.offset[row, column]),
            int(windows.timestamp[row, column]),
            int(windows.observed_at[row, column]) // 1000 * 1000,
            None if windows.lag[row, column] == UNKNOWN else int(windows.lag[row, column]),
        )
        for column in range(windows.intervals)
    ]


def recorded(case: dict[str, Any]) -> list[Slot | None]:
    """The window as captured."""
    return [
        entry and (entry["offset"], entry["timestamp"], entry["observedAt"], entry["lag"])
        for entry in case["window"]
    ]


def differing(cases: list[dict[str, Any]], windows: Windows) -> list[str]:
    return [case["id"] for row, case in enumerate(cases) if slots(windows, row) != recorded(case)]


def settings(case: dict[str, Any]) -> tuple[int, int]:
    return case["intervals"], case["min_distance"] * 1000


def in_order(case: dict[str, Any]) -> bool:
    orders = [commit["order"] for commit in case["commits_written"]]
    return orders == sorted(orders)


def test_all_the_cases_are_here() -> None:
    assert len(CASES) == 500
    assert len({case["id"] for case in CASES}) == 500
    # every kind of history is in the set, else the tests below show less than they say
    assert sum(not in_order(case) for case in CASES) == 33
    assert {settings(case) for case in CASES} == {(10, 0), (5, 2000)}


@pytest.mark.parametrize(("intervals", "min_distance_ms"), [(10, 0), (5, 2000)])
def test_histories_in_order_come_out_as_burrow_kept_them_in_one_batch(
    intervals: int, min_distance_ms: int
) -> None:
    cases = [case for case in CASES if settings(case) == (intervals, min_distance_ms) and in_order(case)]
    batch = arrays([commit for row, case in enumerate(cases) for commit in history(row, case)])

    windows, changed = place(Windows.empty(len(cases), intervals), batch, min_distance_ms)

    assert differing(cases, windows) == []
    assert changed.all()


@pytest.mark.parametrize(("intervals", "min_distance_ms"), [(10, 0), (5, 2000)])
def test_every_history_comes_out_as_burrow_kept_it_commit_by_commit(
    intervals: int, min_distance_ms: int
) -> None:
    """Read out of order (from two partitions of the offsets topic), the order of reading matters too."""
    cases = [case for case in CASES if settings(case) == (intervals, min_distance_ms)]
    read = [
        (step, commit) for row, case in enumerate(cases) for step, commit in enumerate(history(row, case))
    ]
    windows = Windows.empty(len(cases), intervals)
    for _, steps in groupby(sorted(read), key=lambda item: item[0]):
        windows, _ = place(windows, arrays([commit for _, commit in steps]), min_distance_ms)

    assert differing(cases, windows) == []
