"""Keeps a streaming query running: its thread, its restarts after an error, its end."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from warren import clock
from warren.errors import WarrenError
from warren.pipeline.session import why_gone
from warren.pipeline.synced_files import SyncedFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = structlog.get_logger("warren.pipeline")

# seconds before a query that failed is started again; the last one is repeated
BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
# a query that ran this long without an error starts with the shortest wait again
STEADY_S: Final = 120.0


class _Progress(Protocol):
    running: bool
    restarts: int
    error: str


class SupervisedQuery(ABC):
    """One streaming query in a thread of its own: when it fails it is started again, and no other is affected."""

    progress: _Progress

    def __init__(self, session: SparkSession, thread: str, label: dict[str, str], checkpoint: Path) -> None:
        """`label` says in log lines whose query it is."""
        self._session = session
        self._label = label
        self._files = SyncedFiles(checkpoint)
        # why the checkpoint cannot be synced; empty: it can
        self._sync_error = ""
        self._stopping = threading.Event()
        self._query: StreamingQuery | None = None
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)
        # why no query can start again in this process; empty: it can
        self.lost = ""

    @abstractmethod
    def _started(self) -> StreamingQuery:
        """Start the query."""

    def _note(self, query: StreamingQuery) -> None:  # noqa: B027 (not every query has something to note)
        """Called once a second while the query runs."""

    def _synced(self, trigger: int) -> None:  # noqa: B027 (most queries have nothing to do then)
        """Called when a trigger is on the disk, with all before it: the query will not go back behind it."""

    @abstractmethod
    def _failed(self) -> None:
        """Called when the query could not be started, or has ended with an error."""

    def start(self) -> None:
        self._thread.start()

    def expect_stop(self) -> None:
        """Everything is being stopped: what fails from now on is no failure."""
        self._stopping.set()

    def stop(self) -> None:
        """Ends the query after its current trigger, or without it; returns when its thread has ended."""
        self.expect_stop()
        query = self._query
        # after an unexpected end of Spark the call fails, and the query has ended too
        with contextlib.suppress(Py4JError, PySparkException, OSError):
            if query is not None and query.isActive:
                query.stop()
        self._thread.join()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                if self._query is None:
                    self._files.restore()
                self._query = self._started()
                self._watch(self._query)
            except Exception as error:  # noqa: BLE001 - whatever it is: without this thread nobody starts the query again
                # what our own stop has cut off is no failure
                if not self._stopping.is_set():
                    self._fail(str(error) or repr(error))
            self.progress.running = False
            if self._query is not None:
                self._sync()
            if self._stopping.is_set():
                break
            self.lost = why_gone(self._session)
            if self.lost:
                log.error("query cannot be restarted", **self._label, error=self.lost)
                break
            failures = 1 if time.monotonic() - began > STEADY_S else failures + 1
            wait_s = back_off_s(failures)
            self.progress.restarts += 1
            log.warning("query will be restarted", **self._label, in_s=wait_s, error=self.progress.error)
            self._stopping.wait(wait_s)

    def _watch(self, query: StreamingQuery) -> None:
        self.progress.running = True
        while not query.awaitTermination(1):
            if self._stopping.is_set():
                # stopped while it was being started
                query.stop()
            self._note(query)
            self._sync()

    def _sync(self) -> None:
        """Have the files of the last trigger on the disk, here where nobody waits for it."""
        error = ""
        try:
            trigger = self._files.sync()
            if trigger is not None:
                self._synced(trigger)
        except (OSError, WarrenError) as failed:
            error = str(failed)
        if error and error != self._sync_error:
            log.warning("checkpoint cannot be synced to the disk", **self._label, error=error)
        self._sync_error = error

    def _fail(self, reason: str) -> None:
        self.progress.error = root_cause(reason)
        log.error("query failed", **self._label, error=self.progress.error, detail=reason)
        self._failed()


def stop_all(queries: Iterable[SupervisedQuery]) -> None:
    """Stop them side by side: each may take as long as its trigger."""
    stopping = [threading.Thread(target=query.stop) for query in queries]
    for thread in stopping:
        thread.start()
    for thread in stopping:
        thread.join()


def back_off_s(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return clock.back_off_s(BACK_OFF_S, failures)


def root_cause(reason: str) -> str:
    """The cause in Spark's error message: the message of Python's last exception, else its first line."""
    raised = re.findall(r"^(?:[\w.]+(?:Error|Exception)): (.+)$", reason, re.MULTILINE)
    return raised[-1] if raised else (reason.strip().splitlines() or ["unknown"])[0]
