"""Heads of topic partitions over time: one row per topic partition, no Spark, no clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage.windows import Ints

# polls ("looks") that are kept. A commit that a trigger reads was written between the requests for end offsets of the
# previous trigger and of this one; heads are requested after the end offsets. So a commit lies between the poll before
# the last one and the poll of its own trigger
LOOKS: Final = 3


@dataclass(frozen=True, slots=True)
class Heads:
    """The head of each topic partition at the last polls, and spaced samples of it, oldest first and right-aligned."""

    # shaped (topic partitions, LOOKS), by our clock; EMPTY slots lead
    look_offset: Ints
    look_at_ms: Ints
    # shaped (topic partitions, intervals), by the steady clock; EMPTY slots lead
    sample_offset: Ints
    sample_at_ms: Ints

    @classmethod
    def empty(cls, rows: int, intervals: int) -> Self:
        """Topic partitions that were never polled."""
        widths = (LOOKS, LOOKS, intervals, intervals)
        return cls(*(np.full((rows, width), EMPTY, dtype=np.int64) for width in widths))

    @classmethod
    def concat(cls, parts: Sequence[Heads]) -> Self:
        """The rows of all parts, in their order."""
        columns = zip(*(part.arrays() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @property
    def rows(self) -> int:
        return len(self.look_offset)

    @property
    def intervals(self) -> int:
        return int(self.sample_offset.shape[1])

    @property
    def newest_offset(self) -> Ints:
        """The head at the last poll, UNKNOWN before the first."""
        return self.look_offset[:, -1]

    def take(self, rows: Ints | slice) -> Self:
        return type(self)(*(array[rows] for array in self.arrays()))

    def arrays(self) -> Iterator[Ints]:
        """The four arrays in the order of the fields."""
        return iter((self.look_offset, self.look_at_ms, self.sample_offset, self.sample_at_ms))


def look_into(heads: Heads, rows: Ints, offset: Ints, *, at_ms: int, steady_ms: int, refresh_ms: int) -> None:
    """Add polled heads of these distinct rows to the (writable) arrays.

    A poll is also a sample when there is none yet in its interval of `refresh_ms`, by the steady clock.
    """
    # our clock may have been set back: earlier polls stay earlier
    heads.look_at_ms[rows] = np.minimum(heads.look_at_ms[rows], at_ms)
    _push(heads.look_offset, rows, offset)
    _push(heads.look_at_ms, rows, np.full(len(rows), at_ms))
    last = heads.sample_at_ms[rows, -1]
    due = (last == EMPTY) | (last // refresh_ms != steady_ms // refresh_ms)
    _push(heads.sample_offset, rows[due], offset[due])
    _push(heads.sample_at_ms, rows[due], np.full(np.count_nonzero(due), steady_ms))


def _push(table: Ints, rows: Ints, values: Ints) -> None:
    table[rows, :-1] = table[rows, 1:]
    table[rows, -1] = values


def lowest(heads: Heads, refresh_ms: int) -> Ints:
    """The lowest sample of each row, UNKNOWN where there is none.

    Polls can be further apart than samples should be: samples that are too old do not count.
    """
    stretch = heads.sample_at_ms // refresh_ms
    fresh = (heads.sample_at_ms != EMPTY) & (stretch > stretch[:, -1:] - heads.intervals)
    none = np.iinfo(np.int64).max
    least = np.where(fresh, heads.sample_offset, none).min(axis=1, initial=none)
    return np.where(least == none, UNKNOWN, least)


def head_before(heads: Heads, rows: Ints, at_ms: Ints) -> Ints:
    """The head of each row's topic partition at the last poll not after a moment: a lower bound.

    Before the first poll it is the first, and UNKNOWN where there is none.
    """
    looks, left, right, _ = _looks_round(heads, rows, at_ms)
    # a head can decrease with an unclean leader election
    lower: Ints = np.minimum(looks[left, rows], looks[right, rows])
    return lower


def head_at(heads: Heads, rows: Ints, at_ms: Ints) -> Ints:
    """The head of each row's topic partition at a moment: interpolated between the polls before and after it.

    Before the first poll it is the first, after the last the last, and UNKNOWN where there is none.
    """
    looks, left, right, way = _looks_round(heads, rows, at_ms)
    start, end = looks[left, rows], looks[right, rows]
    between: Ints = start + np.floor((end - start) * way).astype(np.int64)
    return between


def _looks_round(heads: Heads, rows: Ints, at_ms: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The heads shaped (LOOKS, topic partitions), for each moment the polls before and after it, and its fraction
    of the time between them."""
    looks, moments = heads.look_offset.T, heads.look_at_ms.T
    # one column at a time: the moments can be many more than the topic partitions
    left = np.full(len(rows), -1)
    for column in moments:
        left += column.take(rows) <= at_ms
    empty = np.minimum(np.count_nonzero(moments == EMPTY, axis=0), LOOKS - 1).take(rows)
    early = left < empty
    left = np.where(early, empty, left)
    right = np.where(early, empty, np.minimum(left + 1, LOOKS - 1))
    start_at = moments[left, rows]
    span = moments[right, rows] - start_at
    # as a fraction: the product of offsets and milliseconds can leave 64 bits
    way = np.clip((at_ms - start_at) / np.maximum(span, 1), 0.0, 1.0)
    return looks, left, right, way


def lag_at(head: Ints, offset: Ints) -> Ints:
    """How far an offset is behind a head: never below 0, UNKNOWN where the head is."""
    return np.where(head == UNKNOWN, UNKNOWN, np.maximum(head - offset, 0))


def bracket(timestamp: Ints, after_ms: Ints | int, before_ms: Ints | int) -> Ints:
    """Commit times by the broker's clock, clamped to the span of our own clock in which they were written.

    A commit that was read in this trigger and not in the last was written between the two: that bounds the effect of
    a wrong clock on the head at the commit.
    """
    return np.minimum(np.maximum(timestamp, after_ms), before_ms)


def certain(timestamp: Ints, after_ms: int, before_ms: int) -> Ints:
    """The moment before which a commit certainly was not made: its own time, or, where that cannot be right by our
    clock, the beginning of the span in which it came."""
    outside = (timestamp < after_ms) | (timestamp > before_ms)
    return np.where(outside, after_ms, timestamp)
