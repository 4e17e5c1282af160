"""Consumers of long runs: what they commit, when, and which verdict on it is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from warren.lab.consumers import (
    ANY,
    OK,
    STALL,
    STOP,
    WARN,
    Committed,
    Consumer,
    Label,
    Pause,
    Setting,
    commit_times,
)
from warren.lab.long.queues import Service, done_s, exponential, position
from warren.lab.producers import Floats, Ints, Mask, Rng

_HOUR_S: Final = 3_600.0
# trouble begins after so long, at some moment of the next hour
HEALTHY_S: Final = 2 * _HOUR_S
# the load before trouble
_USUAL: Final = 0.8
_OUTAGE_S: Final = 1_800.0
# after an outage the lag shrinks by so many seconds before only OK is right: by a twentieth at 1.3 times the inflow
_SHRINKS_S: Final = 300.0
# how far behind a consumer is that does not catch up after a pause
_STEP_S: Final = 300.0
# how long a checkpoint takes: at least, and on average beyond that
_CHECKPOINT_S: Final = (1.0, 4.0)
# a job reads so many times faster than messages come, and commits in between
_JOB_SPEED: Final = 10.0
_JOB_COMMITS_S: Final = 5.0
# commits fail while another broker takes over the group: at least and at most, and how often
_FAILOVER_S: Final = (20.0, 90.0)
_FAILOVERS_EVERY_S: Final = 6 * _HOUR_S
# a commit that is sent again: how often, and how many commits it is late
_AGAIN_EVERY_S: Final = 6 * _HOUR_S
_AGAIN_LATE: Final = (2, 6)

# when commits come, and the moments whose positions they hold
Rhythm = Callable[[Rng, Setting], tuple[Floats, Floats]]


def periodic(rng: Rng, setting: Setting) -> tuple[Floats, Floats]:
    """The position of the moment, once a period."""
    at = commit_times(rng, setting)
    return at, at


def checkpoints(rng: Rng, setting: Setting) -> tuple[Floats, Floats]:
    """The position at the start of a checkpoint, committed when it is complete."""
    begun = np.arange(rng.random() * setting.period_s, setting.length_s, setting.period_s)
    least, beyond = _CHECKPOINT_S
    took = np.minimum(least + beyond * rng.standard_exponential(len(begun)), setting.period_s / 2)
    return begun + took, begun


def queue(load: float, service: Service = exponential, rhythm: Rhythm = periodic) -> Consumer:
    """Is busy for this share of the time, and keeps up."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        at, moment = rhythm(rng, setting)
        return Committed(at, _worked_off(rng, setting, load, service, moment), (Label(0, OK),))

    return committed


def only_when_read(consumer: Consumer) -> Consumer:
    """Commits only if there was something."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        every = consumer(rng, setting)
        moves = np.append(True, np.diff(every.offset) > 0)
        return replace(every, at_s=every.at_s[moves], offset=every.offset[moves])

    return committed


def job(every_s: float) -> Consumer:
    """Starts once in a while, reads what is there, and ends."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        log = setting.log
        starts = np.arange(rng.random() * every_s, setting.length_s, every_s)
        ends = log.head(starts)
        begins = np.append(log.head(starts[:1] - every_s), ends[:-1])
        speed = _JOB_SPEED * log.rate
        times: list[Floats] = []
        offsets: list[Ints] = []
        for start, begin, end in zip(starts.tolist(), begins.tolist(), ends.tolist(), strict=True):
            takes = (end - begin) / speed
            since = np.append(np.arange(_JOB_COMMITS_S, takes, _JOB_COMMITS_S), takes)
            times.append(start + since)
            offsets.append(np.minimum(begin + np.floor(since * speed + 0.5).astype(np.int64), end))
        return Committed(np.concatenate(times), np.concatenate(offsets), (Label(0, OK),))

    return committed


def with_failovers(consumer: Consumer) -> Consumer:
    """Commits fail for a minute or so, some times a day, and reading goes on."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        every = consumer(rng, setting)
        kept = np.ones(len(every.at_s), dtype=np.bool_)
        least, most = _FAILOVER_S
        for start in _now_and_then(rng, setting.length_s, _FAILOVERS_EVERY_S).tolist():
            kept &= ~_within(every.at_s, (start, start + least + (most - least) * rng.random()))
        return replace(every, at_s=every.at_s[kept], offset=every.offset[kept])

    return committed


def with_late_commits(consumer: Consumer) -> Consumer:
    """A commit is sent again, after newer ones, some times a day."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        every = consumer(rng, setting)
        when = _now_and_then(rng, setting.length_s, _AGAIN_EVERY_S)
        before = np.searchsorted(every.at_s, when)
        older = np.maximum(before - rng.integers(*_AGAIN_LATE, len(when)), 0)
        return replace(
            every,
            at_s=np.insert(every.at_s, before, when),
            offset=np.insert(every.offset, before, every.offset[older]),
        )

    return committed


def overloaded(load: float, service: Service = exponential, before: float = _USUAL) -> Consumer:
    """Keeps up for hours, then needs longer for each message: more comes in than it can do."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        at = commit_times(rng, setting)
        start = _start_s(rng)
        loads = np.where(setting.log.written_s < start, before, load)
        offset = _worked_off(rng, setting, loads, service, at)
        return Committed(at, offset, (Label(0, OK), Label(start, WARN)))

    return committed


def overrun(rng: Rng, setting: Setting) -> Committed:
    """Is as quick as ever, while its partition becomes hot."""
    healthy = queue(_USUAL)(rng, setting)
    return replace(healthy, labels=(Label(0, OK), Label(setting.log.hot_s, WARN)))


def dead(rhythm: Rhythm = periodic) -> Consumer:
    """Dies without leaving the group."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        end = _start_s(rng)
        healthy = queue(_USUAL, rhythm=rhythm)(rng, setting)
        kept = healthy.at_s < end
        return Committed(healthy.at_s[kept], healthy.offset[kept], (Label(0, OK), Label(end, STOP)))

    return committed


def stuck(rng: Rng, setting: Setting) -> Committed:
    """Commits the same offset from some moment on."""
    at, begin = commit_times(rng, setting), _start_s(rng)
    offset = _worked_off(rng, setting, _USUAL, exponential, np.minimum(at, begin))
    return Committed(at, offset, (Label(0, OK), Label(begin, STALL)))


def outages(count: int, load: float = _USUAL) -> Consumer:
    """Is away for half an hour, hours apart, and works it off each time."""

    def committed(rng: Rng, setting: Setting) -> Committed:
        apart = (setting.length_s - HEALTHY_S) / count
        starts = HEALTHY_S + apart * (np.arange(count) + 0.4 * rng.random(count))
        away = tuple((start, start + _OUTAGE_S) for start in starts.tolist())
        labels = [Label(0, OK)]
        for start, end in away:
            labels += [Label(start, STOP), Label(end, ANY), Label(end + _SHRINKS_S, OK)]
        healthy = queue(load)(rng, replace(setting, pauses=away))
        return replace(healthy, labels=tuple(labels))

    return committed


def step(rng: Rng, setting: Setting) -> Committed:
    """Is away for some minutes after hours at the head, and stays as far behind."""
    start = _start_s(rng)
    log = setting.log
    at = commit_times(rng, replace(setting, pauses=((start, start + _STEP_S),)))
    done = done_s(log, exponential(rng, len(log.written_s)) * (_USUAL / log.rate))
    done = np.where(done > start, np.maximum(done, log.written_s + _STEP_S), done)
    return Committed(at, position(log, done, at), (Label(0, OK), Label(start, WARN)))


def _worked_off(rng: Rng, setting: Setting, load: float | Floats, service: Service, at: Floats) -> Ints:
    """The position at these moments, of a consumer that is busy for this share of the time on average."""
    log = setting.log
    service_s = service(rng, len(log.written_s)) * (load / log.rate)
    return position(log, done_s(log, service_s, setting.pauses), at)


def _start_s(rng: Rng) -> float:
    return HEALTHY_S + _HOUR_S * rng.random()


def _now_and_then(rng: Rng, length_s: float, every_s: float) -> Floats:
    return np.sort(rng.random(max(round(length_s / every_s), 1)) * length_s)


def _within(at_s: Floats, span: Pause) -> Mask:
    start, end = span
    return np.asarray((at_s >= start) & (at_s < end))
