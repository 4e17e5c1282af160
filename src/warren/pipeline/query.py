"""One streaming query per Kafka cluster: its sources, the stateful operator, and what happens after each trigger."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from warren.cluster.requests import Requests
from warren.common.row import ROW
from warren.consumer.polling import label
from warren.errors import WarrenError
from warren.pipeline import source
from warren.pipeline.error_log import ErrorLog
from warren.pipeline.location import check_location
from warren.pipeline.source import ClusterSource
from warren.pipeline.supervisor import SupervisedQuery
from warren.pipeline.unfinished import forget_unfinished
from warren.storage.operator import WindowOperator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from warren.common.frames import Frame
    from warren.common.look import LookTaken
    from warren.pipeline.source import SourceSettings
    from warren.snapshot.read_model import Counts
    from warren.storage.bucket import WindowSettings

log = structlog.get_logger("warren.pipeline")

# begins the names of these queries
NAME: Final = "warren_"

# whose times are kept, for a chart
MOST_TRIGGERS: Final = 720

# a trigger that has not ended for so many intervals, and for so long, is one that hangs
HANGING_INTERVALS: Final = 6
HANGING_S: Final = 60.0
HANGS: Final = (
    "a trigger does not end: groups are shown as they were before it. Look for the cause in spark.log and at the disk "
    "of the checkpoint; if it lasts, restart Warren"
)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Everything that one cluster's query needs."""

    cluster: str
    source: SourceSettings
    window: WindowSettings
    checkpoint: Path
    trigger_s: float


@dataclass(slots=True)
class Progress:
    """The state of a query; its fields are written by the query's threads and read by others."""

    running: bool = False
    # everything up to the first end offsets has been read, and the brokers respond
    caught_up: bool = False
    # the brokers, or some of them, did not respond in the last trigger: groups are evaluated as of the last moment that
    # was read
    blind: bool = False
    # that moment, by our clock; 0: none yet
    seen_ms: int = 0
    # records read since this process started, records per second in the last trigger, and records still to be read
    records: int = 0
    rate: int = 0
    left: int = 0
    # of the records read: those of groups that the lists exclude, and by reason those that were skipped
    denied: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    # triggers since the start, and how long the last one took
    triggers: int = 0
    trigger_ms: int = 0
    # when the last ones began, and how long each took, in ms; replaced as a whole
    recent_triggers: tuple[tuple[int, int], ...] = ()
    restarts: int = 0
    # why the cluster does not respond, or the query failed; empty: no error
    error: str = ""
    # why groups cannot be compared with those of the brokers (`groups-reaper-refresh`); part of `error`
    groups_error: str = ""
    # phase: ms, of the last trigger
    phases: dict[str, int] = field(default_factory=dict)


def with_windows(frame: DataFrame, operator: WindowOperator) -> DataFrame:
    """The output frames: windows that changed, heads, owners."""
    return frame.groupBy("bucket").transformWithState(operator, ROW, "Update", "None")


class ClusterQuery(SupervisedQuery):
    """One cluster's query: a failing cluster does not affect the others."""

    progress: Progress

    def __init__(
        self,
        session: SparkSession,
        settings: QuerySettings,
        on_batch: Callable[[int, list[Frame], Callable[[Counts], None]], LookTaken],
    ) -> None:
        """`on_batch` takes a trigger's number, its frames and what counts the records that were read, which it calls
        before others see the result; it returns how the look went."""
        super().__init__(
            session, f"query-{settings.cluster}", {"cluster": settings.cluster}, settings.checkpoint
        )
        self._settings = settings
        self._on_batch = on_batch
        # no trigger has ended since the query was started
        self._first = False
        # when the last trigger's frames were taken
        self._took = time.monotonic()
        self._errors = ErrorLog(settings.cluster)
        self.progress = Progress()

    def _started(self) -> StreamingQuery:
        self._first = True
        self.progress.caught_up = False
        settings, session = self._settings, self._session
        # Spark would refuse offsets of another format with an unhelpful error
        source.planned_last(settings.checkpoint)
        check_location(settings.checkpoint)
        if self._query is None:
            # the first start in this process
            forget_unfinished(settings.checkpoint)
        watched = {each.name: each.groups for each in settings.source.offsets} | {
            label(each): each.groups for each in settings.source.polled
        }
        operator = WindowOperator(settings.window, watched, _identifier(settings.cluster))
        windows = with_windows(self._stream(), operator)
        writer = (
            windows.writeStream.outputMode("update")
            .queryName(query_name(settings.cluster))
            .option("checkpointLocation", str(settings.checkpoint))
            .foreachBatch(self._take)
            .trigger(processingTime=f"{round(settings.trigger_s * 1000)} milliseconds")
        )
        session.sparkContext.setLocalProperty("spark.scheduler.pool", settings.cluster)
        return writer.start()

    def _stream(self) -> DataFrame:
        """The cluster's data source, with its settings in its class: Spark prints options, but not these."""
        name = f"{ClusterSource.name()}_{_identifier(self._settings.cluster)}"
        given: dict[str, Any] = {
            "settings": self._settings.source,
            "name": classmethod(lambda _: name),
        }
        named = type(ClusterSource.__name__, (ClusterSource,), given)
        self._session.dataSource.register(named)
        return self._session.readStream.format(name).load()

    def _take(self, frame: DataFrame, batch: int) -> None:
        # raises when the trigger is interrupted, also by our own stop: a return would commit the batch, and the
        # next start would continue after it, without its windows
        table = frame.toArrow()
        rows = zip(*(table.column(name).to_pylist() for name in ("bucket", "kind", "payload")), strict=True)
        look = self._on_batch(batch, list(rows), self._count)
        self._first = False
        # the last: who sees that all has been read finds it in the view
        self._tell(look)

    def _count(self, counts: Counts) -> None:
        now = time.monotonic()
        self.progress.records += counts.records
        self.progress.denied += counts.denied
        # a new object: others may be reading the old one
        self.progress.skipped = dict(Counter(self.progress.skipped) + Counter(counts.skipped))
        if counts.skipped:
            log.info("records skipped", cluster=self._settings.cluster, reasons=counts.skipped)
        self.progress.rate = round(counts.records / max(now - self._took, 0.001))
        self._took = now

    def _tell(self, look: LookTaken) -> None:
        progress = self.progress
        error = "; ".join(each for each in (look.error, progress.groups_error) if each)
        # who sees that an error began or ended finds it in the log
        self._errors.note(error, time.monotonic())
        progress.error = error
        progress.left = look.left
        progress.blind, progress.seen_ms = look.blind or look.partly_blind, look.as_of_ms
        progress.caught_up = look.caught_up

    def _note(self, query: StreamingQuery) -> None:
        last = query.lastProgress
        if last is None:
            if self._first:
                # Spark reports the first trigger only when it is over; its files may change meanwhile
                with contextlib.suppress(OSError, WarrenError):
                    self.progress.left = source.to_read(self._settings.checkpoint)
            return
        progress = self.progress
        progress.triggers = last.batchId + 1
        progress.phases = dict(last.durationMs)
        progress.trigger_ms = progress.phases.get("triggerExecution", 0)
        began_ms = round(datetime.fromisoformat(last.timestamp).timestamp() * 1000)
        recent = progress.recent_triggers
        if not recent or recent[-1][0] != began_ms:
            progress.recent_triggers = (*recent[-MOST_TRIGGERS + 1 :], (began_ms, progress.trigger_ms))

    def current(self) -> Progress:
        """For those who ask, in their own threads: the query's may hang, too."""
        self._note_hanging(time.monotonic())
        return self.progress

    def _note_hanging(self, now: float) -> None:
        """A trigger that does not end, because a disk, a worker or Spark hangs: what was read last is not the present.
        When it ends after all, it says how it is."""
        silent_s = now - self._took
        if self.progress.caught_up and silent_s > max(
            HANGING_S, HANGING_INTERVALS * self._settings.trigger_s
        ):
            self._errors.note(HANGS, now)
            self.progress.error = HANGS
            self.progress.blind, self.progress.caught_up = True, False

    def _synced(self, trigger: int) -> None:
        requests = Requests(self._settings.source.heads.requests)
        if requests.newest(at_least=0):
            requests.forget(source.planned(self._settings.checkpoint, trigger)["look"]["request"])

    def _failed(self) -> None:
        self._first = False
        self.progress.blind = True


def query_name(cluster: str) -> str:
    """What Spark calls the query of a cluster."""
    return NAME + _identifier(cluster)


def _identifier(name: str) -> str:
    """A valid name in Spark: letters, digits and underscores."""
    return "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):x}_" for char in name)
