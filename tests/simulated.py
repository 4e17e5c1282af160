"""Clusters without Kafka and Spark: groups that behave in known ways, judged by the real windows and rules."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tests.unit.pipeline_double import Pipeline, look, records

from warren.evaluator.verdict import TREND
from warren.kafka import messages
from warren.kafka.codec import encode
from warren.snapshot.view import ClusterView
from warren.storage.bucket import WindowSettings

STEP_MS: Final = 10_000
_WINDOW: Final = WindowSettings(intervals=10, min_distance_ms=0, expire_ms=7 * 86_400_000, refresh_ms=STEP_MS)
_INFLOW: Final = 120


class Habit(StrEnum):
    """What a group does with each of its partitions."""

    KEEPS_UP = "keeps up"
    LAGS = "lags evenly"
    FALLS_BEHIND = "falls behind"
    STOPS = "stops"
    STICKS = "sticks"
    REWINDS = "rewinds"


@dataclass
class Reader:
    """A group, what it does, and how far it has got by topic and partition."""

    group: str
    topic: str
    habit: Habit
    # partitions that follow the habit; the others keep up
    troubled: frozenset[int] | None = None
    at: dict[int, int] = field(default_factory=dict)


class Simulated:
    """One cluster: every step is a trigger, ten seconds after the one before."""

    def __init__(
        self, readers: Sequence[Reader], partitions: int = 3, name: str = "local", began_ms: int | None = None
    ) -> None:
        self.readers = list(readers)
        self.name = name
        self.now_ms = time.time_ns() // 1_000_000 if began_ms is None else began_ms
        self._partitions = partitions
        self._pipeline = Pipeline(_WINDOW, allowed_lag=1, book=TREND)
        self._heads = {
            (topic, each): 10_000 for topic in {one.topic for one in readers} for each in range(partitions)
        }
        self._order = itertools.count()
        self._random = random.Random(7)
        self.steps = 0
        self.view: ClusterView = self.step()

    def step(self) -> ClusterView:
        """Messages come, groups commit, and everything is judged."""
        self.now_ms += STEP_MS
        self.steps += 1
        for key in self._heads:
            self._heads[key] += self._random.randint(_INFLOW * 3 // 4, _INFLOW * 5 // 4)
        given = [
            commit
            for reader in self.readers
            for partition in range(self._partitions)
            if (commit := self._commit(reader, partition)) is not None
        ]
        self._commits = len(given)
        first = next(self._order)
        self._order = itertools.count(first + len(given) + 1)
        self.view = self._pipeline.trigger(
            look(self._heads, self.now_ms, full=self.steps == 1),
            records(
                given,
                first,
                intervals=_WINDOW.intervals,
                observed_at=self.now_ms,
                before_ms=self.now_ms + 60_000,
            ),
            now_ms=self.now_ms,
        )
        object.__setattr__(self.view, "name", self.name)
        return self.view

    def _commit(self, reader: Reader, partition: int) -> tuple[bytes, bytes] | None:
        head = self._heads[reader.topic, partition]
        last = reader.at.get(partition)
        troubled = reader.troubled is None or partition in reader.troubled
        offset = _next(reader.habit if troubled else Habit.KEEPS_UP, last, head, self.steps)
        if offset is None:
            return None
        reader.at[partition] = offset
        key = encode(
            messages.COMMIT_KEY,
            1,
            {"group": reader.group, "topic": reader.topic, "partition": partition},
        )
        fields = {"offset": offset, "leader_epoch": -1, "metadata": "", "timestamp": self.now_ms}
        return key, encode(messages.COMMIT_VALUE, 3, fields)


def _next(habit: Habit, last: int | None, head: int, step: int) -> int | None:
    """The next offset that it commits; None: it does not commit any more."""
    match habit:
        case Habit.KEEPS_UP:
            return head
        case Habit.LAGS:
            return head - 40 - step % 3
        case Habit.FALLS_BEHIND:
            return head - 500 if last is None else last + _INFLOW // 2
        case Habit.STOPS:
            return head - 400 if step <= 12 else None
        case Habit.STICKS:
            return head - 300 if last is None else last
        case Habit.REWINDS:
            return head - 900 if last is None else max(1, last - 400 if step % 6 == 0 else last + 60)
