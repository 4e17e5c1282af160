"""Heads of topic partitions as we saw them over time: one row per topic partition, no Spark, no clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from warren.storage.windows import EMPTY, UNKNOWN, Ints

# a sample that comes this share of the refresh time too early is still in time: polls jitter
EARLY: Final = 0.05


@dataclass(frozen=True, slots=True)
class Heads:
    """The newest head of each topic partition, and a ring of spaced ones, oldest first and right-aligned."""

    # shaped (topic partitions, intervals); both are EMPTY in empty slots, which lead
    ring_offset: Ints
    ring_at_ms: Ints
    # shaped (topic partitions,); both are UNKNOWN before the first sample
    newest_offset: Ints
    newest_at_ms: Ints

    @classmethod
    def empty(cls, rows: int, intervals: int) -> Self:
        """Topic partitions without any sample."""
        ring = (np.full((rows, intervals), EMPTY, dtype=np.int64) for _ in range(2))
        newest = (np.full(rows, UNKNOWN, dtype=np.int64) for _ in range(2))
        return cls(*ring, *newest)

    @classmethod
    def concat(cls, parts: Sequence[Heads]) -> Self:
        """The rows of all parts, in their order."""
        columns = zip(*(part.arrays() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @property
    def rows(self) -> int:
        return len(self.newest_offset)

    @property
    def intervals(self) -> int:
        return int(self.ring_offset.shape[1])

    def take(self, rows: Ints | slice) -> Self:
        return type(self)(*(array[rows] for array in self.arrays()))

    def copy(self) -> Self:
        return type(self)(*(array.copy() for array in self.arrays()))

    def arrays(self) -> Iterator[Ints]:
        """The four arrays in the order of the fields."""
        return iter((self.ring_offset, self.ring_at_ms, self.newest_offset, self.newest_at_ms))


def sample(heads: Heads, rows: Ints, offset: Ints, at_ms: Ints | int, refresh_ms: int) -> Heads:
    """The heads after these rows, each at most once, were seen at `offset`."""
    sampled = heads.copy()
    sample_into(sampled, rows, offset, at_ms, refresh_ms)
    return sampled


def sample_into(heads: Heads, rows: Ints, offset: Ints, at_ms: Ints | int, refresh_ms: int) -> None:
    """As `sample`, in the heads' own (writable) arrays; a sample older than the newest one is ignored."""
    at = np.broadcast_to(np.asarray(at_ms, dtype=np.int64), rows.shape)
    current = at >= heads.newest_at_ms[rows]
    rows, offset, at = rows[current], offset[current], at[current]
    heads.newest_offset[rows] = offset
    heads.newest_at_ms[rows] = at
    last = heads.ring_at_ms[rows, -1]
    due = (last == EMPTY) | (at - last >= int(refresh_ms * (1 - EARLY)))
    rows, offset, at = rows[due], offset[due], at[due]
    for ring, values in ((heads.ring_offset, offset), (heads.ring_at_ms, at)):
        ring[rows, :-1] = ring[rows, 1:]
        ring[rows, -1] = values


def lowest(heads: Heads) -> Ints:
    """The lowest head of each ring, UNKNOWN where there is none."""
    none = np.iinfo(np.int64).max
    least = np.where(heads.ring_at_ms == EMPTY, none, heads.ring_offset).min(axis=1)
    return np.where(least == none, UNKNOWN, least)


def head_at(heads: Heads, rows: Ints, at_ms: Ints) -> Ints:
    """The head of each row's topic partition at a moment: on the line between the samples round it.

    Before the first sample it is the first, after the newest the newest, and UNKNOWN where there is none.
    """
    if len(rows) < heads.rows:
        heads, rows = heads.take(rows), np.arange(len(rows))
    intervals = heads.intervals
    # shaped (intervals + 1, topic partitions): the ring, then the newest head
    offset = np.vstack([heads.ring_offset.T, heads.newest_offset])
    moment = np.vstack([heads.ring_at_ms.T, heads.newest_at_ms])
    # one column at a time: the moments can be many more than the topic partitions
    left = np.full(len(rows), -1)
    for column in moment[:intervals]:
        left += column.take(rows) <= at_ms
    empty = np.count_nonzero(moment[:intervals] == EMPTY, axis=0).take(rows)
    early = left < empty
    left = np.where(early, empty, left)
    right = np.where(early, empty, left + 1)
    start, end = offset[left, rows], offset[right, rows]
    start_at = moment[left, rows]
    span = moment[right, rows] - start_at
    # as a fraction: the product of offsets and milliseconds can leave 64 bits
    way = np.clip((at_ms - start_at) / np.maximum(span, 1), 0.0, 1.0)
    between = start + np.floor((end - start) * way).astype(np.int64)
    return np.where(span > 0, between, end)


def lag_at(head: Ints, offset: Ints) -> Ints:
    """How far an offset is behind a head: never below 0, UNKNOWN where the head is."""
    return np.where(head == UNKNOWN, UNKNOWN, np.maximum(head - offset, 0))


def bracket(timestamp: Ints, after_ms: Ints | int, before_ms: Ints | int) -> Ints:
    """Commit times by the broker's clock, moved into the span of our own clock in which they must have come.

    A commit that was read in this trigger and not in the last came between the two: that bounds what a wrong
    clock can do to the head at the commit.
    """
    return np.minimum(np.maximum(timestamp, after_ms), before_ms)
