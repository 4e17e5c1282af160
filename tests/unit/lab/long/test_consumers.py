"""What consumers of long runs commit, and since when which verdict is right."""

from __future__ import annotations

import numpy as np
import pytest

from warren.lab.consumers import ANY, OK, STALL, STOP, WARN, Committed, Consumer, Setting
from warren.lab.long import consumers
from warren.lab.long.consumers import (
    HEALTHY_S,
    checkpoints,
    job,
    only_when_read,
    outages,
    overloaded,
    queue,
    with_failovers,
    with_late_commits,
)
from warren.lab.long.producers import LONG_PRODUCERS
from warren.lab.producers import PRODUCERS, Floats, Ints, Log, since

LENGTH_S = 6 * 3_600.0
RATE = 20.0
BEFORE_S = 400.0


def setting(producer: str = "poisson", period_s: float = 5.0, rate: float = RATE) -> Setting:
    made = {**PRODUCERS, **LONG_PRODUCERS}[producer](np.random.default_rng(1), LENGTH_S + BEFORE_S, rate)
    return Setting(since(made, BEFORE_S), LENGTH_S, period_s)


def committed(consumer: Consumer, given: Setting, seed: int = 2) -> Committed:
    return consumer(np.random.default_rng(seed), given)


def lag(log: Log, made: Committed) -> Ints:
    return log.head(made.at_s) - made.offset


def rights(made: Committed) -> list[object]:
    return [label.right for label in made.labels]


def trouble_s(made: Committed) -> float:
    """When the trouble begins: after some hours, at some moment."""
    start = made.labels[1].since_s
    assert HEALTHY_S <= start <= HEALTHY_S + 1.5 * 3_600
    return start


def before(made: Committed, at_s: float) -> Ints:
    return made.offset[made.at_s < at_s]


def test_a_queue_is_never_ahead_and_never_far_behind() -> None:
    given = setting()
    made = committed(queue(0.8), given)
    assert rights(made) == [OK]
    assert len(made.at_s) == pytest.approx(LENGTH_S / 5, abs=2)
    assert lag(given.log, made).min() >= 0
    # in the mean load / (1 - load) messages
    assert lag(given.log, made).mean() == pytest.approx(4.0, rel=0.2)


def test_day_and_night_are_a_load_of_at_most_nine_tenths() -> None:
    given = setting("day and night")
    made = committed(queue(0.9 / 1.9), given)
    assert 0 < lag(given.log, made).mean() < 9


def test_a_checkpoint_commits_the_position_of_its_start() -> None:
    given = setting(period_s=300.0)
    made = committed(queue(1e-6, rhythm=checkpoints), given)
    begun = np.sort(given.log.written_s)[made.offset - 1]
    late = made.at_s - begun
    assert late.min() >= 1.0
    assert late.max() < 150.0
    assert np.ptp(late) > 3.0
    # the starts are even, whatever the checkpoints take
    assert np.diff(begun) == pytest.approx(300.0, abs=1.0)


@pytest.mark.parametrize("every_s", [900.0, 3_600.0])
def test_a_job_reads_what_was_there_and_ends(every_s: float) -> None:
    given = setting()
    made = committed(job(every_s), given)
    pauses = np.diff(made.at_s)
    ends = np.append(np.flatnonzero(pauses > every_s / 2), len(made.at_s) - 1)
    assert len(ends) == LENGTH_S / every_s
    # nothing that was there when it started is left: it took a tenth of the time
    started = made.at_s[ends] - every_s / 10
    assert made.offset[ends] == pytest.approx(given.log.head(started), abs=0.1 * RATE * every_s)
    assert np.all(np.diff(made.offset) >= 0)
    assert np.all(lag(given.log, made) >= 0)
    assert np.delete(pauses, ends[:-1]).max() == pytest.approx(5.0)


def test_nothing_is_committed_when_nothing_was_read() -> None:
    given = setting(rate=1 / 600)
    made = committed(only_when_read(queue(1e-4)), given)
    assert np.all(np.diff(made.offset) > 0)
    assert 10 < len(made.at_s) < 80


def test_in_a_failover_commits_fail_and_reading_goes_on() -> None:
    given = setting()
    plain, made = (committed(each, given) for each in (queue(0.8), with_failovers(queue(0.8))))
    gaps = np.diff(made.at_s)
    assert 20 <= gaps.max() < 100
    kept = np.isin(plain.at_s, made.at_s)
    assert np.array_equal(plain.offset[kept], made.offset)
    assert 3 < np.count_nonzero(~kept) < 20


def test_a_commit_that_is_sent_again_is_older_and_alone() -> None:
    given = setting()
    plain, made = (committed(each, given) for each in (queue(0.8), with_late_commits(queue(0.8))))
    falls = 1 + np.flatnonzero(np.diff(made.offset) < 0)
    assert len(falls) == len(made.at_s) - len(plain.at_s) == 1
    assert np.all(np.diff(made.at_s) >= 0)
    assert np.isin(made.offset[falls], plain.offset).all()
    assert np.all(made.offset[falls + 1] >= made.offset[falls - 1])


@pytest.mark.parametrize(("load", "off"), [(1.5, 0.03), (1.1, 0.07), (1.02, 0.4)])
def test_more_comes_in_than_can_be_done_from_the_label_on(load: float, off: float) -> None:
    given = setting()
    made = committed(overloaded(load), given)
    assert rights(made) == [OK, WARN]
    start = trouble_s(made)
    behind = lag(given.log, made)
    assert behind[made.at_s < start].max() < 100
    growth = RATE * (1 - 1 / load) * (LENGTH_S - start)
    assert behind[-1] == pytest.approx(growth, rel=off)


def test_a_hot_partition_is_labelled_from_its_moment_on() -> None:
    given = setting("hot")
    made = committed(consumers.overrun, given)
    assert made.labels[1].since_s == given.log.hot_s
    start = trouble_s(made)
    behind = lag(given.log, made)
    assert behind[made.at_s < start].max() < 100
    assert behind[-1] > 1_000


@pytest.mark.parametrize("period_s", [5.0, 60.0, 300.0])
def test_the_dead_commit_nothing_from_the_label_on(period_s: float) -> None:
    made = committed(consumers.dead(), setting(period_s=period_s))
    assert rights(made) == [OK, STOP]
    assert 0 < trouble_s(made) - made.at_s[-1] <= period_s + 1


def test_the_stuck_commit_the_same_offset_from_the_label_on() -> None:
    made = committed(consumers.stuck, setting())
    assert rights(made) == [OK, STALL]
    start = trouble_s(made)
    later = made.offset[made.at_s > start]
    assert len(later) > 1_000
    assert len(set(later.tolist())) == 1
    assert before(made, start)[-1] <= later[0] < before(made, start)[-1] + 10 * RATE
    assert np.all(np.diff(before(made, start)) > 0)


def test_each_outage_is_labelled_and_only_ok_is_right_when_the_lag_shrinks() -> None:
    given = setting()
    made = committed(outages(3), given)
    assert rights(made) == [OK, *[STOP, ANY, OK] * 3]
    behind = lag(given.log, made)
    for stop, back, ok in zip(*(made.labels[first::3] for first in (1, 2, 3)), strict=True):
        assert back.since_s - stop.since_s == pytest.approx(1_800)
        assert not np.any((made.at_s > stop.since_s) & (made.at_s < back.since_s))
        first, later = np.searchsorted(made.at_s, [back.since_s, ok.since_s])
        assert behind[first] > 30_000
        # a quarter more than comes in, for five minutes
        assert behind[first] - behind[later] == pytest.approx(300 * RATE / 4, rel=0.3)


def test_a_step_is_five_minutes_behind_and_flat() -> None:
    given = setting()
    made = committed(consumers.step, given)
    assert rights(made) == [OK, WARN]
    start = trouble_s(made)
    age = age_s(given.log, made)
    assert age[made.at_s < start].max() < 10
    assert age[made.at_s > start + 301] == pytest.approx(300.0, abs=2.0)
    assert not np.any((made.at_s > start) & (made.at_s < start + 300))


def age_s(log: Log, made: Committed) -> Floats:
    """How old the next message is at each commit."""
    return np.asarray(made.at_s - log.written_s[np.minimum(made.offset, len(log.written_s) - 1)])


def test_a_spike_is_above_capacity_and_worked_off_in_ten_minutes() -> None:
    given = setting("hourly spikes")
    made = committed(queue(0.8), given)
    high = made.at_s[age_s(given.log, made) > 5]
    starts = high[np.append(True, np.diff(high) > 1_800)]
    ends = high[np.append(np.diff(high) > 1_800, True)]
    assert len(starts) >= 5
    assert (ends - starts).max() < 600
    assert (ends - starts).min() > 120


def test_what_was_aborted_before_an_idle_time_is_never_read() -> None:
    given = setting("aborted transactions")
    made = committed(queue(0.5), given)
    log = given.log
    last = np.flatnonzero(np.diff(log.written_s) > 60)
    idle = np.searchsorted(made.at_s, log.written_s[last] + 300)
    left = lag(log, made)[idle]
    assert len(left) >= 1
    assert left.min() > 1


@pytest.mark.parametrize(
    "consumer",
    [queue(0.9), overloaded(1.1), outages(3), with_failovers(queue(0.8)), with_late_commits(queue(0.8))],
    ids=["queue", "overloaded", "outages", "failovers", "late commits"],
)
def test_a_seed_is_a_consumer(consumer: Consumer) -> None:
    given = setting()
    first, again, other = (committed(consumer, given, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.offset, again.offset)
    assert first.labels == again.labels
    assert not np.array_equal(first.offset, other.offset)
