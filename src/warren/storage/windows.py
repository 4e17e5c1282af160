"""Sliding windows over the newest commits of every partition, as arrays: no Spark, no clock.

A row is a window of `intervals` entries, oldest first and right-aligned, so that empty slots lead and the
newest entry is always in the last column. All times are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from warren.common.sentinels import EMPTY

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# what a window and a commit have in common
FIELDS: Final = ("offset", "timestamp", "observed_at", "lag", "floor", "order")
# the fields that a commit which replaces the previous entry overwrites; the timestamp stays
_JOINED: Final = tuple(field for field in FIELDS if field != "timestamp")


@dataclass(frozen=True, slots=True)
class Windows:
    """Many windows: arrays shaped (windows, intervals); every field of an empty slot is -1."""

    offset: Ints
    timestamp: Ints
    observed_at: Ints
    # behind the head at the commit, interpolated between the polls before and after it
    lag: Ints
    # behind the head of the last poll before the commit: a lower bound
    floor: Ints
    # the record's offset in the offsets topic, plus a shift (see `consumer/plan.py`)
    order: Ints

    @classmethod
    def empty(cls, rows: int, intervals: int) -> Self:
        """Windows without any entry."""
        return cls(*(np.full((rows, intervals), EMPTY, dtype=np.int64) for _ in FIELDS))

    @classmethod
    def concat(cls, parts: Sequence[Windows]) -> Self:
        """The rows of all parts, in their order; all parts have the same number of intervals."""
        return cls(*(np.concatenate([getattr(part, field) for part in parts]) for field in FIELDS))

    @property
    def rows(self) -> int:
        return int(self.order.shape[0])

    @property
    def intervals(self) -> int:
        return int(self.order.shape[1])

    @property
    def filled(self) -> Ints:
        """How many entries each window has."""
        return np.asarray(np.count_nonzero(self.order != EMPTY, axis=1), dtype=np.int64)

    def take(self, rows: Ints | Mask | slice) -> Self:
        """The windows of these rows; a copy unless `rows` is a slice."""
        return type(self)(*(array[rows] for array in self.arrays()))

    def copy(self) -> Self:
        return type(self)(*(array.copy() for array in self.arrays()))

    def arrays(self) -> Iterator[Ints]:
        """The arrays in the order of FIELDS."""
        return (getattr(self, field) for field in FIELDS)


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits to be placed into windows, in any order: `row` is the window."""

    row: Ints
    offset: Ints
    timestamp: Ints
    observed_at: Ints
    lag: Ints
    floor: Ints
    order: Ints

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: Ints | Mask | slice) -> Self:
        return type(self)(self.row[index], *(array[index] for array in self.arrays()))

    def arrays(self) -> Iterator[Ints]:
        """The arrays in the order of FIELDS, without `row`."""
        return (getattr(self, field) for field in FIELDS)


@dataclass(frozen=True, slots=True)
class _Runs:
    """A sorted array as runs of equal values: the values, where each run begins, how long it is."""

    value: Ints
    first: Ints
    count: Ints

    @classmethod
    def of(cls, array: Ints) -> Self:
        begins = np.ones(len(array), dtype=np.bool_)
        begins[1:] = array[1:] != array[:-1]
        first = np.flatnonzero(begins)
        return cls(array[first], first, np.diff(first, append=len(array)))

    def index_from_end(self) -> Ints:
        """For each item of the array how many of its run come after it."""
        ends = np.repeat(self.first + self.count, self.count)
        return np.asarray(ends - np.arange(len(ends)) - 1)


def place(windows: Windows, commits: Commits, min_distance_ms: int) -> tuple[Windows, Mask]:
    """The windows with the commits placed, and which of the windows changed."""
    placed = windows.copy()
    changed = np.zeros(windows.rows, dtype=np.bool_)
    changed[place_into(placed, commits, min_distance_ms)] = True
    return placed, changed


def place_into(windows: Windows, commits: Commits, min_distance_ms: int) -> Ints:
    """Place the commits into the windows' own (writable) arrays; returns the rows that changed, ascending.

    The outcome is that of placing one commit after the other, by ascending order:
    - a commit whose order the window already has is the same commit, and dropped;
    - one that is older than the oldest entry of a full window is dropped;
    - one that is closer than `min_distance_ms` to the previous entry, or earlier (a clock was set back),
      replaces that entry but keeps its timestamp;
    - any other gets a slot of its own, by order, and a full window loses its oldest entry.
    """
    if not len(commits):
        return np.empty(0, dtype=np.int64)
    commits = _sorted_once(commits)
    runs = _Runs.of(commits.row)
    behind = commits.order[runs.first] <= windows.order[runs.value, -1]
    if not behind.any():
        _append(windows, commits, runs, min_distance_ms)
        return runs.value
    late = np.repeat(behind, runs.count)
    changed = _insert(windows, commits.take(late), min_distance_ms)
    if not behind.all():
        commits = commits.take(~late)
        runs = _Runs.of(commits.row)
        _append(windows, commits, runs, min_distance_ms)
        changed = np.sort(np.concatenate([runs.value, changed]))
    return changed


def delete_before(windows: Windows, row: Ints, order: Ints) -> Ints:
    """Empty the slots of entries older than their window's tombstone; returns the rows that changed.

    Call this before placing the commits of the same batch, and place only those that are `newer_than` the tombstone:
    else a commit could replace an entry from before the tombstone.
    """
    rows, tombstone = _newest(row, order)
    # entries are sorted by order, so the deleted ones are first and the rest stays right-aligned
    held = windows.order[rows]
    deleted = (held < tombstone[:, None]) & (held != EMPTY)
    hit = deleted.any(axis=1)
    changed: Ints = rows[hit]
    for array in windows.arrays():
        array[changed] = np.where(deleted[hit], EMPTY, array[changed])
    return changed


def delete_after(windows: Windows, rows: Ints, limit_ms: Ints) -> Ints:
    """Drop the entries of these rows, each named once, with a time after its limit; returns the rows that changed."""
    after = windows.timestamp[rows] > limit_ms[:, None]
    hit = after.any(axis=1)
    changed: Ints = rows[hit]
    # what is kept moves to the right, and keeps its order
    kept = ~after[hit]
    source = np.argsort(kept, axis=1, kind="stable")
    empty = np.arange(windows.intervals) < np.count_nonzero(~kept, axis=1)[:, None]
    for array in windows.arrays():
        array[changed] = np.where(empty, EMPTY, np.take_along_axis(array[changed], source, axis=1))
    return changed


def newer_than(commits: Commits, row: Ints, order: Ints) -> Commits:
    """The commits that are not older than the newest tombstone (a window and an order each) of their window."""
    if not len(row) or not len(commits):
        return commits
    rows, tombstone = _newest(row, order)
    at = np.minimum(np.searchsorted(rows, commits.row), len(rows) - 1)
    return commits.take((rows[at] != commits.row) | (commits.order >= tombstone[at]))


def expired(windows: Windows, now_ms: int, expire_ms: int) -> Mask:
    """Windows whose newest commit is older than `expire_ms`, and windows without any."""
    return np.equal(windows.order[:, -1], EMPTY) | (windows.timestamp[:, -1] < now_ms - expire_ms)


def _sorted_once(commits: Commits) -> Commits:
    """By row, then order, each (row, order) once; of several the first in the input stays."""
    row, order = commits.row, commits.order
    step = np.diff(row)
    if ((step > 0) | ((step == 0) & (np.diff(order) > 0))).all():
        return commits
    lowest = int(order.min())
    span = int(order.max()) - lowest + 1
    if span * (int(row.max()) + 1) < np.iinfo(np.int64).max:
        # one sort of one key takes half the time of a lexsort of two
        index = np.argsort(row * span + (order - lowest), kind="stable")
    else:
        index = np.lexsort((order, row))
    row, order = row[index], order[index]
    again = (row[1:] == row[:-1]) & (order[1:] == order[:-1])
    if again.any():
        index = index[np.append(True, ~again)]
    return commits.take(index)


def _newest(row: Ints, order: Ints) -> tuple[Ints, Ints]:
    """The distinct rows, ascending, each with its greatest order."""
    index = np.lexsort((order, row))
    runs = _Runs.of(row[index])
    return runs.value, order[index[runs.first + runs.count - 1]]


def _append(windows: Windows, commits: Commits, runs: _Runs, min_distance_ms: int) -> None:
    """Add commits, sorted, all of them newer than what their windows hold."""
    opens = _opens(windows, commits.timestamp, runs, min_distance_ms)
    # a stretch shares one slot: it has the timestamp of its first commit and the other fields of its last
    begins = opens.copy()
    begins[runs.first] = True
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(begins)) - 1
    own = opens[first]
    if not own.all():
        joins = commits.take(last[~own])
        for name in _JOINED:
            getattr(windows, name)[joins.row, -1] = getattr(joins, name)
        first, last = first[own], last[own]
    _push(windows, commits, first, last)


def _push(windows: Windows, commits: Commits, first: Ints, last: Ints) -> None:
    """Append a slot for each stretch of commits, sorted."""
    intervals = windows.intervals
    runs = _Runs.of(commits.row[first])
    from_end = runs.index_from_end()
    # more than a window can hold: the oldest are dropped
    kept = from_end < intervals
    first, last, column = first[kept], last[kept], intervals - 1 - from_end[kept]
    row = commits.row[first]
    for name in FIELDS:
        array: Ints = getattr(windows, name)
        for shift in range(1, intervals):
            moved = runs.value[runs.count == shift]
            if len(moved) == len(array):
                array[:, :-shift] = array[:, shift:].copy()
            elif len(moved):
                array[moved, :-shift] = array[moved, shift:]
        array[row, column] = getattr(commits, name)[first if name == "timestamp" else last]


def _opens(windows: Windows, timestamp: Ints, runs: _Runs, min_distance_ms: int) -> Mask:
    """Which of the commits get a slot of their own, rather than the slot of the previous entry."""
    previous = np.empty_like(timestamp)
    previous[1:] = timestamp[:-1]
    newest = windows.timestamp[runs.value, -1]
    # the first commit of an empty window has no previous entry: use one that is just far enough away
    alone = windows.order[runs.value, -1] == EMPTY
    previous[runs.first] = np.where(alone, timestamp[runs.first] - min_distance_ms, newest)
    opens: Mask = timestamp - previous >= min_distance_ms
    if opens.all():
        return opens
    # a slot keeps its first timestamp, so each commit depends on the previous one: iterate over the windows with close
    # commits in step, one commit of each at a time
    walked = np.logical_or.reduceat(~opens, runs.first)
    first, count = runs.first[walked], runs.count[walked]
    anchor = previous[first]
    for step in range(int(count.max())):
        going = count > step
        first, count, anchor = first[going], count[going], anchor[going]
        moment = timestamp[first + step]
        far = moment - anchor >= min_distance_ms
        opens[first + step] = far
        anchor = np.where(far, moment, anchor)
    return opens


def _insert(windows: Windows, commits: Commits, min_distance_ms: int) -> Ints:
    """Place commits, sorted, some of them older than what their windows hold; returns the changed rows."""
    rows = _Runs.of(commits.row).value
    before = windows.order[rows]
    merged = _merged(windows, commits, rows)
    near = (merged.row[1:] == merged.row[:-1]) & (np.diff(merged.timestamp) < min_distance_ms)
    # a row number: whether its commits have to be placed one at a time
    slow = np.zeros(windows.rows, dtype=np.bool_)
    slow[merged.row[1:][near]] = True
    _refill(windows, merged.take(~slow[merged.row]) if near.any() else merged)
    if near.any():
        _insert_in_step(windows, commits.take(slow[commits.row]), min_distance_ms)
    return np.asarray(rows[(windows.order[rows] != before).any(axis=1)])


def _merged(windows: Windows, commits: Commits, rows: Ints) -> Commits:
    """The entries of these rows and the commits, sorted, each order once: of two the window's own stays."""
    held = windows.take(rows)
    entry, column = np.nonzero(held.order != EMPTY)
    arrays = (
        np.concatenate([array[entry, column], more])
        for array, more in zip(held.arrays(), commits.arrays(), strict=True)
    )
    return _sorted_once(Commits(np.concatenate([rows[entry], commits.row]), *arrays))


def _refill(windows: Windows, entries: Commits) -> None:
    """Fill the windows of these entries, sorted, with the newest of them."""
    runs = _Runs.of(entries.row)
    from_end = runs.index_from_end()
    kept = from_end < windows.intervals
    row, column = entries.row[kept], windows.intervals - 1 - from_end[kept]
    for array, values in zip(windows.arrays(), entries.arrays(), strict=True):
        array[runs.value] = EMPTY
        array[row, column] = values[kept]


def _insert_in_step(windows: Windows, commits: Commits, min_distance_ms: int) -> None:
    """Place commits, sorted, one at a time in each window, in all windows at once."""
    runs = _Runs.of(commits.row)
    columns = np.arange(windows.intervals)
    for step in range(int(runs.count.max())):
        commit = commits.take(runs.first[runs.count > step] + step)
        order = windows.order[commit.row]
        # the last slot with a lower order: empty ones count, so only a full window of newer entries has none
        slot = np.count_nonzero(order < commit.order[:, None], axis=1) - 1
        accepted = (slot >= 0) & (order != commit.order[:, None]).all(axis=1)
        commit, slot = commit.take(accepted), slot[accepted]
        row = commit.row
        timestamp = windows.timestamp[row, slot]
        joins = (windows.order[row, slot] != EMPTY) & (commit.timestamp - timestamp < min_distance_ms)
        # older entries move one slot to the left, unless the commit replaces its neighbour
        source = columns + ((columns < slot[:, None]) & ~joins[:, None])
        for array, values in zip(windows.arrays(), commit.arrays(), strict=True):
            array[row] = np.take_along_axis(array[row], source, axis=1)
            array[row, slot] = values
        windows.timestamp[row, slot] = np.where(joins, timestamp, commit.timestamp)
