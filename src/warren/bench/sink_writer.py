"""A process that writes samples into one server: through a sink's query, and as a bare script does it."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from warren import logs
from warren.bench.bare_sinks import bare_writer
from warren.bench.line import BenchError, Parent, as_child
from warren.config import load
from warren.pipeline.session import spark_session, stop
from warren.sinks import sample
from warren.sinks.kinds import kind_of
from warren.sinks.outbox import Bounds, Outbox
from warren.sinks.query import SinkQuery, SinkSettings
from warren.sinks.selection import Selection
from warren.sinks.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from warren.config import Settings

_TIMEOUT_S: Final = 600.0
_UNBOUNDED: Final = Bounds(2**62, 2**62)
# between two samples
_STEP_MS: Final = 1_000


def main(parent: Parent) -> None:
    """`runs` times, in turn: the samples through the sink, and the same number through the bare script."""
    task = parent.task
    settings = load(task["directory"], os.environ)
    logs.begin(settings, logs.utc())
    sink = settings.sink[task["sink"]]
    samples = Samples(task["directory"], task["sink"], sink.interval, sample.read(Path(task["sample"])))
    session = spark_session(settings.spark, 1, sinks=1)
    bare = bare_writer(sink)
    for _ in range(task["runs"]):
        rows, seconds = _through_sink(session, settings, task["sink"], samples.outbox(1 + task["samples"]))
        parent.tell("sink", rows=rows, seconds=seconds)
        theirs = sorted(samples.outbox(task["samples"]).directory.iterdir())
        began = time.perf_counter()
        rows = bare(theirs)
        parent.tell("bare", rows=rows, seconds=time.perf_counter() - began)
    stop(session)
    parent.tell("done")


class HeldOutbox(Outbox):
    """Gives its first sample alone, and the others when they are released."""

    def __init__(self, directory: Path, first: int) -> None:
        super().__init__(directory, _UNBOUNDED, after=first - 1)
        self.first = first
        self.release = threading.Event()

    def await_samples(self, sink: str, after: int, stopped: Callable[[], bool]) -> list[int]:
        if after < self.first:
            return super().await_samples(sink, after, stopped)[:1]
        while not stopped() and not self.release.wait(0.01):
            pass
        return super().await_samples(sink, after, stopped)


class Samples:
    """Copies of one sample, no two as of the same moment."""

    def __init__(self, directory: str, sink: str, interval_s: int, tables: Tables) -> None:
        self._directory = directory
        self._sink = sink
        self._interval_s = interval_s
        self._tables = tables
        self._copies = 0

    def outbox(self, count: int) -> HeldOutbox:
        """A new one, with so many samples."""
        # numbers go on: a sink leaves out what it has written
        outbox = HeldOutbox(Path(tempfile.mkdtemp(dir=self._directory)) / "outbox", self._copies + 1)
        # nothing is kept that nobody waits for
        outbox.join(self._sink, self._interval_s, None)
        for _ in range(count):
            self._copies += 1
            # back in time: brokers take nothing from the future
            moved = {
                name: _moved(table, -self._copies * _STEP_MS) for name, table in self._tables.named().items()
            }
            outbox.add(Tables(**moved), self._copies, (self._interval_s,), now_ms=0)
        return outbox


def _moved(table: pa.Table, by_ms: int) -> pa.Table:
    column = table.schema.get_field_index("time")
    times = np.asarray(table.column("time").cast(pa.int64())) + by_ms
    field = table.schema.field(column)
    return table.set_column(column, field, pa.array(times, pa.int64()).cast(field.type))


def _through_sink(
    session: SparkSession, settings: Settings, name: str, outbox: HeldOutbox
) -> tuple[int, float]:
    """Rows and seconds of all samples but the first, with which the query and its client are started."""
    sink = settings.sink[name]
    count, _ = outbox.size
    query = SinkQuery(
        session,
        SinkSettings(name, kind_of(sink, settings), Selection.of(sink), outbox.directory.parent / "query"),
        outbox,
        None,
    )
    query.start()
    try:
        _await(query, outbox.first)
        before = query.progress.rows
        began = time.perf_counter()
        outbox.release.set()
        _await(query, outbox.first + count - 1)
        seconds = time.perf_counter() - began
    finally:
        query.stop()
    if query.progress.rejected:
        raise BenchError(f"{query.progress.rejected:,} rows were rejected by {name}")
    return query.progress.rows - before, seconds


def _await(query: SinkQuery, number: int) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while query.progress.number < number:
        if query.progress.error or time.monotonic() > deadline:
            raise BenchError(f"the sink cannot write: {query.progress.error or 'it takes too long'}")
        time.sleep(0.01)


if __name__ == "__main__":
    as_child(main)
