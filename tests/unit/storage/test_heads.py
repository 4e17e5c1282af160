"""Head samples: which are kept, and what the head was at a moment between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.storage.heads import Heads, bracket, head_at, lag_at, lowest, sample, sample_into
from warren.storage.windows import EMPTY, UNKNOWN

REFRESH_MS = 10_000
# (time, head) each
Samples = list[tuple[int, int]]


def sampled(samples: Samples, intervals: int = 3, refresh_ms: int = REFRESH_MS) -> Heads:
    """One topic partition after these samples."""
    heads = Heads.empty(1, intervals)
    for at_ms, offset in samples:
        heads = sample(heads, np.array([0]), np.array([offset]), at_ms, refresh_ms)
    return heads


def ring(heads: Heads, row: int = 0) -> Samples:
    filled = heads.ring_at_ms[row] != EMPTY
    return list(
        zip(heads.ring_at_ms[row][filled].tolist(), heads.ring_offset[row][filled].tolist(), strict=True)
    )


@dataclass(frozen=True)
class Sampling:
    name: str
    samples: Samples
    ring: Samples
    newest: tuple[int, int]


SAMPLINGS = [
    Sampling("none yet", [], [], (UNKNOWN, UNKNOWN)),
    Sampling("the first", [(5, 70)], [(5, 70)], (5, 70)),
    Sampling("asked more often than they are kept", [(0, 1), (4_000, 2), (8_000, 3)], [(0, 1)], (8_000, 3)),
    Sampling(
        "kept when the refresh time has passed",
        [(0, 1), (4_000, 2), (10_000, 3), (14_000, 4)],
        [(0, 1), (10_000, 3)],
        (14_000, 4),
    ),
    Sampling("a poll a little early is in time", [(0, 1), (9_990, 2)], [(0, 1), (9_990, 2)], (9_990, 2)),
    Sampling(
        "the oldest goes",
        [(0, 1), (10_000, 2), (20_000, 3), (30_000, 4)],
        [(10_000, 2), (20_000, 3), (30_000, 4)],
        (30_000, 4),
    ),
    Sampling("a sample of yesterday", [(20_000, 5), (10_000, 4)], [(20_000, 5)], (20_000, 5)),
    Sampling("a head may fall", [(0, 9), (10_000, 2)], [(0, 9), (10_000, 2)], (10_000, 2)),
]


@pytest.mark.parametrize("case", SAMPLINGS, ids=lambda case: case.name)
def test_sample(case: Sampling) -> None:
    heads = sampled(case.samples)

    assert ring(heads) == case.ring
    assert (int(heads.newest_at_ms[0]), int(heads.newest_offset[0])) == case.newest
    assert lowest(heads).tolist() == [min((offset for _, offset in case.ring), default=UNKNOWN)]


def test_sample_leaves_other_topic_partitions_and_its_input_alone() -> None:
    heads = Heads.concat([sampled([(0, 1)]), sampled([(0, 2)]), Heads.empty(1, 3)])

    after = sample(heads, np.array([2, 0]), np.array([30, 10]), np.array([20_000, 20_001]), REFRESH_MS)

    assert [ring(after, row) for row in range(3)] == [[(0, 1), (20_001, 10)], [(0, 2)], [(20_000, 30)]]
    assert [ring(heads, row) for row in range(3)] == [[(0, 1)], [(0, 2)], []]
    assert ring(after.take(np.array([2])), 0) == [(20_000, 30)]


def test_a_ring_of_one_keeps_the_last() -> None:
    assert ring(sampled([(0, 1), (10_000, 2)], intervals=1)) == [(10_000, 2)]


@dataclass(frozen=True)
class Moment:
    name: str
    at_ms: int
    head: int


# kept: 100 at 10 s, 200 at 20 s, 260 at 30 s; newest: 300 at 35 s
MOMENTS = [
    Moment("before the first sample", 3_000, 100),
    Moment("before all time", -5, 100),
    Moment("at a sample", 20_000, 200),
    Moment("half way", 15_000, 150),
    Moment("rounded down", 20_199, 201),
    Moment("between the ring and the newest", 32_500, 280),
    Moment("at the newest", 35_000, 300),
    Moment("after the newest", 99_000, 300),
]


@pytest.mark.parametrize("case", MOMENTS, ids=lambda case: case.name)
@pytest.mark.parametrize("commits", [1, 5])
def test_head_at(case: Moment, commits: int) -> None:
    samples = sampled([(10_000, 100), (20_000, 200), (30_000, 260), (35_000, 300)], intervals=5)
    # more commits than topic partitions take another way through the arrays than fewer
    heads = Heads.concat([Heads.empty(1, 5), samples, Heads.empty(1, 5)])
    rows = np.full(commits, 1)

    assert head_at(heads, rows, np.full(commits, case.at_ms)).tolist() == [case.head] * commits


def test_head_at_is_unknown_without_samples() -> None:
    assert head_at(Heads.empty(2, 3), np.array([1]), np.array([5])).tolist() == [UNKNOWN]


def test_head_at_with_one_sample_is_that() -> None:
    heads = sampled([(10_000, 100)])

    assert head_at(heads, np.array([0, 0, 0]), np.array([1, 10_000, 99_000])).tolist() == [100] * 3


def test_head_at_does_not_overflow_between_far_samples() -> None:
    week = 604_800_000
    heads = sampled([(0, 0), (week, 10**15)])

    assert head_at(heads, np.array([0]), np.array([week // 2])).tolist() == [10**15 // 2]


def naive_head_at(samples: Samples, at_ms: int) -> int:
    """On the line between the samples round the moment."""
    if at_ms <= samples[0][0]:
        return samples[0][1]
    for (start, low), (end, high) in pairwise(samples):
        if start <= at_ms < end:
            return low + int(np.floor((high - low) * ((at_ms - start) / (end - start))))
    return samples[-1][1]


@given(
    steps=st.lists(st.tuples(st.integers(1, 30), st.integers(-5, 50)), min_size=1, max_size=12),
    moments=st.lists(st.integers(-10, 400), min_size=1, max_size=20),
    intervals=st.integers(1, 5),
    refresh_ms=st.sampled_from([1, 10, 50]),
)
def test_head_at_is_the_line_through_what_was_kept(
    steps: list[tuple[int, int]], moments: list[int], intervals: int, refresh_ms: int
) -> None:
    heads = Heads.empty(1, intervals)
    at_ms, offset = 0, 100
    for wait, growth in steps:
        at_ms, offset = at_ms + wait, offset + growth
        sample_into(heads, np.array([0]), np.array([offset]), at_ms, refresh_ms)
    kept = sorted({*ring(heads), (at_ms, offset)})

    found = head_at(heads, np.zeros(len(moments), dtype=np.int64), np.array(moments))

    assert found.tolist() == [naive_head_at(kept, moment) for moment in moments]


def test_lag_is_never_negative_and_unknown_without_a_head() -> None:
    assert lag_at(np.array([10, 10, UNKNOWN]), np.array([7, 12, 7])).tolist() == [3, 0, UNKNOWN]


def test_bracket_bounds_a_clock_that_is_wrong() -> None:
    times = np.array([50, 150, 250])

    assert bracket(times, 100, 200).tolist() == [100, 150, 200]
    assert bracket(times, np.array([0, 160, 0]), np.array([90, 190, 240])).tolist() == [50, 160, 240]
