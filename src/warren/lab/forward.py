"""Simulation: the traffic of many groups through the real windows and rules, poll by poll (a poll is a look here)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.verdict import CACHING, TREND, RuleBook, RuleSettings, digest, judge
from warren.lab.groups import Group, Played, Timetable, play
from warren.lab.producers import Floats, Ints, Mask
from warren.lab.scenarios import Scenario
from warren.storage import heads
from warren.storage.bucket import Bucket, CommitsSeen, HeadsSeen, WindowSettings
from warren.storage.windows import Commits, Windows, place_into

Statuses = npt.NDArray[np.int8]

# when the traffic begins; an arbitrary time
ZERO_MS: Final = 1_800_000_000_000
# delay of the request for heads after the request for end offsets, minimum and maximum
_HEADS_LATER_S: Final = (0.05, 0.3)
# maximum delay of a look: a share of the time between two looks, and at most this
_LATE_SHARE: Final = 0.15
_LATE_S: Final = 0.3
# Burrow's polling interval for heads
_POLL_S: Final = 10.0
_EXPIRE_MS: Final = 7 * 24 * 3600 * 1000
_TOPIC: Final = "lab"


class Judge(StrEnum):
    """The evaluators that are compared."""

    # this project's own rules, on its windows
    TREND = "trend"
    # Burrow's rules on the same windows
    CACHING = "caching"
    # Burrow's rules on Burrow's windows: heads polled every ten seconds
    BURROW = "burrow"
    # a lag above a fixed threshold
    THRESHOLD = "threshold"


@dataclass(frozen=True, slots=True)
class Looks:
    """Polling interval and window settings."""

    name: str
    every_s: float = 1.0
    intervals: int = 10
    min_distance_s: float = 10.0
    # not set: that of the rules
    allowed_lag: int | None = None
    refresh_s: float = 10.0
    # share of the looks that fail, and of those that fail to get the heads only
    failing: float = 0.0
    # the time of the first look: everything before is read at once
    start_s: float = 0.0

    def window_s(self, period_s: float) -> float:
        """The length of a window with this commit interval."""
        return self.intervals * max(period_s, self.min_distance_s)

    @property
    def a_moment_s(self) -> float:
        """How long a consumer that was at the head counts as being there."""
        return self.intervals * self.refresh_s


@dataclass(frozen=True, slots=True)
class Run:
    """The verdicts on all groups at all looks."""

    looks: Looks
    played: Played[Group]
    length_s: float
    # when each look requested the end offsets
    asked_s: Floats
    # judge: statuses, shaped (looks, groups)
    statuses: dict[Judge, Statuses]


@dataclass(frozen=True, slots=True)
class Moments:
    """When everything is requested, in seconds."""

    # end offsets: one for each look
    asked_s: Floats
    # heads: one for each look, and whether the brokers respond
    heads_s: Floats
    heads_there: Mask
    # heads, by Burrow
    polls_s: Floats

    def until(self, end_s: float) -> Moments:
        """The same looks, without those after this moment."""
        there = slice(int(np.searchsorted(self.asked_s, end_s, side="right")))
        return Moments(self.asked_s[there], self.heads_s[there], self.heads_there[there], self.polls_s)


@dataclass(frozen=True, slots=True)
class Watched:
    """What was found at the looks."""

    # judge: statuses, shaped (looks, groups)
    statuses: dict[Judge, Statuses]
    # current lags, of the same shape
    lag: Ints


def run(
    looks: Looks,
    scenarios: Sequence[Scenario],
    *,
    seeds: int,
    seed: int,
    length_s: float,
    threshold: int,
    tell: Callable[[float], None] = lambda share: None,
) -> Run:
    """Simulate the scenarios and evaluate them at every poll; `tell` gets the share of polls that are done."""
    when = moments(looks, length_s, seed)
    timetable = Timetable(length_s, looks.every_s, when.heads_s, when.polls_s)
    played = play(scenarios, seeds, seed, timetable, ZERO_MS)
    found = watch(looks, played, when, threshold=threshold, tell=tell)
    return Run(looks, played, length_s, when.asked_s, found.statuses)


def moments(looks: Looks, length_s: float, seed: int) -> Moments:
    """The times of looks and polls; failed looks are left out."""
    rng = np.random.default_rng((seed, 1_000_003))
    due = np.arange(looks.start_s + 1.0 + rng.random() * looks.every_s, length_s - 1.0, looks.every_s)
    asked = due + rng.random(len(due)) * min(_LATE_SHARE * looks.every_s, _LATE_S)
    asked = asked[rng.random(len(asked)) >= looks.failing]
    least, most = _HEADS_LATER_S
    later = least + (most - least) * rng.random(len(asked))
    polls = np.arange(looks.start_s + _POLL_S * rng.random(), length_s, _POLL_S)
    there = rng.random(len(asked)) >= looks.failing
    there[:1] = True
    return Moments(asked, asked + later, there, np.append(looks.start_s, polls))


def watch(
    looks: Looks,
    played: Played[Any],
    when: Moments,
    *,
    threshold: int,
    tell: Callable[[float], None] = lambda share: None,
) -> Watched:
    """Evaluate the groups at every look; `tell` gets the share of looks that are done."""
    warren, burrow = Warren(looks, played), Burrow(looks, played, when.polls_s)
    shape = (len(when.asked_s), len(played.groups))
    statuses = {each: np.full(shape, Status.OK, dtype=np.int8) for each in Judge}
    lag = np.zeros(shape, dtype=np.int64)
    before_s = -np.inf
    for number, now_s in enumerate(when.asked_s.tolist()):
        incoming = played.between(before_s, now_s)
        warren.look(
            number,
            incoming,
            before_s,
            now_s,
            float(when.heads_s[number]),
            heads_are_there=when.heads_there[number],
        )
        burrow.read(incoming, now_s)
        for who, verdict in warren.verdicts(now_s).items():
            statuses[who][number] = verdict
        statuses[Judge.BURROW][number] = burrow.verdict(now_s)
        lag[number] = warren.lag()
        before_s = now_s
        tell(number / shape[0])
    statuses[Judge.THRESHOLD][lag > threshold] = Status.ERR
    return Watched(statuses, lag)


def _ms(at_s: float) -> int:
    return ZERO_MS + int(at_s * 1000)


class Warren:
    """One bucket that holds all groups, with the same input as in the pipeline."""

    def __init__(self, looks: Looks, played: Played[Any]) -> None:
        self._looks = looks
        self._played = played
        self._bucket = Bucket.empty(
            WindowSettings(
                looks.intervals,
                int(looks.min_distance_s * 1000),
                _EXPIRE_MS,
                int(looks.refresh_s * 1000),
            )
        )
        count = len(played.groups)
        self._names = pa.array([f"group-{number}" for number in range(count)])
        self._topics = pa.array([_TOPIC] * count)
        self._topic_ids = pa.array([""] * count)
        self._partitions = np.arange(count, dtype=np.int32)

    def look(
        self,
        number: int,
        incoming: slice,
        before_s: float,
        now_s: float,
        heads_s: float,
        *,
        heads_are_there: bool,
    ) -> None:
        """Apply the heads of a look and the commits since the last."""
        at_ms = _ms(heads_s)
        if heads_are_there:
            head = self._played.heads[number]
            self._bucket.apply_heads(
                HeadsSeen(
                    self._topics,
                    self._partitions,
                    self._topic_ids,
                    head,
                    np.zeros_like(head),
                    at_ms=at_ms,
                    steady_ms=at_ms,
                    expiry_ms=at_ms,
                    complete=True,
                    gone=((), ()),
                )
            )
        if incoming.stop > incoming.start:
            self._bucket.apply_commits(
                self._commits(incoming, before_s, now_s), _ms(now_s), every_topic_known=True
            )

    def verdicts(self, now_s: float) -> dict[Judge, Statuses]:
        """The status of every group by both sets of rules; OK before its first commit."""
        bucket, looks = self._bucket, self._looks
        lowest = heads.lowest(bucket.heads, bucket.settings.refresh_ms)

        def status(book: RuleBook) -> Statuses:
            allowed_lag = book.allowed_lag if looks.allowed_lag is None else looks.allowed_lag
            verdict = judge(
                digest(bucket.windows, allowed_lag),
                bucket.heads.newest_offset[bucket.tp_of],
                lowest[bucket.tp_of],
                _ms(now_s),
                RuleSettings(looks.intervals, allowed_lag, 0.0, book),
            )
            return self._by_group(verdict.status, Status.OK).astype(np.int8)

        return {Judge.TREND: status(TREND), Judge.CACHING: status(CACHING)}

    def lag(self) -> Ints:
        """The current lag of every group."""
        bucket = self._bucket
        head = bucket.heads.newest_offset[bucket.tp_of]
        return self._by_group(np.maximum(head - bucket.windows.offset[:, -1], 0), 0)

    def _by_group(self, values: npt.NDArray[Any], otherwise: int) -> Ints:
        result = np.full(len(self._played.groups), otherwise, dtype=np.int64)
        # each group has its own partition, so tp is the index of the group
        result[self._bucket.tp_of] = values
        return result

    def _commits(self, incoming: slice, before_s: float, now_s: float) -> CommitsSeen:
        played = self._played
        group = played.group[incoming]
        index = pa.array(group)
        return CommitsSeen(
            self._names.take(index),
            self._topics.take(index),
            group.astype(np.int32),
            played.offset[incoming],
            played.timestamp_ms[incoming],
            played.timestamp_ms[incoming],
            np.full(len(group), _ms(now_s)),
            np.arange(incoming.start, incoming.stop),
            np.zeros(len(group), dtype=np.bool_),
            "lab",
            after_ms=_ms(before_s) if np.isfinite(before_s) else 0,
            before_ms=_ms(now_s),
        )


class Burrow:
    """Burrow's windows: the lag of a commit is against the head that was polled last."""

    def __init__(self, looks: Looks, played: Played[Any], polls_s: Floats) -> None:
        self._looks = looks
        self._played = played
        self._polls_s = polls_s
        self._windows = Windows.empty(len(played.groups), looks.intervals)

    def read(self, incoming: slice, now_s: float) -> None:
        """Apply commits in the order of arrival."""
        played = self._played
        row, offset = played.group[incoming], played.offset[incoming]
        commits = Commits(
            row=row,
            offset=offset,
            timestamp=played.timestamp_ms[incoming],
            observed_at=np.full(len(row), _ms(now_s)),
            lag=np.maximum(played.polled[incoming] - offset, 0),
            floor=np.full(len(row), UNKNOWN),
            order=np.arange(incoming.start, incoming.stop),
        )
        # Burrow's default is 0
        place_into(self._windows, commits, 0)

    def verdict(self, now_s: float) -> Statuses:
        """The status of every group, by the heads that were polled."""
        polls = int(np.searchsorted(self._polls_s, now_s, side="right"))
        ring = self._played.polled_heads[max(polls - self._looks.intervals, 0) : max(polls, 1)]
        allowed_lag = self._looks.allowed_lag or 0
        return judge(
            digest(self._windows, allowed_lag),
            ring[-1],
            ring.min(axis=0),
            _ms(now_s),
            RuleSettings(self._looks.intervals, allowed_lag, 0.0, CACHING),
        ).status
