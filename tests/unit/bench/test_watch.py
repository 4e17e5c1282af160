"""What a watch makes of the snapshots that it sees."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tests.processes import eventually

from warren.bench.line import BenchError
from warren.bench.watch import Watch
from warren.pipeline.engine import Engine

STRUCTURE = object()
NOW = threading.Event()


@dataclass
class EngineDouble:
    """Publishes views as the engine does."""

    records: int = 0
    view: Any = None
    changed: threading.Condition = field(default_factory=threading.Condition)

    def publish(self, number: int, *times_ms: int, structure: object = STRUCTURE) -> None:
        with self.changed:
            self.view = SimpleNamespace(
                number=number, structure=structure, last_timestamp=np.array(times_ms, dtype=np.int64)
            )
            self.changed.notify_all()

    def await_view(self, _cluster: str, found: Any, timeout_s: float) -> Any:
        def fits() -> Any:
            return self.view if self.view is not None and found(self.view) else None

        with self.changed:
            return self.changed.wait_for(fits, timeout_s)

    def progress(self, _cluster: str) -> Any:
        return SimpleNamespace(records=self.records, error="")


@pytest.fixture
def engine() -> EngineDouble:
    return EngineDouble()


@pytest.fixture
def watch(engine: EngineDouble) -> Any:
    running = Watch(cast("Engine", engine), "bench")
    running.start()
    yield running
    running.end()


def _seen(watch: Watch, count: int) -> bool:
    return eventually(lambda: len(watch.sights) == count, within_s=5)


def test_fresh_commits_are_those_that_the_view_before_did_not_show(
    engine: EngineDouble, watch: Watch
) -> None:
    engine.publish(1, 1000, 2000, 3000)
    assert _seen(watch, 1)
    engine.publish(2, 1000, 2500, 3700)
    assert _seen(watch, 2)
    first, second = watch.sights
    assert first.fresh_ms.tolist() == []
    assert second.fresh_ms.tolist() == [2500, 3700]
    assert second.newest_ms == 3700
    assert second.delays_ms.tolist() == [round(second.at * 1000) - each for each in (2500, 3700)]
    assert second.made_between(2.5, 3.7).tolist() == [True, False]


def test_rows_of_another_structure_are_not_compared(engine: EngineDouble, watch: Watch) -> None:
    engine.publish(1, 1000, 2000)
    assert _seen(watch, 1)
    engine.publish(2, 1000, 1500, 2000, structure=object())
    assert _seen(watch, 2)
    assert watch.sights[1].fresh_ms.tolist() == []
    assert watch.sights[1].windows == 3


def test_a_snapshot_is_complete_with_all_windows_and_all_records(engine: EngineDouble, watch: Watch) -> None:
    engine.records = 5
    engine.publish(1, 1000)
    with pytest.raises(BenchError, match=r"1 of 2 windows, from 5 of 5 records"):
        watch.complete(2, 5, 0.2, NOW)
    engine.publish(2, 1000, 1000)
    assert _seen(watch, 2)
    with pytest.raises(BenchError, match=r"2 of 2 windows, from 5 of 6 records"):
        watch.complete(2, 6, 0.2, NOW)
    engine.records = 6
    assert watch.complete(2, 6, 5, NOW).number == 2


def test_a_commit_shows_with_the_snapshot_that_knows_one_as_new(engine: EngineDouble, watch: Watch) -> None:
    engine.publish(1, 1000, 4000)
    assert watch.shows(4000, 5, NOW)
    assert not watch.shows(4001, 0.2, NOW)
