"""A query that fails is started again, alone and with longer and longer waits; a stop is no failure."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from structlog.testing import capture_logs
from tests.processes import eventually

from warren import durable
from warren.pipeline import supervisor
from warren.pipeline.supervisor import SupervisedQuery, back_off_s, root_cause, stop_all


@dataclass
class Progress:
    running: bool = False
    restarts: int = 0
    error: str = ""


class Streaming:
    """Spark's side: runs until it is stopped, or until its error comes."""

    def __init__(self, error: str = "") -> None:
        self.error = error
        self.stopped = threading.Event()
        self.isActive = True

    def awaitTermination(self, timeout: float) -> bool:
        if self.error:
            raise PySparkException(self.error)
        return self.stopped.wait(min(timeout, 0.01))

    def stop(self) -> None:
        self.stopped.set()


class Example(SupervisedQuery):
    def __init__(self, *errors: str, checkpoint: Path = Path("example", "query")) -> None:
        super().__init__(cast("Any", None), "example", {"cluster": "production"}, checkpoint)
        self.progress = Progress()
        self.errors = list(errors)
        self.failures: list[str] = []
        self.started: list[Streaming] = []
        self.notes = 0
        self.synced: list[int] = []

    def _started(self) -> Any:
        self.started.append(Streaming(self.errors.pop(0) if self.errors else ""))
        return self.started[-1]

    def _note(self, query: Any) -> None:
        self.notes += 1

    def _synced(self, trigger: int) -> None:
        self.synced.append(trigger)

    def _failed(self) -> None:
        self.failures.append(self.progress.error)


@pytest.fixture(autouse=True)
def running_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(supervisor, "BACK_OFF_S", (0.001, 0.002))
    monkeypatch.setattr(supervisor, "why_gone", lambda _: "")


def test_a_query_that_fails_is_started_again() -> None:
    query = Example("first", "second")
    query.start()
    assert eventually(lambda: query.notes > 0, within_s=10)
    assert query.progress == Progress(running=True, restarts=2, error="second")
    query.stop()
    assert query.failures == ["first", "second"]
    assert len(query.started) == 3
    assert not query.progress.running
    assert not query.lost


def test_an_error_that_nobody_expected_left_the_query_without_a_restart() -> None:
    class Odd(Example):
        def _started(self) -> Any:
            if not self.failures:
                raise KeyError("look")
            return super()._started()

    query = Odd()
    query.start()
    assert eventually(lambda: query.notes > 0, within_s=10)
    query.stop()
    assert query.failures == ["'look'"]


def test_what_a_stop_cuts_off_is_no_failure() -> None:
    query = Example()
    query.start()
    assert eventually(lambda: query.notes > 0, within_s=10)
    query.expect_stop()
    query.started[0].error = "Job was cancelled"
    query.stop()
    assert query.failures == []
    assert query.progress.restarts == 0


def test_without_spark_nothing_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "why_gone", lambda _: "Spark ended unexpectedly")
    query = Example("Java has ended")
    query.start()
    query._thread.join(10)
    assert query.lost == "Spark ended unexpectedly"
    assert len(query.started) == 1


def test_a_trigger_is_synced_while_the_query_runs_and_the_last_one_at_its_end(tmp_path: Path) -> None:
    commits = tmp_path / "query" / "commits"
    commits.mkdir(parents=True)
    query = Example(checkpoint=commits.parent)
    query.start()
    (commits / "0").write_text("v1")
    assert eventually(lambda: query.synced == [0], within_s=10)
    spark = query.started[0]

    def stop_after_a_last_trigger() -> None:
        (commits / "1").write_text("v1")
        spark.stopped.set()

    spark.stop = stop_after_a_last_trigger  # type: ignore[method-assign]
    query.stop()
    assert query.synced == [0, 1]


def test_a_checkpoint_that_cannot_be_synced_is_told_once_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(durable, "sync", failing)
    commits = tmp_path / "query" / "commits"
    commits.mkdir(parents=True)
    (commits / "0").write_text("v1")
    query = Example(checkpoint=commits.parent)
    with capture_logs() as lines:
        query.start()
        assert eventually(lambda: query.notes > 3, within_s=10)
        query.stop()
    assert [line["error"] for line in lines] == ["[Errno 5] Input/output error"]
    assert (query.progress.restarts, query.synced) == (0, [])


def test_queries_are_stopped_side_by_side() -> None:
    gate = threading.Barrier(2, timeout=10)

    class Slow(Example):
        def stop(self) -> None:
            gate.wait()
            super().stop()

    queries = [Slow(), Slow()]
    for query in queries:
        query.start()
    stop_all(queries)
    assert not any(query._thread.is_alive() for query in queries)


def test_waits_grow_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_S", (1.0, 2.0, 5.0))
    assert [back_off_s(failures) for failures in (1, 2, 3, 4, 100)] == [1, 2, 5, 5, 5]


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("[STREAM_FAILED] x\n  File a\nValueError: one\nwarren.errors.KafkaError: two\n", "two"),
        ("first line\nsecond", "first line"),
        ("  \n", "unknown"),
    ],
)
def test_the_cause_is_the_last_exception_of_python(reason: str, cause: str) -> None:
    assert root_cause(reason) == cause
