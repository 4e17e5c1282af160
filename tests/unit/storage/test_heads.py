"""Looks at heads: which are kept, what was certainly there at a moment, and what the head was by estimate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage.heads import (
    LOOKS,
    Heads,
    bracket,
    certain,
    head_at,
    head_before,
    lag_at,
    look_into,
    lowest,
)

REFRESH_MS = 10_000
# (time, head) each
Looks = list[tuple[int, int]]


def looked(looks: Looks, intervals: int = 3, refresh_ms: int = REFRESH_MS) -> Heads:
    """One topic partition after these looks, with both clocks alike."""
    heads = Heads.empty(1, intervals)
    for at_ms, offset in looks:
        look(heads, at_ms, offset, refresh_ms=refresh_ms)
    return heads


def look(
    heads: Heads, at_ms: int, offset: int, steady_ms: int | None = None, refresh_ms: int = REFRESH_MS
) -> None:
    look_into(
        heads,
        np.array([0]),
        np.array([offset]),
        at_ms=at_ms,
        steady_ms=at_ms if steady_ms is None else steady_ms,
        refresh_ms=refresh_ms,
    )


def samples(heads: Heads, row: int = 0) -> Looks:
    return _pairs(heads.sample_at_ms[row], heads.sample_offset[row])


def kept(heads: Heads, row: int = 0) -> Looks:
    return _pairs(heads.look_at_ms[row], heads.look_offset[row])


def _pairs(at_ms: np.ndarray, offset: np.ndarray) -> Looks:
    filled = at_ms != EMPTY
    return list(zip(at_ms[filled].tolist(), offset[filled].tolist(), strict=True))


@dataclass(frozen=True)
class Sampling:
    name: str
    looks: Looks
    samples: Looks


SAMPLINGS = [
    Sampling("none yet", [], []),
    Sampling("the first", [(5, 70)], [(5, 70)]),
    Sampling("asked more often than samples are taken", [(0, 1), (4_000, 2), (8_000, 3)], [(0, 1)]),
    Sampling("one in each stretch", [(0, 1), (4_000, 2), (10_000, 3), (14_000, 4)], [(0, 1), (10_000, 3)]),
    Sampling("a look a little late, the next one early", [(900, 1), (10_100, 2)], [(900, 1), (10_100, 2)]),
    Sampling(
        "the oldest goes",
        [(0, 1), (10_000, 2), (20_000, 3), (30_000, 4)],
        [(10_000, 2), (20_000, 3), (30_000, 4)],
    ),
    Sampling("a head may fall", [(0, 9), (10_000, 2)], [(0, 9), (10_000, 2)]),
]


@pytest.mark.parametrize("case", SAMPLINGS, ids=lambda case: case.name)
def test_samples(case: Sampling) -> None:
    heads = looked(case.looks)
    assert samples(heads) == case.samples
    assert lowest(heads, REFRESH_MS).tolist() == [
        min((offset for _, offset in case.samples), default=UNKNOWN)
    ]
    assert kept(heads) == case.looks[-LOOKS:]


def test_a_moment_ago_lasted_longer_because_samples_that_came_early_were_skipped() -> None:
    """Looks about every second, now a little more and now a little less: as many samples as seconds."""
    rng = np.random.default_rng(5)
    at_ms = np.cumsum(rng.integers(900, 1_000, 200))
    heads = looked([(int(at), int(at)) for at in at_ms], intervals=10, refresh_ms=1_000)
    oldest = int(heads.sample_at_ms[0, 0])
    assert at_ms[-1] - oldest <= 10_000


def test_a_moment_ago_does_not_last_longer_because_looks_are_far_apart() -> None:
    heads = looked([(0, 1), (5_000, 2), (10_000, 3)], intervals=10, refresh_ms=1_000)
    assert lowest(heads, 1_000).tolist() == [2]


def test_looks_and_samples_are_those_of_the_rows_that_were_seen() -> None:
    heads = Heads.concat([looked([(0, 1)]), looked([(0, 2)]), Heads.empty(1, 3)])
    rows, offsets = np.array([2, 0]), np.array([30, 10])
    look_into(heads, rows, offsets, at_ms=20_000, steady_ms=20_000, refresh_ms=REFRESH_MS)
    assert [samples(heads, row) for row in range(3)] == [[(0, 1), (20_000, 10)], [(0, 2)], [(20_000, 30)]]
    assert [kept(heads, row) for row in range(3)] == [[(0, 1), (20_000, 10)], [(0, 2)], [(20_000, 30)]]
    assert kept(heads.take(np.array([2]))) == [(20_000, 30)]
    assert heads.newest_offset.tolist() == [10, 2, 30]


HOUR_MS = 3_600_000


@pytest.mark.parametrize("jump_ms", [3 * HOUR_MS, -3 * HOUR_MS])
def test_a_clock_that_jumps_and_comes_back_leaves_the_looks_in_their_order(jump_ms: int) -> None:
    heads = Heads.empty(1, 3)
    now = 10 * HOUR_MS
    for step in range(12):
        wrong = jump_ms if 4 <= step < 6 else 0
        look(heads, now + step * 1_000 + wrong, 100 + step, steady_ms=step * 1_000, refresh_ms=1_000)
    assert [offset for _, offset in kept(heads)] == [109, 110, 111]
    assert samples(heads) == [(9_000, 109), (10_000, 110), (11_000, 111)]
    assert head_at(heads, np.array([0]), np.array([now + 10_500])).tolist() == [110]


def test_a_clock_that_was_set_back_keeps_former_looks_before_the_last() -> None:
    heads = looked([(50_000, 10), (51_000, 20)])
    look(heads, 1_000, 30, steady_ms=52_000)
    assert kept(heads) == [(1_000, 10), (1_000, 20), (1_000, 30)]
    assert head_at(heads, np.array([0, 0]), np.array([900, 1_000])).tolist() == [10, 30]


@dataclass(frozen=True)
class Moment:
    name: str
    at_ms: int
    certain: int
    estimate: int


# three looks: 100 at 10 s, 200 at 20 s, 260 at 30 s
MOMENTS = [
    Moment("before the first look", 3_000, 100, 100),
    Moment("before all time", -5, 100, 100),
    Moment("at a look", 20_000, 200, 200),
    Moment("half way", 15_000, 100, 150),
    Moment("rounded down", 20_199, 200, 201),
    Moment("just before a look", 29_999, 200, 259),
    Moment("at the last look", 30_000, 260, 260),
    Moment("after the last look", 99_000, 260, 260),
]


@pytest.mark.parametrize("case", MOMENTS, ids=lambda case: case.name)
@pytest.mark.parametrize("commits", [1, 5])
def test_the_head_at_a_moment(case: Moment, commits: int) -> None:
    heads = Heads.concat([Heads.empty(1, 5), looked([(10_000, 100), (20_000, 200), (30_000, 260)], 5)])
    rows, moments = np.full(commits, 1), np.full(commits, case.at_ms)
    assert head_before(heads, rows, moments).tolist() == [case.certain] * commits
    assert head_at(heads, rows, moments).tolist() == [case.estimate] * commits


def test_the_head_is_unknown_without_a_look() -> None:
    for head in (head_at, head_before):
        assert head(Heads.empty(2, 3), np.array([1]), np.array([5])).tolist() == [UNKNOWN]


def test_with_one_look_the_head_is_that() -> None:
    moments = np.array([1, 10_000, 99_000])
    for head in (head_at, head_before):
        assert head(looked([(10_000, 100)]), np.array([0, 0, 0]), moments).tolist() == [100] * 3


def test_messages_that_were_lost_with_their_leader_are_not_certain() -> None:
    heads = looked([(10_000, 100), (20_000, 80)])
    assert head_before(heads, np.array([0]), np.array([15_000])).tolist() == [80]


def test_the_estimate_does_not_overflow_between_far_looks() -> None:
    week = 604_800_000
    heads = looked([(0, 0), (week, 10**15)])
    assert head_at(heads, np.array([0]), np.array([week // 2])).tolist() == [10**15 // 2]


def naive_head_at(looks: Looks, at_ms: int) -> int:
    """On the line between the looks round the moment."""
    if at_ms <= looks[0][0]:
        return looks[0][1]
    for (start, low), (end, high) in pairwise(looks):
        if start <= at_ms < end:
            return low + int(np.floor((high - low) * ((at_ms - start) / (end - start))))
    return looks[-1][1]


def naive_head_before(looks: Looks, at_ms: int) -> int:
    """That of the last look not after the moment."""
    return [head for at, head in looks if at <= at_ms or (at, head) == looks[0]][-1]


@given(
    steps=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 50)), min_size=1, max_size=12),
    moments=st.lists(st.integers(-10, 400), min_size=1, max_size=20),
)
def test_bounds_are_those_of_the_looks_that_were_kept(steps: Looks, moments: list[int]) -> None:
    heads = Heads.empty(1, 3)
    at_ms, offset = 0, 100
    for wait, growth in steps:
        at_ms, offset = at_ms + wait, offset + growth
        look(heads, at_ms, offset)
    looks, rows = kept(heads), np.zeros(len(moments), dtype=np.int64)
    estimate, before = (head(heads, rows, np.array(moments)) for head in (head_at, head_before))
    assert estimate.tolist() == [naive_head_at(looks, moment) for moment in moments]
    assert before.tolist() == [naive_head_before(looks, moment) for moment in moments]
    assert (before <= estimate).all()


def test_lag_is_never_negative_and_unknown_without_a_head() -> None:
    assert lag_at(np.array([10, 10, UNKNOWN]), np.array([7, 12, 7])).tolist() == [3, 0, UNKNOWN]


def test_bracket_bounds_a_clock_that_is_wrong() -> None:
    times = np.array([50, 150, 250])

    assert bracket(times, 100, 200).tolist() == [100, 150, 200]
    assert bracket(times, np.array([0, 160, 0]), np.array([90, 190, 240])).tolist() == [50, 160, 240]


def test_of_a_clock_that_is_wrong_the_beginning_of_the_span_is_certain() -> None:
    assert certain(np.array([50, 100, 150, 200, 250]), 100, 200).tolist() == [100, 100, 150, 200, 100]
