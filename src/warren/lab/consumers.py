"""Simulated consumers: what they commit, when, and which verdict on it is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from warren.common.status import Status
from warren.lab.producers import Floats, Ints, Log, Rng

# processing time of a healthy consumer per message, minimum and maximum
_DELAY_S: Final = (0.01, 0.08)
# maximum delay of a commit
_LATE_S: Final = 0.02

OK: Final = frozenset({Status.OK})
WARN: Final = frozenset({Status.WARN})
STOP: Final = frozenset({Status.STOP})
STALL: Final = frozenset({Status.STALL})
REWIND: Final = frozenset({Status.REWIND})
# during changes, and where more than one verdict is right
ANY: Final = frozenset(Status)

Pause = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Label:
    """The verdicts that are right from this moment on."""

    since_s: float
    right: frozenset[Status]


@dataclass(frozen=True, slots=True)
class Committed:
    """The commits of one group on one partition, by time, and the right verdicts."""

    at_s: Floats
    offset: Ints
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """The input of a consumer: its partition, its commit interval, and its pauses."""

    log: Log
    length_s: float
    # between two commits; 0: after each message
    period_s: float
    pauses: tuple[Pause, ...] = ()


Consumer = Callable[[Rng, Setting], Committed]


def healthy(rng: Rng, setting: Setting) -> Committed:
    """Reads everything at once, and after a pause at several times the rate of the producer."""
    at = commit_times(rng, setting)
    capacity = 20 * setting.log.rate
    return Committed(at, _read(setting, at, capacity, _delays(rng, at)), (Label(0, OK),))


def bursty(rng: Rng, setting: Setting) -> Committed:
    """Needs some seconds for each burst, less than the time to the next."""
    at = commit_times(rng, setting)
    return Committed(at, _read(setting, at, 3 * setting.log.rate, _delays(rng, at)), (Label(0, OK),))


def per_message(rng: Rng, setting: Setting) -> Committed:
    """Commits after each message."""
    log = setting.log
    # messages that come at once are read one after the other
    done = log.written_s + _DELAY_S[0]
    step = min(0.002, 0.2 / log.rate)
    numbers = np.arange(len(done))
    done = np.maximum.accumulate(done - numbers * step) + numbers * step
    kept = ~log.marker & (done >= 0) & (done < setting.length_s)
    return Committed(done[kept], numbers[kept].astype(np.int64) + 1, (Label(0, OK),))


def per_batch(rng: Rng, setting: Setting) -> Committed:
    """Commits what it has read once a second, and only if there was something."""
    committed = healthy(rng, replace(setting, period_s=1.0))
    moves = np.append(True, np.diff(committed.offset) > 0)
    return replace(committed, at_s=committed.at_s[moves], offset=committed.offset[moves])


def behind(delay_s: float) -> Consumer:
    """Reads everything, always with this delay."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        at = commit_times(rng, setting)
        # earlier records count as read, so that the group is behind from the start
        return Committed(at, _client(setting.log, at - delay_s), (Label(0, OK),))

    return committed


def slow(share: float) -> Consumer:
    """Keeps up for some minutes, then reads this share of what comes in."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        at = commit_times(rng, setting)
        start = setting.length_s * (0.15 + 0.1 * rng.random())
        log = setting.log
        before = _client(log, at - 0.05)
        begin = _client(log, np.array([start - 0.05]))[0]
        work = share * log.rate * (at - start)
        there = log.head(at) - work
        later = np.minimum.accumulate(np.where(at > start, np.minimum(there, begin), begin)) + work
        offset = np.where(at > start, np.floor(later + 1e-6).astype(np.int64), before)
        return Committed(at, offset, (Label(0, OK), Label(start, WARN)))

    return committed


def catching_up(rng: Rng, setting: Setting) -> Committed:
    """Starts far behind and reads at 1.3 times the rate of the producer."""
    at = commit_times(rng, setting)
    log = setting.log
    start = setting.length_s * 0.2
    at = at[at > start]
    begin = log.head(np.array([start]))[0] - round(0.15 * setting.length_s * log.rate)
    work = begin + 1.3 * log.rate * (at - start)
    offset = np.minimum(log.head(at - 0.05), work.astype(np.int64))
    return Committed(at, np.maximum(offset, 0), (Label(0, OK),))


def dead(rng: Rng, setting: Setting) -> Committed:
    """Dies without leaving the group."""
    end = setting.length_s * (0.3 + 0.2 * rng.random())
    committed = healthy(rng, setting)
    kept = committed.at_s < end
    return Committed(committed.at_s[kept], committed.offset[kept], (Label(0, OK), Label(end, STOP)))


def stuck(rng: Rng, setting: Setting) -> Committed:
    """Commits the same offset from some moment on."""
    begin = setting.length_s * (0.3 + 0.2 * rng.random())
    committed = healthy(rng, setting)
    last = committed.offset[max(int(np.searchsorted(committed.at_s, begin)) - 1, 0)]
    offset = np.where(committed.at_s < begin, committed.offset, last)
    return Committed(committed.at_s, offset, (Label(0, OK), Label(begin, STALL)))


def rewound_once(rng: Rng, setting: Setting) -> Committed:
    """Rewinds by some minutes of messages and reads them again, fast."""
    at = commit_times(rng, setting)
    begin = setting.length_s * (0.3 + 0.2 * rng.random())
    log = setting.log
    far = round(log.rate * 12 * max(setting.period_s, 1.0))
    height = _client(log, np.array([begin]))[0]
    again = height - far + 3 * log.rate * (at - begin)
    there = _client(log, at - 0.05)
    offset = np.where(at < begin, there, np.minimum(there, again.astype(np.int64)))
    first = int(np.searchsorted(at, begin))
    back = int(np.argmax((offset >= offset[max(first - 1, 0)]) & (np.arange(len(at)) >= first)))
    labels = (Label(0, OK), Label(at[first], REWIND), Label(at[back], OK))
    return Committed(at, np.maximum(offset, 0), labels)


def rewinding(rng: Rng, setting: Setting) -> Committed:
    """Rewinds repeatedly, each time a little further than before."""
    at = commit_times(rng, setting)
    begin = setting.length_s * 0.3
    log = setting.log
    offset = _client(log, at - 0.05)
    first = int(np.searchsorted(at, begin))
    steps = np.arange(len(at) - first)
    stride = max(round(log.rate * max(setting.period_s, 1.0) / 2), 1)
    fallen = offset[first - 1] - (steps // 4) * (3 * stride + 1) + (steps % 4) * stride - 4 * stride
    offset[first:] = np.maximum(fallen, steps % 2)
    return Committed(at, offset, (Label(0, OK), Label(at[first], REWIND)))


def idle(rng: Rng, setting: Setting) -> Committed:
    """Reads everything, then nothing more is written, and it stops committing."""
    committed = per_batch(rng, setting)
    return replace(committed, labels=(Label(0, OK),))


def stopped_on_purpose(rng: Rng, setting: Setting) -> Committed:
    """Is stopped for some minutes while messages come in: STOP is right, and OK soon after its return."""
    begin = setting.length_s * (0.3 + 0.1 * rng.random())
    end = begin + 600
    paused = replace(setting, pauses=(*setting.pauses, (begin, end)))
    committed = healthy(rng, paused)
    return replace(committed, labels=(Label(0, OK), Label(begin, STOP), Label(end, OK)))


def commit_times(rng: Rng, setting: Setting) -> Floats:
    """When commits are due, without those in pauses; the first after a pause comes at its end."""
    period = setting.period_s
    at = np.arange(rng.random() * period, setting.length_s, period)
    at = at + rng.random(len(at)) * min(_LATE_S, period / 4)
    for start, end in setting.pauses:
        at = np.sort(np.append(at[(at < start) | (at >= end)], end + 0.2))
    return at[at < setting.length_s]


def _delays(rng: Rng, at: Floats) -> Floats:
    least, most = _DELAY_S
    return least + (most - least) * rng.random(len(at))


def _client(log: Log, at_s: Floats) -> Ints:
    """The position of a consumer that has read up to the head at these moments."""
    return log.without_trailing_markers(log.head(at_s))


def _read(setting: Setting, at: Floats, capacity: float, delay: Floats) -> Ints:
    """The position of a consumer at its commits: at the head, or limited by its capacity."""
    log = setting.log
    there = log.head(np.maximum.accumulate(at - delay))
    worked = at.copy()
    for start, end in setting.pauses:
        worked -= np.clip(at - start, 0, end - start)
    work = capacity * worked
    done = np.minimum.accumulate(there - work) + work
    return log.without_trailing_markers(np.minimum(there, np.floor(done + 1e-6).astype(np.int64)))
