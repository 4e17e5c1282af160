"""All sinks together: the outbox, the sampler, and a query for each sink."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import structlog

from warren.common.sink_state import SinkProgress, SinkState
from warren.pipeline.supervisor import stop_all
from warren.sinks.kinds import kind_of
from warren.sinks.outbox import Bounds, Outbox
from warren.sinks.plan import PlanFile, highest
from warren.sinks.query import SinkQuery, SinkSettings, plan_path
from warren.sinks.sampler import Sampler, Snapshots
from warren.sinks.selection import Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from warren.config import AnySink, Settings
    from warren.sinks.writer import Kind

log = structlog.get_logger("warren.sinks")

_MS: Final = 1000


class Sinks:
    """Started when Spark runs, stopped before it ends."""

    def __init__(
        self,
        settings: Settings,
        snapshots: Snapshots,
        session: Callable[[], SparkSession | None],
        kind_of: Callable[[AnySink, Settings], Kind] = kind_of,
    ) -> None:
        """`session`: Spark, once it has been started."""
        self._settings = settings
        self._session = session
        self._snapshots = snapshots
        self._directory = Path(settings.spark.checkpoint_dir).absolute() / "sinks"
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._outbox: Outbox | None = None
        self._kinds = {name: kind_of(sink, settings) for name, sink in settings.sink.items()}
        self._queries: dict[str, SinkQuery] = {}

    def start(self) -> None:
        """Returns at once; samples are taken as snapshots come."""
        session = self._session()
        if not self._kinds or session is None:
            return
        sinks = self._settings.sink
        bounds = Bounds(self._settings.outbox.max_age * _MS, self._settings.outbox.max_bytes)
        outbox = Outbox(self._directory / "outbox", bounds, after=highest(self._directory / "queries"))
        self._log_removed_sinks()
        for name, kind in self._kinds.items():
            plan = PlanFile(plan_path(self._query_directory(name))).read()
            outbox.join(name, sinks[name].interval, None if plan is None else plan.done)
            self._queries[name] = SinkQuery(session, self._query_settings(name, kind), outbox, plan)
        self._outbox = outbox
        for query in self._queries.values():
            query.start()
        sampler = Sampler(
            self._snapshots,
            outbox,
            (sinks[name].interval for name in self._kinds),
            with_reasons=any(sinks[name].level == "changes" for name in self._kinds),
        )
        self._thread = threading.Thread(
            target=sampler.run, args=(self._stopping,), name="sampler", daemon=True
        )
        self._thread.start()
        log.info("writing to sinks", sinks=[f"{name} ({sinks[name].class_name})" for name in self._kinds])

    def expect_stop(self) -> None:
        """As `Engine.expect_stop`."""
        for query in self._queries.values():
            query.expect_stop()

    def stop(self) -> None:
        """No more samples; a batch that is not done comes again with the next start."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        stop_all(self._queries.values())

    def states(self) -> list[SinkState]:
        """How each sink is doing, by name; at once and from any thread."""
        return [self._state(name) for name in sorted(self._kinds)]

    def _state(self, name: str) -> SinkState:
        class_name = self._settings.sink[name].class_name
        query, outbox = self._queries.get(name), self._outbox
        if query is None or outbox is None:
            return SinkState(name, class_name, SinkProgress(), 0, None, 0)
        behind = outbox.behind(name, query.progress.number)
        return SinkState(
            name, class_name, query.progress, behind.samples, behind.since_ms, outbox.dropped(name)
        )

    def _query_settings(self, name: str, kind: Kind) -> SinkSettings:
        return SinkSettings(name, kind, Selection.of(self._settings.sink[name]), self._query_directory(name))

    def _query_directory(self, name: str) -> Path:
        return self._directory / "queries" / quote(name, safe=" ")

    def _log_removed_sinks(self) -> None:
        known = {self._query_directory(name).name for name in self._kinds}
        for path in sorted((self._directory / "queries").glob("*/plan.json")):
            if path.parent.name not in known:
                log.info(
                    "a sink is not configured any more; nothing waits for it",
                    sink=path.parent.name,
                    position=str(path.parent),
                )
