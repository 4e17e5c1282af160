"""What the reader leaves out changes nothing: windows are as if every commit had been placed, one after the other."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.pipeline.hands import commit, group_tombstone
from tests.unit.pipeline_double import NOW, Pipeline, look, records

from warren.common.sentinels import EMPTY
from warren.consumer.reduction import Reduced, reduced
from warren.kafka.batch import Commits as Read
from warren.snapshot.view import ClusterView
from warren.storage import windows as storage
from warren.storage.windows import FIELDS, Windows

KEYS: Final = 2


@dataclass(frozen=True)
class Event:
    """A commit, or a deletion of what was committed."""

    key: int
    order: int
    timestamp: int
    deleted: bool = False


# order of the slot's last commit, time of its first, time of its last
Slot = tuple[int, int, int]


def read(events: list[Event]) -> Read:
    """A batch as it is decoded: the offset is the order, so that one tells the other."""
    key, order, timestamp = (
        np.array(
            [(each.key, each.order, 0 if each.deleted else each.timestamp) for each in events], dtype=np.int64
        )
        .reshape(-1, 3)
        .T
    )
    deleted = np.array([each.deleted for each in events], dtype=np.bool_)
    return Read(key.astype(np.int32), order, timestamp, order, order, deleted)


def reduce(events: list[Event], intervals: int, min_distance_ms: int = 0) -> Reduced:
    return reduced(read(events), intervals, min_distance_ms)


def take(windows: Windows, events: list[Event], min_distance_ms: int) -> None:
    """A chunk as the reader gives it, into the windows: deletions first, as buckets do it."""
    batch = read(events)
    chosen = reduced(batch, windows.intervals, min_distance_ms)
    batch = batch.take(chosen.row)
    live, row = ~batch.deleted, batch.key.astype(np.int64)
    # a lag is looked up at the time of the commit itself: here it is that time
    known = {"offset": batch.offset, "timestamp": chosen.timestamp, "order": batch.order}
    commits = storage.Commits(
        row[live], *(known.get(name, batch.timestamp)[live].astype(np.int64) for name in FIELDS)
    )
    if batch.deleted.any():
        deletions = row[batch.deleted], batch.order[batch.deleted]
        storage.delete_before(windows, *deletions)
        commits = storage.newer_than(commits, *deletions)
    storage.place_into(windows, commits, min_distance_ms)


def slots(windows: Windows) -> list[list[Slot]]:
    return [
        [
            (int(windows.order[row, at]), int(windows.timestamp[row, at]), int(windows.lag[row, at]))
            for at in range(windows.intervals)
            if windows.order[row, at] != EMPTY
        ]
        for row in range(windows.rows)
    ]


def take_by_hand(
    windows: list[list[Slot]], events: list[Event], intervals: int, min_distance_ms: int
) -> None:
    """Every commit that no deletion follows, one after the other."""
    gone: defaultdict[int, int] = defaultdict(lambda: -1)
    for event in events:
        if event.deleted:
            gone[event.key] = max(gone[event.key], event.order)
    for key, order in gone.items():
        windows[key] = [slot for slot in windows[key] if slot[0] > order]
    for event in sorted(events, key=lambda each: each.order):
        window = windows[event.key]
        if event.order <= gone[event.key] or any(slot[0] == event.order for slot in window):
            continue
        older = [slot for slot in window if slot[0] < event.order]
        if len(window) == intervals and not older:
            continue
        if older and event.timestamp - older[-1][1] < min_distance_ms:
            window[len(older) - 1] = (event.order, older[-1][1], event.timestamp)
            continue
        window.insert(len(older), (event.order, event.timestamp, event.timestamp))
        del window[:-intervals]


# times in the order of the records with jumps in both directions; a short way apart, and a long one
steps = st.one_of(st.integers(0, 6), st.integers(-30, 30), st.sampled_from([0, 0, 1, 5, 10, 11]))


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    clock = draw(st.integers(0, 40))
    found = []
    order = 0
    for step in draw(st.lists(steps, max_size=60)):
        clock += step
        order += draw(st.integers(1, 2))
        deleted = draw(st.integers(0, 19)) == 0
        found.append(Event(draw(st.integers(0, KEYS - 1)), order, clock, deleted))
    return found


def chunks(events: list[Event], cuts: list[int]) -> list[list[Event]]:
    bounds = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    return [events[begin:end] for begin, end in itertools.pairwise(bounds)]


@settings(max_examples=400, deadline=None)
@given(
    events=histories(),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    intervals=st.integers(1, 5),
    min_distance_ms=st.sampled_from([0, 0, 1, 3, 10, 100]),
    data=st.data(),
)
def test_reading_and_placing_is_placing_every_commit_one_after_the_other(
    events: list[Event], cuts: list[int], intervals: int, min_distance_ms: int, data: st.DataObject
) -> None:
    # history can come after the present
    arrivals = data.draw(st.permutations(chunks(events, cuts)))
    windows = Windows.empty(KEYS, intervals)
    expected: list[list[Slot]] = [[] for _ in range(KEYS)]
    for chunk in arrivals:
        take(windows, data.draw(st.permutations(chunk)), min_distance_ms)
        take_by_hand(expected, chunk, intervals, min_distance_ms)

        assert slots(windows) == expected


@settings(deadline=None)
@given(events=histories(), cuts=st.lists(st.integers(0, 60), max_size=3), intervals=st.integers(1, 5))
def test_reading_a_chunk_again_changes_nothing_with_one_clock(
    events: list[Event], cuts: list[int], intervals: int
) -> None:
    events = [replace(event, timestamp=event.order * 5) for event in events]
    windows = Windows.empty(KEYS, intervals)
    for chunk in chunks(events, cuts):
        take(windows, chunk, 0)
        before = slots(windows)
        take(windows, chunk, 0)

        assert slots(windows) == before


def test_commits_whose_clock_went_back_are_merged_before_the_batch_is_cut() -> None:
    """Burrow keeps 115 200 280 325 792 of these; cut first, 792 alone was left."""
    given = [
        (5, 115, 7614),
        (20, 200, 9615),
        (37, 280, 11615),
        (44, 325, 11615),
        (59, 413, 16615),
        (68, 462, 15115),
        (72, 504, 15115),
        (90, 591, 15115),
        (114, 792, 15815),
    ]
    batch = read([Event(0, order, timestamp) for order, _, timestamp in given])

    chosen = reduced(batch, 5, 0)

    assert [given[row][1] for row in chosen.row] == [115, 200, 280, 325, 792]
    assert chosen.timestamp.tolist() == [7614, 9615, 11615, 11615, 16615]


def test_with_a_minimum_distance_a_batch_is_cut_too() -> None:
    # one commit in 5 s of each key, and a million of them: what is left does not depend on how many there were
    events = [Event(key, order, order * 5_000) for order in range(100) for key in range(KEYS)]
    assert len(reduce(events, 10, 1_000).row) == 10 * KEYS


CASES = [
    ("the last two of each key", [(0, 1, 1), (1, 2, 2), (0, 3, 3), (0, 4, 4)], 0, [1, 2, 3]),
    ("by order, not by place", [(0, 9, 9), (0, 1, 1), (0, 8, 8)], 0, [0, 2]),
    ("a deletion hides what was before it", [(0, 1, 1), (0, 2, None), (0, 3, 3)], 0, [1, 2]),
    ("a deletion alone", [(0, 1, 1), (0, 2, 2), (0, 3, None)], 0, [2]),
    ("only the last deletion", [(0, 1, None), (0, 2, 2), (0, 3, None), (0, 4, 4)], 0, [2, 3]),
    ("the same order twice counts once", [(0, 1, 1), (0, 2, 2), (0, 2, 2)], 0, [0, 2]),
    ("nothing is merged over a deletion", [(0, 1, 9), (0, 2, None), (0, 3, 5)], 0, [1, 2]),
    ("near ones wait for the window to decide", [(0, 1, 10), (0, 2, 14), (0, 3, 18), (0, 4, 22)], 5, [0, 1, 2, 3]),
    ("far ones do not", [(0, 1, 10), (0, 2, 14), (0, 3, 19), (0, 4, 24)], 5, [2, 3]),
    ("times of all sizes", [(0, 1, -(2**63)), (0, 2, 2**63 - 1), (0, 3, 0), (1, 4, 5)], 7, [0, 2, 3]),
    ("none", [], 0, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "min_distance_ms", "rows"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_is_left_of_a_batch(
    given: list[tuple[int, int, int | None]], min_distance_ms: int, rows: list[int]
) -> None:
    events = [Event(key, order, time or 0, time is None) for key, order, time in given]
    assert reduce(events, 2, min_distance_ms).row.tolist() == rows


def test_a_group_that_is_deleted_and_comes_back_with_an_earlier_clock_starts_afresh() -> None:
    pipeline = Pipeline()
    heads = look({("t", 0): 100}, full=True)
    batch = records(
        [commit("g", "t", 7, NOW), group_tombstone("g"), commit("g", "t", 9, NOW - 5_000)], before_ms=NOW
    )

    view = pipeline.trigger(heads, batch)

    assert entries(view) == [(9, NOW - 5_000, 91)]


def test_the_lag_of_merged_commits_is_that_of_the_newest_at_its_own_time() -> None:
    pipeline = Pipeline()
    pipeline.trigger(look({("t", 0): 0}, NOW, full=True))
    pipeline.trigger(look({("t", 0): 1_000}, NOW + 10_000))
    # the clock went back by four seconds between the two
    batch = records([commit("g", "t", 7, NOW + 6_000), commit("g", "t", 9, NOW + 2_000)])

    view = pipeline.trigger(look({("t", 0): 1_000}, NOW + 10_001), batch)

    assert entries(view) == [(9, NOW + 6_000, 200 - 9)]


def entries(view: ClusterView) -> list[tuple[int, int, int | None]]:
    """Offset, time and lag of the group's window."""
    ((detail,),) = (view.detail("g") or {}).values()
    return [(each.offset, each.timestamp, each.lag) for each in detail.offsets if each is not None]
