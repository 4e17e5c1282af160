"""Records every snapshot that a running Warren publishes: its time, and the commits that it made visible."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import is_not
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.sql import SparkSession

from warren.bench.line import BenchError
from warren.pipeline.engine import Engine
from warren.pipeline.query import NAME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.snapshot.view import ClusterView

    Ints = NDArray[np.int64]

_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Sight:
    """One snapshot."""

    number: int
    # when it was published, in seconds since the epoch
    at: float
    windows: int
    # times of the commits that it shows and its predecessor did not, the newest of each window
    fresh_ms: Ints
    # the newest of all
    newest_ms: int

    @property
    def delays_ms(self) -> Ints:
        """From each commit to its visibility."""
        delays: Ints = round(self.at * 1000) - self.fresh_ms
        return delays

    def made_between(self, begin: float, end: float) -> NDArray[np.bool_]:
        """Which of the commits were made between two moments."""
        return (self.fresh_ms >= begin * 1000) & (self.fresh_ms < end * 1000)


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger from Spark's progress."""

    # name of its query
    query: str
    number: int
    # when its planning began, in seconds since the epoch
    began: float
    # phase: ms; `triggerExecution` is all of it
    phases: dict[str, int]

    @property
    def ms(self) -> int:
        return self.phases.get("triggerExecution", 0)


class Watch(threading.Thread):
    """Runs in the engine's process; needs 8 bytes per window and little time."""

    def __init__(self, engine: Engine, cluster: str) -> None:
        super().__init__(name="watch", daemon=True)
        self._engine = engine
        self._cluster = cluster
        self._ended = threading.Event()
        self.sights: list[Sight] = []

    def end(self) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        seen: ClusterView | None = None
        while not self._ended.is_set():
            view = self._engine.await_view(self._cluster, partial(is_not, seen), 0.25)
            if view is not None:
                self.sights.append(_sight(view, seen, time.time()))
                seen = view

    def complete(self, windows: int, records: int, timeout_s: float, stop: threading.Event) -> Sight:
        """Wait for the first snapshot with all windows that includes all records."""
        deadline = time.monotonic() + timeout_s
        while not stop.is_set():
            progress = self._engine.progress(self._cluster)
            # in this order: the records of a snapshot are counted a moment after it is published
            read, sights = progress.records, self.sights[-1:]
            if sights and sights[0].windows >= windows and read >= records:
                return sights[0]
            if time.monotonic() > deadline:
                found = sights[0].windows if sights else 0
                raise BenchError(
                    f"after {timeout_s:.0f} s there are {found:,} of {windows:,} windows, from {read:,} of "
                    f"{records:,} records. {progress.error or 'The pipeline reports no error.'}"
                )
            time.sleep(_LOOK_S)
        raise BenchError("stopped before the snapshot was complete")

    def next(self, timeout_s: float, stop: threading.Event) -> Sight:
        """Wait for the next snapshot."""
        count, deadline = len(self.sights), time.monotonic() + timeout_s
        while len(self.sights) == count:
            if stop.wait(_LOOK_S / 5) or time.monotonic() > deadline:
                raise BenchError(f"there was no new snapshot for {timeout_s:.0f} s")
        return self.sights[-1]

    def shows(self, at_ms: int, timeout_s: float, stop: threading.Event) -> bool:
        """Wait for a snapshot that shows a commit of that time or later; False on timeout."""
        deadline = time.monotonic() + timeout_s
        while not (self.sights and self.sights[-1].newest_ms >= at_ms):
            if stop.wait(_LOOK_S) or time.monotonic() > deadline:
                return False
        return True


def recent_triggers(batch: int = -1) -> list[Trigger]:
    """All triggers of clusters in Spark's recent progress, once it includes that batch. Batches of sinks are none: they
    last until there is a sample."""
    deadline = time.monotonic() + 30
    while True:
        queries = SparkSession.builder.getOrCreate().streams.active
        triggers = [
            Trigger(
                query.name,
                each.batchId,
                datetime.fromisoformat(each.timestamp).timestamp(),
                {str(phase): int(ms) for phase, ms in each.durationMs.items()},
            )
            for query in queries
            if str(query.name).startswith(NAME)
            for each in query.recentProgress
        ]
        if any(each.number >= batch for each in triggers) or time.monotonic() > deadline:
            return triggers
        time.sleep(_LOOK_S)


def described(triggers: Sequence[Trigger]) -> list[dict[str, Any]]:
    """For JSON."""
    return [{"number": each.number, "began": each.began, "phases": each.phases} for each in triggers]


def _sight(view: ClusterView, before: ClusterView | None, at: float) -> Sight:
    times = view.last_timestamp
    if before is None or before.structure is not view.structure:
        # windows were added or removed, so rows cannot be compared
        fresh = np.empty(0, dtype=np.int64)
    else:
        fresh = times[times != before.last_timestamp]
    return Sight(view.number, at, len(times), fresh, int(times.max(initial=0)))
