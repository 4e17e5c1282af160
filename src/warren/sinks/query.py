"""One streaming query per sink: takes samples from the outbox in order, and goes on where it was.

Spark's source is a mere clock of Java's (one row a batch), so that a sink needs no Python process for planning. What a
batch writes is in the sink's plan file before it begins; the writing is a task in the shared Python processes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from warren.clock import now_ms
from warren.common.sink_state import SinkProgress
from warren.errors import WarrenError
from warren.pipeline.supervisor import SupervisedQuery, back_off_s, root_cause
from warren.sinks.outbox import Outbox
from warren.sinks.plan import Plan, PlanFile
from warren.sinks.selection import Selection
from warren.sinks.work import OUTCOME, Work
from warren.sinks.writer import Kind, PlacedFile, TryAgainError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = structlog.get_logger("warren.sinks")

_STARTS: Final = itertools.count(1)


class StoppedError(WarrenError):
    """The sink is to stop: its batch is not done, and comes again with the next start."""


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Everything that one sink's query needs."""

    name: str
    kind: Kind
    selection: Selection
    # for the plan and Spark's checkpoint
    directory: Path


class SinkQuery(SupervisedQuery):
    """One sink's query: a sink that fails disturbs nobody else."""

    progress: SinkProgress

    def __init__(
        self, session: SparkSession, settings: SinkSettings, outbox: Outbox, plan: Plan | None
    ) -> None:
        """`plan`: the one that was made last, None for a new sink."""
        self._checkpoint = settings.directory / "query"
        super().__init__(session, f"sink-{settings.name}", {"sink": settings.name}, self._checkpoint)
        self._settings = settings
        self._outbox = outbox
        self._plan = plan
        self._plans = PlanFile(plan_path(settings.directory))
        self._start = 0
        self._kind = settings.kind
        self.progress = SinkProgress(number=plan.done if plan else 0)

    def stop(self) -> None:
        """Ends the query without its current batch; returns when its thread has ended."""
        self.expect_stop()
        # a batch may be waiting for the next sample
        self._outbox.wake()
        super().stop()

    def _started(self) -> StreamingQuery:
        self._start = next(_STARTS)
        session, name = self._session, self._settings.name
        self._kind = self._settings.kind.prepared(session)
        clock = (
            session.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", 1)
            .option("numPartitions", 1)
            .load()
        )
        writer = (
            clock.writeStream.queryName(f"sink {name}")
            .option("checkpointLocation", str(self._checkpoint))
            .foreachBatch(self._take)
        )
        session.sparkContext.setLocalProperty("spark.scheduler.pool", f"sink {name}")
        return writer.start()

    def _take(self, frame: DataFrame, batch: int) -> None:
        plan = self._planned(batch)
        left = list(plan.samples)
        failures = 0
        while left:
            written, error = self._attempt(frame, plan, left)
            left = [number for number in left if number not in written]
            if not error:
                break
            if self._stopping.is_set():
                # what was cut off by our own stop is no failure
                raise StoppedError("The sink is to stop.")
            failures += 1
            self._tell(error, failures)
            if self._stopping.wait(back_off_s(failures)):
                raise StoppedError("The sink is to stop.")
        self.progress.error = ""
        self.progress.number = plan.last

    def _planned(self, batch: int) -> Plan:
        """What this batch writes. Everything before it is done, now that Spark has come to this batch."""
        made = self._plan
        if made is not None and made.batch >= batch:
            # it is repeated; Spark's own checkpoint may also be older than the plan, or gone
            plan = Plan(batch, made.done, made.samples)
        else:
            done = self._outbox.done(self._settings.name) if made is None else made.last
            self._outbox.advance(self._settings.name, done, now_ms())
            self._keep()
            samples = self._outbox.await_samples(self._settings.name, done, self._stopping.is_set)
            plan = Plan(batch, done, tuple(samples))
        if self._stopping.is_set():
            raise StoppedError("The sink is to stop.")
        self._plans.write(plan)
        self._plan = plan
        return plan

    def _attempt(self, frame: DataFrame, plan: Plan, left: list[int]) -> tuple[set[int], str]:
        """Write what is left; returns the samples that need no further attempt, and what went wrong."""
        paths = {number: path for number in left if (path := self._outbox.path(number)) is not None}
        gone = set(left) - set(paths)
        if not paths:
            return gone, ""
        before = max([plan.done, *(number for number in plan.samples if number < min(paths))])
        settings = self._settings
        work = Work(
            settings.name,
            self._start,
            self._kind,
            settings.selection,
            tuple(paths.values()),
            self._outbox.path(before),
        )
        outcomes = frame.mapInArrow(work, OUTCOME).toArrow().to_pylist()
        files = [PlacedFile(row["path"], row["content"]) for row in outcomes if row["path"] is not None]
        error = next((row["error"] for row in outcomes if row["error"]), "")
        try:
            self._kind.finish(self._session, files)
        except TryAgainError as failed:
            return gone, str(failed)
        heads = [row for row in outcomes if row["path"] is None and not row["error"]]
        self._count(heads)
        return gone | {row["sample"] for row in heads}, error

    def _count(self, outcomes: list[dict[str, Any]]) -> None:
        progress = self.progress
        for row in outcomes:
            progress.samples += row["written"]
            progress.rows += row["rows"]
            progress.rejected += row["rejected"]
            if row["rejected"]:
                log.warning(
                    "rows rejected", sink=self._settings.name, rows=row["rejected"], reason=row["reason"]
                )
        if any(row["written"] for row in outcomes):
            progress.written_ms = now_ms()

    def _keep(self) -> None:
        try:
            self._kind.keep(self._session, now_ms())
        except (PySparkException, Py4JError, OSError, WarrenError) as error:
            log.warning("sink's upkeep failed", sink=self._settings.name, error=root_cause(str(error)))

    def _tell(self, error: str, failures: int) -> None:
        if error != self.progress.error:
            log.warning("sink cannot write", sink=self._settings.name, error=error, failures=failures)
        self.progress.failures += 1
        self.progress.error = error

    def _failed(self) -> None:
        self.progress.failures += 1


def plan_path(directory: Path) -> Path:
    """Where a sink's plan is."""
    return directory / "plan.json"
