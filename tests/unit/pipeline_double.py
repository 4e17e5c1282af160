"""The pipeline without Spark: the real operator over a dictionary of states, real framing, real read model."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row

from warren.cluster.head_frames import framed as heads_framed
from warren.cluster.source import Look
from warren.cluster.survey import Survey
from warren.common.group_filter import GroupFilter, Watched
from warren.consumer.commit_frames import framed as commits_framed
from warren.evaluator.verdict import CACHING, RuleBook, RuleSettings
from warren.kafka.batch import RawRecords, decode
from warren.snapshot.read_model import ReadModel
from warren.snapshot.view import ClusterView
from warren.storage.bucket import WindowSettings
from warren.storage.operator import WindowOperator

NOW = 1_700_000_000_000
WINDOW = WindowSettings(intervals=4, min_distance_ms=0, expire_ms=1_000_000, refresh_ms=1_000)
# the consumer module that all commits come by, and watches every group
CONSUMER = "burrow"
EVERYTHING: Watched = {CONSUMER: GroupFilter()}


class State:
    """One value or list state of Spark's, of whatever bucket is being handled."""

    def __init__(self, states: States) -> None:
        self._states = states
        # bucket: its row, or rows
        self.held: dict[int, Any] = {}

    def get(self) -> Any:
        return self.held.get(self._states.bucket)

    def update(self, row: Any) -> None:
        self.held[self._states.bucket] = row

    def appendValue(self, row: Any) -> None:
        self.held.setdefault(self._states.bucket, []).append(row)

    def clear(self) -> None:
        self.held.pop(self._states.bucket, None)


class States:
    """Spark's states by name; they stay when the operator goes."""

    def __init__(self) -> None:
        self.bucket = -1
        self.named: defaultdict[str, State] = defaultdict(lambda: State(self))

    def getValueState(self, name: str, schema: Any) -> State:
        return self.named[name]

    def getListState(self, name: str, schema: Any) -> State:
        return self.named[name]


class Pipeline:
    """Triggers by hand; `restart` forgets everything but the states, as a new process does."""

    def __init__(
        self,
        window: WindowSettings = WINDOW,
        allowed_lag: int = 0,
        minimum_complete: float = 0.0,
        book: RuleBook = CACHING,
    ) -> None:
        self.states = States()
        self.batch = -1
        # no other pipeline has the same scratch files
        self._scratch = uuid.uuid4().hex
        self._window = window
        self._rules = RuleSettings(window.intervals, allowed_lag, minimum_complete, book)
        self.restart()

    def restart(self, watched: Watched = EVERYTHING) -> None:
        self.operator = WindowOperator(self._window, watched, self._scratch)
        self.operator.init(self.states)  # type: ignore[arg-type]
        self.model = ReadModel("local", self._rules)

    def trigger(self, *batches: pa.RecordBatch, now_ms: int = NOW) -> ClusterView:
        """One trigger with what the sources gave."""
        news: dict[int, list[Row]] = defaultdict(list)
        for batch in batches:
            for row in batch.to_pylist():
                news[row["bucket"]].append(Row(**row))
        reported = []
        for number, rows in news.items():
            self.states.bucket = number
            out = self.operator.handleInputRows((number,), iter(rows), None)
            reported += [(row.bucket, row.kind, row.payload) for row in out]
        self.model.take(reported)
        self.batch += 1
        return self.model.view(self.batch, now_ms)


def topic_id(topic: str) -> str:
    """A topic's id: always the same for a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, topic))


def look(
    heads: dict[tuple[str, int], int],
    at_ms: int = NOW,
    *,
    full: bool = False,
    complete: bool = True,
    gone: tuple[tuple[str, int], ...] = (),
    requests: bytes | None = None,
    steady_ms: int | None = None,
    expiry_ms: int | None = None,
    as_of_ms: int | None = None,
    partly_blind: bool = False,
) -> pa.RecordBatch:
    """What a look at the brokers gives: topic partition: head; every tail is 0."""
    survey = Survey(
        pa.array([topic for topic, _ in heads], pa.string()),
        np.array([partition for _, partition in heads], dtype=np.int32),
        pa.array([topic_id(topic) for topic, _ in heads], pa.string()),
        np.array(list(heads.values()), dtype=np.int64),
        np.zeros(len(heads), dtype=np.int64),
        at_ms,
        complete,
        gone,
        (),
        "" if complete else "no answer",
    )
    steady_ms = at_ms if steady_ms is None else steady_ms
    as_of_ms = at_ms if as_of_ms is None else as_of_ms
    expiry_ms = at_ms if expiry_ms is None else expiry_ms
    taken = Look(as_of_ms, steady_ms, expiry_ms, "", full, requests, partly_blind=partly_blind)
    return heads_framed(survey, taken)


def records(
    given: Sequence[tuple[bytes | None, bytes | None]],
    first_order: int = 0,
    *,
    intervals: int = 4,
    min_distance_ms: int = 0,
    observed_at: int = NOW,
    after_ms: int = 0,
    before_ms: int = NOW + 60_000,
) -> pa.RecordBatch:
    """What a consumer module gives for raw records (key and value)."""
    raw = RawRecords(
        pa.array([key for key, _ in given], pa.binary()),
        pa.array([value for _, value in given], pa.binary()),
        np.arange(first_order, first_order + len(given)),
        observed_at,
    )
    decoded = decode(raw, lambda _: True)
    words = {"after_ms": str(after_ms), "before_ms": str(before_ms), "consumer": CONSUMER}
    return commits_framed(decoded, intervals, min_distance_ms, words, len(given))
