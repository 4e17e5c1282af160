"""One streaming query per Kafka cluster: its sources, the stateful operator, and what happens after each trigger."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from warren.cluster.source import BrokerOffsets
from warren.consumer.source import ConsumerOffsets
from warren.pipeline.session import is_gone
from warren.storage.operator import WindowOperator
from warren.storage.row import ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from warren.cluster.source import HeadsSettings
    from warren.consumer.source import OffsetsSettings
    from warren.snapshot.read_model import Counts
    from warren.storage.bucket import WindowSettings

log = structlog.get_logger("warren.pipeline")

# seconds before a query that failed is started again; the last one is repeated
BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
# a query that ran so long without a fault begins with the shortest wait again
_STEADY_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Everything that one cluster's query needs."""

    cluster: str
    heads: HeadsSettings
    offsets: tuple[OffsetsSettings, ...]
    window: WindowSettings
    checkpoint: Path
    trigger_s: float


@dataclass(slots=True)
class Progress:
    """How a query is doing; replaced as a whole by its thread, read by anybody."""

    running: bool = False
    # nothing is left of what was there when the query was started, or caught up since
    caught_up: bool = False
    # records read since this process started, how many a second lately, and how many are still to be read
    records: int = 0
    rate: int = 0
    left: int = 0
    # of the records read: those of groups that are not to be watched, and by reason those that say nothing of use
    denied: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    # triggers since the start, and how long the last one took
    triggers: int = 0
    trigger_ms: int = 0
    restarts: int = 0
    # why the cluster does not answer, or the query failed; empty when all is well
    error: str = ""
    # phase: ms, of the last trigger
    phases: dict[str, int] = field(default_factory=dict)


def bucketed(commits: list[DataFrame], heads: DataFrame) -> DataFrame:
    """All that a cluster has to say, as one stream of frames."""
    frame = heads
    for each in commits:
        frame = frame.unionByName(each)
    return frame


def with_windows(frame: DataFrame, operator: WindowOperator) -> DataFrame:
    """The frames that the readers get: windows that changed, heads, owners."""
    return frame.groupBy("bucket").transformWithState(operator, ROW, "Update", "None")


class ClusterQuery:
    """Keeps one cluster's query running, in a thread of its own: a cluster that fails disturbs no other."""

    def __init__(
        self,
        session: SparkSession,
        settings: QuerySettings,
        on_batch: Callable[[int, list[tuple[int, str, bytes]]], Counts],
    ) -> None:
        """`on_batch` takes a trigger's number and frames and returns the count of records that were read for them."""
        self._session = session
        self._settings = settings
        self._on_batch = on_batch
        self._stopping = threading.Event()
        self._query: StreamingQuery | None = None
        self._thread = threading.Thread(target=self._run, name=f"query-{settings.cluster}", daemon=True)
        # Spark is working out how to run the query: from its start to its first trigger
        self.planning = False
        # Spark itself is gone: no query can start again in this process
        self.lost = False
        # when the last trigger's frames were taken
        self._took = time.monotonic()
        # what the last look at the brokers found wrong
        self._look_error = ""
        self.progress = Progress()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the query after its current trigger, or without it; returns when its thread has ended."""
        self._stopping.set()
        query = self._query
        if query is not None and query.isActive:
            query.stop()
        self._thread.join()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self.planning = True
                self._query = self._started()
                self._watch(self._query)
            except (PySparkException, Py4JError, OSError) as error:
                self._fail(str(error))
            if self._stopping.is_set():
                break
            if is_gone(self._session):
                self.lost = True
                log.error("Spark has ended", cluster=self._settings.cluster)
                break
            failures = 1 if time.monotonic() - began > _STEADY_S else failures + 1
            wait_s = BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1]
            self.progress.restarts += 1
            log.warning(
                "query will start again",
                cluster=self._settings.cluster,
                in_s=wait_s,
                error=self.progress.error,
            )
            self._stopping.wait(wait_s)

    def _started(self) -> StreamingQuery:
        settings, session = self._settings, self._session
        sources: list[tuple[type[Any], Any, str]] = [(BrokerOffsets, settings.heads, "heads")]
        sources += [
            (ConsumerOffsets, each, f"commits_{number}") for number, each in enumerate(settings.offsets)
        ]
        # each takes a Python process of Spark's a second: side by side
        with ThreadPoolExecutor(len(sources)) as pool:
            heads, *commits = pool.map(lambda each: self._stream(*each), sources)
        watched = {each.consumer: each.groups for each in settings.offsets}
        operator = WindowOperator(settings.window, watched, _identifier(settings.cluster))
        windows = with_windows(bucketed(commits, heads), operator)
        writer = (
            windows.writeStream.outputMode("update")
            .queryName(f"warren_{_identifier(settings.cluster)}")
            .option("checkpointLocation", str(settings.checkpoint))
            .foreachBatch(self._take)
            .trigger(processingTime=f"{round(settings.trigger_s * 1000)} milliseconds")
        )
        session.sparkContext.setLocalProperty("spark.scheduler.pool", settings.cluster)
        return writer.start()

    def _stream(self, source: type[Any], settings: Any, suffix: str) -> DataFrame:
        """A stream of a data source that carries its settings in its class: Spark prints options, but not these."""
        name = f"{source.name()}_{_identifier(self._settings.cluster)}_{suffix}"
        named = type(source.__name__, (source,), {"settings": settings, "name": classmethod(lambda _: name)})
        self._session.dataSource.register(named)
        return self._session.readStream.format(name).load()

    def _take(self, frame: DataFrame, batch: int) -> None:
        # raises when the trigger is cut off, also by our own stop: a return would tell Spark that it is done, and the
        # next start would go on after it, without its windows
        table = frame.toArrow()
        rows = zip(*(table.column(name).to_pylist() for name in ("bucket", "kind", "payload")), strict=True)
        counts = self._on_batch(batch, list(rows))
        self._look_error = counts.error
        now = time.monotonic()
        self.progress.records += counts.records
        self.progress.denied += counts.denied
        # a new object: others may be reading the old one
        self.progress.skipped = dict(Counter(self.progress.skipped) + Counter(counts.skipped))
        if counts.skipped:
            log.info("records skipped", cluster=self._settings.cluster, reasons=counts.skipped)
        self.progress.rate = round(counts.records / max(now - self._took, 0.001))
        self._took = now
        self.planning = False

    def _watch(self, query: StreamingQuery) -> None:
        self.progress.running = True
        while not query.awaitTermination(1):
            if self._stopping.is_set():
                # asked to stop while it was being started
                query.stop()
            self._note(query)
        self.progress.running = False

    def _note(self, query: StreamingQuery) -> None:
        last = query.lastProgress
        if last is None:
            self.progress.left = _first_reads(self._settings.checkpoint)
            return
        ends = [json.loads(each.endOffset) for each in last.sources if each.endOffset]
        errors = [end["error"] for end in ends if end.get("error")]
        if self._look_error and self._look_error not in errors:
            errors.append(self._look_error)
        progress = self.progress
        progress.left = sum(end.get("left", 0) for end in ends)
        progress.caught_up = progress.left == 0
        progress.triggers = last.batchId + 1
        progress.phases = dict(last.durationMs)
        progress.trigger_ms = progress.phases.get("triggerExecution", 0)
        progress.error = "; ".join(errors)

    def _fail(self, reason: str) -> None:
        self.planning = False
        self.progress.running = False
        self.progress.error = said(reason)
        log.error("query failed", cluster=self._settings.cluster, error=self.progress.error, detail=reason)


def _first_reads(checkpoint: Path) -> int:
    """What there is to read while the first trigger is under way: Spark tells of it only when it is over."""
    planned = [path for path in (checkpoint / "offsets").glob("[0-9]*") if path.name.isdigit()]
    if not planned:
        return 0
    lines = max(planned, key=lambda path: int(path.name)).read_text().splitlines()
    # a version, Spark's own settings, then an offset for each source
    ends = [json.loads(line) for line in lines[2:] if line.startswith("{")]
    return sum(end.get("reads", 0) + end.get("left", 0) for end in ends)


def said(reason: str) -> str:
    """The sentence in Spark's account of a failure: Python's last exception, else its first line."""
    raised = re.findall(r"^(?:[\w.]+(?:Error|Exception)): (.+)$", reason, re.MULTILINE)
    return raised[-1] if raised else (reason.strip().splitlines() or ["unknown"])[0]


def _identifier(name: str) -> str:
    """A name that Spark takes: letters, digits and underscores."""
    return "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):x}_" for char in name)
