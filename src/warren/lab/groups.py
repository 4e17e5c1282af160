"""The groups of a run: scenarios simulated with random numbers, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np

from warren.common.sentinels import UNKNOWN
from warren.lab.consumers import Label, Setting
from warren.lab.long.producers import LONG_PRODUCERS
from warren.lab.producers import PRODUCERS, Floats, Ints, Log, Mask, since, with_outages
from warren.lab.scenarios import Disturbance, Scenario, pauses

# margin for late looks; a floor is not certain before
_LOOK_SLACK_S: Final = 0.5
_PRODUCERS: Final = {**PRODUCERS, **LONG_PRODUCERS}


@dataclass(frozen=True, slots=True)
class Group:
    """A group's scenario, and which verdicts on it are right."""

    scenario: Scenario
    labels: tuple[Label, ...]
    # since when it is certain that messages stay unread; the start of the last label if it never is
    certain_s: float


# what a group is made from: a scenario, or the trace of a real one
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Played(Generic[Made]):
    """Groups with one partition each: their commits by time, and heads at the looks."""

    groups: tuple[Made, ...]
    # commits of all groups, by time
    at_s: Floats
    group: Ints
    offset: Ints
    # the commits' times by the broker's clock
    timestamp_ms: Ints
    # the head that was polled last, every ten seconds, when the commit came
    polled: Ints
    # shaped (looks, groups); UNKNOWN where the brokers did not respond
    heads: Ints
    # shaped (polls, groups)
    polled_heads: Ints

    def between(self, after_s: float, before_s: float) -> slice:
        """The commits after the one moment and not after the other."""
        first, last = np.searchsorted(self.at_s, [after_s, before_s], side="right")
        return slice(int(first), int(last))


@dataclass(frozen=True, slots=True)
class Timetable:
    """The times of looks and polls, in seconds from the start of the traffic."""

    length_s: float
    # between two looks, for the certainty of floors
    every_s: float
    heads_at_s: Floats
    polls_s: Floats


def play(
    scenarios: Sequence[Scenario], seeds: int, seed: int, timetable: Timetable, zero_ms: int
) -> Played[Group]:
    """Simulate every scenario `seeds` times, each with other random numbers."""
    wanted = [(index, scenario, run) for index, scenario in enumerate(scenarios) for run in range(seeds)]
    groups: list[Group] = []
    commits: list[tuple[Floats, Ints, Ints, Ints]] = []
    heads = np.empty((len(timetable.heads_at_s), len(wanted)), dtype=np.int64)
    polled_heads = np.empty((len(timetable.polls_s), len(wanted)), dtype=np.int64)
    for number, (index, scenario, run) in enumerate(wanted):
        rng = np.random.default_rng((seed, index, run))
        stops = pauses(scenario, rng, timetable.length_s)
        away = stops if scenario.disturbance is Disturbance.BROKER_RESTARTS else ()
        before_s = scenario.before_s
        log = _PRODUCERS[scenario.producer](rng, timetable.length_s + before_s, scenario.rate)
        log = since(log, before_s)
        log = with_outages(log, away)
        committed = scenario.consumer(rng, Setting(log, timetable.length_s, scenario.period_s, stops))
        heads[:, number] = np.where(
            _in_any(timetable.heads_at_s, away), UNKNOWN, log.head(timetable.heads_at_s)
        )
        polled_heads[:, number] = log.head(timetable.polls_s)
        poll = np.maximum(np.searchsorted(timetable.polls_s, committed.at_s, side="right") - 1, 0)
        timestamp = zero_ms + np.floor((committed.at_s + scenario.skew_s) * 1000).astype(np.int64)
        commits.append((committed.at_s, committed.offset, timestamp, polled_heads[poll, number]))
        certain = _certain_s(log, committed.at_s, committed.offset, committed.labels, timetable.every_s)
        groups.append(Group(scenario, committed.labels, certain))
    return by_time(tuple(groups), commits, heads, polled_heads)


def by_time(
    groups: tuple[Made, ...], commits: list[tuple[Floats, Ints, Ints, Ints]], heads: Ints, polled_heads: Ints
) -> Played[Made]:
    """The commits of all groups in one order; of each group its times, offsets, timestamps and polled heads."""
    at, offset, timestamp, polled = (np.concatenate(column) for column in zip(*commits, strict=True))
    group = np.repeat(np.arange(len(groups)), [len(each[0]) for each in commits])
    order = np.argsort(at, kind="stable")
    return Played(
        groups, at[order], group[order], offset[order], timestamp[order], polled[order], heads, polled_heads
    )


def _certain_s(log: Log, at_s: Floats, offset: Ints, labels: tuple[Label, ...], every_s: float) -> float:
    """The first commit after which the head of the previous look is always above the commit."""
    start = labels[-1].since_s
    later = at_s > start
    clear = log.head(at_s - every_s - _LOOK_SLACK_S) <= offset
    blind = np.flatnonzero(later & clear)
    if not later.any() or not len(blind):
        return start
    return float(at_s[min(int(blind[-1]) + 1, len(at_s) - 1)])


def _in_any(at_s: Floats, spans: Sequence[tuple[float, float]]) -> Mask:
    inside = np.zeros(len(at_s), dtype=np.bool_)
    for start, end in spans:
        inside |= (at_s >= start) & (at_s < end)
    return inside
