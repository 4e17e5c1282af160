"""Traffic that changes over hours: where it changes, and by how much."""

from __future__ import annotations

import numpy as np
import pytest

from warren.lab.long.producers import LONG_PRODUCERS
from warren.lab.producers import Log

DAY_S = 86_400.0
RATE = 20.0


def written(name: str, seed: int = 1) -> Log:
    return LONG_PRODUCERS[name](np.random.default_rng(seed), DAY_S, RATE)


def per_minute(log: Log) -> list[int]:
    counts, _ = np.histogram(log.written_s, np.arange(0.0, DAY_S + 1, 60.0))
    return [int(each) for each in counts]


@pytest.mark.parametrize("name", LONG_PRODUCERS)
def test_records_come_in_the_order_of_their_times(name: str) -> None:
    log = written(name)
    assert np.all(np.diff(log.written_s) >= 0)
    assert log.written_s[0] >= 0
    assert log.written_s[-1] < DAY_S
    assert len(log.marker) == len(log.written_s) > DAY_S


@pytest.mark.parametrize("name", LONG_PRODUCERS)
def test_a_seed_is_a_day(name: str) -> None:
    first, again, other = written(name, 1), written(name, 1), written(name, 2)
    assert np.array_equal(first.written_s, again.written_s)
    assert np.array_equal(first.marker, again.marker)
    assert not np.array_equal(first.written_s, other.written_s)


def test_spikes_come_once_an_hour() -> None:
    high = np.flatnonzero(np.array(per_minute(written("hourly spikes"))) > 1.5 * 60 * RATE)
    hours = np.diff(high)[np.diff(high) > 1]
    assert len(hours) >= 22
    assert set(hours.tolist()) <= {59, 60}


def test_idle_times_are_longer_than_twenty_minutes() -> None:
    gaps = np.diff(written("idle times").written_s)
    idle = gaps[gaps > 60]
    assert len(idle) >= 7
    assert idle.min() > 1_200
    assert idle.max() < 5_500


def test_the_last_transaction_before_an_idle_time_is_aborted() -> None:
    log = written("aborted transactions")
    last = np.flatnonzero(np.diff(log.written_s) > 60)
    assert len(last) >= 7
    assert log.marker[last].all()
    # more than the one record that a marker is
    assert log.marker[last - 1].all()
    # and others now and then, but few
    assert 0.0005 < log.marker.mean() < 0.01


def test_a_hot_partition_says_since_when() -> None:
    log = written("hot")
    before = np.count_nonzero(log.written_s < log.hot_s) / log.hot_s
    after = np.count_nonzero(log.written_s >= log.hot_s) / (DAY_S - log.hot_s)
    assert before == pytest.approx(RATE, rel=0.02)
    # 80 % of what a consumer can do becomes 110 %
    assert after / before == pytest.approx(1.1 / 0.8, rel=0.02)
