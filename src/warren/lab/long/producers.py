"""Producers whose traffic changes over hours: when the messages of one partition are written, in seconds."""

from __future__ import annotations

from typing import Final

import numpy as np

from warren.lab.producers import Log, Producer, Rng, bursts, poisson

_HOUR_S: Final = 3_600.0
# inflow in a spike, and how long it lasts: a consumer at 80 % has worked it off eight minutes after its start
_SPIKE: Final = 3.0
_SPIKE_S: Final = 60.0
# times without messages: one in so many hours, and how long
_IDLE_EVERY_S: Final = 3 * _HOUR_S
_IDLE_S: Final = (1_200.0, 5_400.0)
# aborted transactions: seconds between two, and how many records they have
_ABORTED_EVERY_S: Final = 900.0
_ABORTED: Final = (2, 60)
# a partition that becomes hot: after so many hours, and its inflow then; load 0.8 becomes 1.1
_HOT_AFTER_S: Final = 2.5 * _HOUR_S
_HOT: Final = 1.1 / 0.8


def spikes(rng: Rng, length_s: float, rate: float) -> Log:
    """Three times the rate for a minute, once an hour."""
    starts = np.arange(-rng.random() * _HOUR_S, length_s, _HOUR_S)
    count = rng.poisson(rate * (_SPIKE - 1) * _SPIKE_S, len(starts))
    at = np.repeat(starts, count) + rng.random(int(count.sum())) * _SPIKE_S
    at = np.append(at, poisson(rng, length_s, rate).written_s)
    return Log.of(np.sort(at[(at >= 0) & (at < length_s)]), rate)


def idle_times(rng: Rng, length_s: float, rate: float) -> Log:
    """Nothing is written for half an hour or more, some times a day."""
    return _with_idle_times(rng, poisson(rng, length_s, rate), length_s)[0]


def aborted(rng: Rng, length_s: float, rate: float) -> Log:
    """Some transactions an hour are aborted, also the last before a time without messages."""
    log, idle = _with_idle_times(rng, poisson(rng, length_s, rate), length_s)
    some = rng.integers(0, len(log.written_s), rng.poisson(length_s / _ABORTED_EVERY_S))
    last = np.append(some, np.searchsorted(log.written_s, idle))
    marker = log.marker.copy()
    for end, count in zip(last.tolist(), rng.integers(*_ABORTED, len(last)).tolist(), strict=True):
        marker[max(end - count, 0) : end] = True
    return Log(log.written_s, marker, rate)


def hot(rng: Rng, length_s: float, rate: float) -> Log:
    """More is written from some moment on: a key of this partition is in demand."""
    calm = poisson(rng, length_s, rate).written_s
    start = _HOT_AFTER_S + rng.random() * _HOUR_S
    left_s = max(length_s - start, 0.0)
    more = start + poisson(rng, left_s, rate * (_HOT - 1)).written_s
    written = np.sort(np.append(calm, more))
    return Log(written, np.zeros(len(written), dtype=np.bool_), rate, hot_s=start)


def _with_idle_times(rng: Rng, log: Log, length_s: float) -> tuple[Log, list[float]]:
    """The log without what would have been written in idle times, and when those begin."""
    least, most = _IDLE_S
    kept = np.ones(len(log.written_s), dtype=np.bool_)
    starts: list[float] = []
    for first_s in np.arange(0.0, length_s, _IDLE_EVERY_S).tolist():
        start = first_s + rng.random() * (_IDLE_EVERY_S - most)
        begin, end = np.searchsorted(log.written_s, [start, start + least + (most - least) * rng.random()])
        kept[begin:end] = False
        starts.append(start)
    return Log(log.written_s[kept], log.marker[kept], log.rate), starts


# name: producer
LONG_PRODUCERS: Final[dict[str, Producer]] = {
    "batches 10 min": bursts(600.0),
    "batches 60 min": bursts(3_600.0),
    "hourly spikes": spikes,
    "idle times": idle_times,
    "aborted transactions": aborted,
    "hot": hot,
}
