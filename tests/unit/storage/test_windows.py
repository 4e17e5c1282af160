"""Where commits go in their windows, and what leaves them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage.windows import (
    FIELDS,
    Commits,
    Windows,
    delete_after,
    delete_before,
    expired,
    newer_than,
    place,
    place_into,
)

# offset, timestamp, observed at, lag, floor, order
Row = tuple[int, int, int, int, int, int]


def window(entries: list[Row], intervals: int) -> Windows:
    """One window with these entries."""
    made = Windows.empty(1, intervals)
    for column, entry in enumerate(entries, start=intervals - len(entries)):
        for name, value in zip(FIELDS, entry, strict=True):
            getattr(made, name)[0, column] = value
    return made


def entries(windows: Windows, row: int = 0) -> list[Row]:
    """The entries of a window; its empty slots have to lead and be empty all through."""
    columns = np.stack(list(windows.arrays()))[:, row]
    filled = columns[-1] != EMPTY
    assert not np.any(np.diff(filled.astype(int)) < 0), "an empty slot follows an entry"
    assert np.all(columns[:, ~filled] == EMPTY)
    return [tuple(int(value) for value in column) for column in columns[:, filled].T]  # type: ignore[misc]


def commits(rows: list[Row], row: int = 0) -> Commits:
    table = np.array(rows, dtype=np.int64).reshape(-1, 6)
    return Commits(np.full(len(table), row, dtype=np.int64), *table.T.copy())


def together(*parts: Commits) -> Commits:
    return Commits(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("row", *FIELDS)))


def at(order: int, timestamp: int | None = None) -> Row:
    """A commit that can be told by its order."""
    return (
        order * 10,
        order * 100 if timestamp is None else timestamp,
        order + 7,
        order + 3,
        order + 1,
        order,
    )


@dataclass(frozen=True)
class Placing:
    name: str
    before: list[Row]
    arriving: list[Row]
    after: list[Row]
    intervals: int = 3
    min_distance_ms: int = 0
    changed: bool = field(default=True)


PLACINGS = [
    Placing("the first commit goes last", [], [at(1)], [at(1)]),
    Placing("later commits follow", [at(1)], [at(2), at(3)], [at(1), at(2), at(3)]),
    Placing("a full window loses its oldest", [at(1), at(2), at(3)], [at(4)], [at(2), at(3), at(4)]),
    Placing("more than a window holds", [at(1)], [at(order) for order in range(2, 9)], [at(6), at(7), at(8)]),
    Placing("any input order", [], [at(3), at(1), at(2)], [at(1), at(2), at(3)]),
    Placing("an order that is there is the same commit", [at(1)], [at(1)], [at(1)], changed=False),
    Placing("what is there stays", [at(1)], [(99, 100, 0, 0, 0, 1), at(2)], [at(1), at(2)]),
    Placing("an order that comes twice is one commit", [], [at(1), (99, 100, 0, 0, 0, 1)], [at(1)]),
    Placing("a late commit finds its place", [at(1), at(3)], [at(2)], [at(1), at(2), at(3)]),
    Placing("a late commit pushes the oldest out", [at(1), at(3), at(4)], [at(2)], [at(2), at(3), at(4)]),
    Placing("older than a full window", [at(2), at(3), at(4)], [at(1)], [at(2), at(3), at(4)], changed=False),
    Placing("older than a window with room", [at(2), at(3)], [at(1)], [at(1), at(2), at(3)]),
    Placing("late and new at once", [at(2), at(4)], [at(5), at(1), at(3)], [at(3), at(4), at(5)]),
    Placing("one slot", [at(1)], [at(2)], [at(2)], intervals=1),
    Placing("one slot and a late commit", [at(2)], [at(1)], [at(2)], intervals=1, changed=False),
    Placing(
        "a near commit takes the slot and keeps the time",
        [at(1, 1000)],
        [at(2, 2999)],
        [(20, 1000, 9, 5, 3, 2)],
        min_distance_ms=2000,
    ),
    Placing(
        "just far enough is far enough",
        [at(1, 1000)],
        [at(2, 3000)],
        [at(1, 1000), at(2, 3000)],
        min_distance_ms=2000,
    ),
    Placing(
        "slots advance even when every commit is near the one before",
        [],
        [at(1, 1000), at(2, 2000), at(3, 3000), at(4, 4000), at(5, 5000)],
        [(20, 1000, 9, 5, 3, 2), (40, 3000, 11, 7, 5, 4), at(5, 5000)],
        min_distance_ms=2000,
    ),
    Placing(
        "near commits of one batch join the entry that is there",
        [at(1, 1000), at(2, 5000)],
        [at(3, 5500), at(4, 6000)],
        [at(1, 1000), (40, 5000, 11, 7, 5, 4)],
        min_distance_ms=2000,
    ),
    Placing(
        "a clock set back: no commit is earlier than the one before it",
        [at(1, 5000)],
        [at(2, 4000), at(3, 4500), at(4, 5000)],
        [(30, 5000, 10, 6, 4, 3), at(4, 5000)],
    ),
    Placing(
        "a late near commit joins the entry before it",
        [at(1, 1000), at(3, 9000)],
        [at(2, 1500)],
        [(20, 1000, 9, 5, 3, 2), at(3, 9000)],
        min_distance_ms=2000,
    ),
    Placing(
        "a late commit does not look at the entry after it",
        [at(1, 1000), at(3, 9000)],
        [at(2, 8500)],
        [at(1, 1000), at(2, 8500), at(3, 9000)],
        min_distance_ms=2000,
    ),
    Placing(
        "a late near commit in a full window keeps the oldest one's time",
        [at(1, 1000), at(3, 9000), at(4, 12000)],
        [at(2, 1500)],
        [(20, 1000, 9, 5, 3, 2), at(3, 9000), at(4, 12000)],
        min_distance_ms=2000,
    ),
    Placing(
        "a lag may be unknown",
        [at(1)],
        [(20, 200, 9, UNKNOWN, UNKNOWN, 2)],
        [at(1), (20, 200, 9, UNKNOWN, UNKNOWN, 2)],
    ),
]


@pytest.mark.parametrize("case", PLACINGS, ids=lambda case: case.name)
def test_place(case: Placing) -> None:
    before = window(case.before, case.intervals)
    kept = before.copy()

    placed, changed = place(before, commits(case.arriving), case.min_distance_ms)

    assert entries(placed) == case.after
    assert changed.tolist() == [case.changed]
    assert entries(before) == entries(kept), "the windows given were changed"


def test_place_leaves_other_windows_alone() -> None:
    windows = Windows.concat([window([at(1)], 3), window([at(5), at(6)], 3), window([], 3)])

    placed, changed = place(windows, commits([at(7)], row=1), 0)

    assert changed.tolist() == [False, True, False]
    assert [entries(placed, row) for row in range(3)] == [[at(1)], [at(5), at(6), at(7)], []]


def test_place_without_commits_changes_nothing() -> None:
    placed, changed = place(window([at(1)], 3), commits([]), 0)

    assert entries(placed) == [at(1)]
    assert not changed.any()


def test_place_into_reports_only_changed_rows_in_order() -> None:
    windows = Windows.concat([window([at(4)], 3) for _ in range(4)])
    # row 3 gets a new commit, row 2 one that it has, row 0 a late one
    arriving = together(commits([at(9)], 3), commits([at(4)], 2), commits([at(2)], 0))

    assert place_into(windows, arriving, 0).tolist() == [0, 3]
    assert [len(entries(windows, row)) for row in range(4)] == [2, 1, 1, 2]


def test_place_with_orders_too_far_apart_for_one_sort_key() -> None:
    far = (70, 9000, 1, 0, 0, 2**62)
    arriving = together(commits([far, at(1)], 3), commits([far], 0))

    placed, _ = place(Windows.empty(4, 2), arriving, 0)

    assert [entries(placed, row) for row in range(4)] == [[far], [], [], [at(1), far]]


def test_filled_counts_entries() -> None:
    windows = Windows.concat([window([], 3), window([at(1)], 3), window([at(1), at(2), at(3)], 3)])

    assert windows.filled.tolist() == [0, 1, 3]
    assert (windows.rows, windows.intervals) == (3, 3)
    assert entries(windows.take(np.array([2, 0])), 0) == [at(1), at(2), at(3)]


@dataclass(frozen=True)
class Burial:
    name: str
    # order of each tombstone for the window
    tombstones: list[int]
    after: list[Row]


BURIALS = [
    Burial("what came before is gone", [3], [at(4)]),
    Burial("what came after stays", [0], [at(1), at(2), at(4)]),
    Burial("what has its order stays", [2], [at(2), at(4)]),
    Burial("all is gone", [9], []),
    Burial("the last tombstone counts", [9, 2], []),
    Burial("no tombstone", [], [at(1), at(2), at(4)]),
]


@pytest.mark.parametrize("case", BURIALS, ids=lambda case: case.name)
def test_forget(case: Burial) -> None:
    before = [at(1), at(2), at(4)]
    windows = Windows.concat([window(before, 5), window(before, 5)])
    tombstones = np.array(case.tombstones, dtype=np.int64)

    changed = delete_before(windows, np.ones_like(tombstones), tombstones)

    assert entries(windows, 1) == case.after
    assert entries(windows, 0) == before
    assert changed.tolist() == [1] * (case.after != before)


def test_entries_after_a_limit_are_forgotten_and_the_rest_stays_right_aligned() -> None:
    windows = Windows.concat([window([at(1), at(2), at(4)], 5) for _ in range(3)])
    limits = windows.timestamp[:2, -1] - np.array([1, 0])

    changed = delete_after(windows, np.array([0, 1]), limits)

    assert changed.tolist() == [0]
    assert [entries(windows, row) for row in range(3)] == [[at(1), at(2)], *[[at(1), at(2), at(4)]] * 2]
    assert (windows.order[0, :3] == EMPTY).all()


def test_survivors_are_the_commits_after_their_tombstone() -> None:
    arriving = commits([at(1), at(2), at(5)], row=1)
    tombstones = np.array([1, 7, 1]), np.array([2, 9, 3])

    assert newer_than(arriving, *tombstones).order.tolist() == [5]
    assert newer_than(commits([at(1)], row=2), *tombstones).order.tolist() == [1]
    nothing = np.empty(0, dtype=np.int64)
    assert newer_than(arriving, nothing, nothing).order.tolist() == [1, 2, 5]


def test_a_commit_does_not_join_an_entry_that_a_tombstone_ended() -> None:
    windows = window([at(1, 1000)], 3)
    tombstone = np.array([0]), np.array([2])
    arriving = commits([at(3, 1500)])

    delete_before(windows, *tombstone)
    place_into(windows, newer_than(arriving, *tombstone), 2000)

    assert entries(windows) == [at(3, 1500)]


def test_expired_goes_by_the_newest_commit() -> None:
    day = 86_400_000
    windows = Windows.concat(
        [
            window([], 2),
            window([at(1, 0), at(2, 3 * day)], 2),
            window([at(1, 0), at(2, 3 * day - 1)], 2),
            window([at(1, 9 * day)], 2),
        ]
    )

    assert expired(windows, now_ms=10 * day, expire_ms=7 * day).tolist() == [True, False, True, False]
