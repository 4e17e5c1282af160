"""Placing many commits at once is placing them one by one, however they come."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warren.common.sentinels import EMPTY
from warren.storage.windows import FIELDS, Commits, Windows, place

ROWS: Final = 3


@dataclass(frozen=True)
class Commit:
    row: int
    offset: int
    timestamp: int
    observed_at: int
    lag: int
    floor: int
    order: int


@dataclass
class Slot:
    offset: int
    timestamp: int
    observed_at: int
    lag: int
    floor: int
    order: int


def naive(windows: list[list[Slot]], commits: list[Commit], intervals: int, min_distance_ms: int) -> None:
    """One commit after the other, by ascending order, as the rules of the windows are written."""
    for commit in sorted(commits, key=lambda commit: commit.order):
        window = windows[commit.row]
        if any(slot.order == commit.order for slot in window):
            continue
        older = [slot for slot in window if slot.order < commit.order]
        if len(window) == intervals and not older:
            continue
        slot = Slot(
            commit.offset, commit.timestamp, commit.observed_at, commit.lag, commit.floor, commit.order
        )
        if older and commit.timestamp - older[-1].timestamp < min_distance_ms:
            slot.timestamp = older[-1].timestamp
            window[len(older) - 1] = slot
            continue
        window.insert(len(older), slot)
        del window[:-intervals]


def arrays(commits: list[Commit]) -> Commits:
    return Commits(
        *(
            np.array([getattr(commit, name) for commit in commits], dtype=np.int64)
            for name in ("row", *FIELDS)
        )
    )


def slots(windows: Windows) -> list[list[Slot]]:
    return [
        [
            Slot(*(int(array[row, column]) for array in windows.arrays()))
            for column in range(windows.intervals)
            if windows.order[row, column] != EMPTY
        ]
        for row in range(windows.rows)
    ]


def commit_lists(times: st.SearchStrategy[int], most: int = 25) -> st.SearchStrategy[list[Commit]]:
    compress = st.integers(0, 50)
    commit = st.builds(
        Commit,
        row=st.integers(0, ROWS - 1),
        offset=compress,
        timestamp=times,
        observed_at=compress,
        lag=st.integers(-1, 9),
        floor=st.integers(-1, 9),
        order=st.integers(0, 30),
    )
    return st.lists(commit, max_size=most, unique_by=lambda commit: (commit.row, commit.order))


# times that have nothing to do with the orders: clocks that jump, both ways
any_times = st.integers(0, 40)


@given(
    batches=st.lists(commit_lists(any_times), min_size=1, max_size=4),
    intervals=st.integers(1, 6),
    min_distance_ms=st.sampled_from([0, 0, 1, 3, 10, 100]),
)
def test_place_is_placing_one_commit_after_the_other(
    batches: list[list[Commit]], intervals: int, min_distance_ms: int
) -> None:
    windows = Windows.empty(ROWS, intervals)
    expected: list[list[Slot]] = [[] for _ in range(ROWS)]
    for batch in batches:
        before = slots(windows)
        windows, changed = place(windows, arrays(batch), min_distance_ms)
        naive(expected, batch, intervals, min_distance_ms)

        assert slots(windows) == expected
        assert changed.tolist() == [old != new for old, new in zip(before, expected, strict=True)]
        assert np.all(windows.filled == [len(window) for window in expected])


@given(
    commits=commit_lists(any_times),
    cut=st.integers(0, 31),
    intervals=st.integers(1, 6),
    min_distance_ms=st.sampled_from([0, 1, 3, 10]),
)
def test_a_batch_may_be_cut_anywhere_in_its_order(
    commits: list[Commit], cut: int, intervals: int, min_distance_ms: int
) -> None:
    whole, _ = place(Windows.empty(ROWS, intervals), arrays(commits), min_distance_ms)
    parts = Windows.empty(ROWS, intervals)
    for part in ([c for c in commits if c.order < cut], [c for c in commits if c.order >= cut]):
        parts, _ = place(parts, arrays(part), min_distance_ms)

    assert slots(parts) == slots(whole)


def in_time(commits: list[Commit]) -> list[Commit]:
    """The same commits with times that grow with their order, as one clock gives them."""
    return [Commit(c.row, c.offset, c.order * 5, c.observed_at, c.lag, c.floor, c.order) for c in commits]


@given(
    commits=commit_lists(any_times).map(in_time),
    cuts=st.lists(st.integers(0, 25), max_size=3),
    data=st.data(),
    intervals=st.integers(1, 6),
)
def test_with_one_clock_no_cut_and_no_order_of_arrival_matters(
    commits: list[Commit], cuts: list[int], data: st.DataObject, intervals: int
) -> None:
    whole, _ = place(Windows.empty(ROWS, intervals), arrays(commits), 0)
    shuffled = data.draw(st.permutations(commits))
    parts = Windows.empty(ROWS, intervals)
    bounds = [0, *sorted(cuts), len(shuffled)]
    for start, end in pairwise(bounds):
        parts, _ = place(parts, arrays(shuffled[start:end]), 0)

    assert slots(parts) == slots(whole)


@given(commits=commit_lists(any_times).map(in_time), again=st.data(), intervals=st.integers(1, 6))
def test_a_replay_changes_nothing(commits: list[Commit], again: st.DataObject, intervals: int) -> None:
    placed, _ = place(Windows.empty(ROWS, intervals), arrays(commits), 0)
    replayed = again.draw(st.lists(st.sampled_from(commits))) if commits else []

    after, changed = place(placed, arrays(replayed), 0)

    assert slots(after) == slots(placed)
    assert not changed.any()
