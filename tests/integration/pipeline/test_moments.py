"""The moment as of which groups are judged: nobody is judged for commits that have not been read yet."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conftest import OFFSETS_PARTITIONS
from tests.integration.pipeline.hands import (
    Hands,
    commit,
    now_ms,
    pipeline_settings,
    reading,
    running,
    windows,
)
from tests.processes import eventually

from warren.config import Settings
from warren.demo.broker import Broker
from warren.pipeline.engine import Engine
from warren.snapshot.view import ClusterView

DATA, RAW = "moments-data", "moments-offsets"
C = "moments"
# nobody writes to the topic, and nobody comes near its end: who goes on is catching up, who does not has stopped
HEAD = 50_000
INTERVALS = 10
# group: seconds between its commits
EVERY_S = {"50-ms": 0.05, "half-a-second": 0.5} | {f"second-{n}": 1.0 for n in range(6)}
SLOW = "slow"
DEAD = "dead"
# longer than the window of any of them
AWAY_S = 12.0


class Consumers(threading.Thread):
    """Groups that commit, each in its own rhythm; all are well."""

    def __init__(self, hands: Hands) -> None:
        super().__init__(daemon=True)
        self._hands = hands
        self._stopping = threading.Event()
        self.resting = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        done = dict.fromkeys(EVERY_S, 0)
        while not self._stopping.wait(0.005):
            if self.resting.is_set():
                continue
            passed = time.monotonic() - began
            for number, (group, every_s) in enumerate(EVERY_S.items()):
                if passed >= done[group] * every_s:
                    # one that was held up does not commit all at once
                    done[group] = int(passed / every_s) + 1
                    self._hands.producer.produce(RAW, *_value_key(group, done[group]), number % 2)
            self._hands.producer.poll(0)

    def end(self) -> None:
        self._stopping.set()
        self.join()


def _value_key(group: str, offset: int) -> tuple[bytes | None, bytes | None]:
    key, value = commit(group, DATA, offset % HEAD)
    return value, key


class Scene(NamedTuple):
    broker: Broker
    hands: Hands
    consumers: Consumers
    directory: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Broker(offsets_partitions=OFFSETS_PARTITIONS) as broker:
        hands = Hands(broker)
        hands.make(DATA)
        hands.make(RAW, 2, message_timestamp_type="LogAppendTime")
        hands.fill(DATA, HEAD)
        hands.write(RAW, [commit(DEAD, DATA, offset, now_ms() - 20_000) for offset in range(9)])
        consumers = Consumers(hands)
        consumers.start()
        # by Burrow's rules a window of one or two commits stops as soon as the next one is late: let all be full
        time.sleep(INTERVALS * max(EVERY_S.values()) + 1)
        try:
            yield Scene(broker, hands, consumers, tmp_path_factory.mktemp("moments"))
        finally:
            consumers.end()


def settings(scene: Scene, directory: Path | None = None, trigger_s: float = 0.5) -> Settings:
    consumers = {"raw": reading(C, scene.broker, offsets_topic=RAW)}
    found = pipeline_settings(directory or scene.directory, {C: scene.broker}, consumers, intervals=INTERVALS)
    spark = found.spark.model_copy(update={"trigger_interval": trigger_s})
    return found.model_copy(update={"spark": spark})


class Shown(NamedTuple):
    view: ClusterView
    ready: bool


@contextlib.contextmanager
def watched(
    given: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Engine, Callable[[], list[Shown]]]]:
    """An engine, and every view that it has shown."""
    shown: list[Shown] = []
    publish = Engine._publish

    def note(engine: Engine, cluster: str, view: ClusterView) -> None:
        publish(engine, cluster, view)
        shown.append(Shown(view, engine.ready()))

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "_publish", note)
        with running(given, ready=()) as engine:
            yield engine, lambda: list(shown)


def statuses(shown: list[Shown], group: str) -> list[str]:
    """What a group was called, each change once."""
    found = [view.group(group) for view, _ in shown]
    return [name for name, _ in groupby(each.status.name if each else "-" for each in found)]


def cut_off_last_trigger(scene: Scene) -> None:
    """As a stop does it in the middle of a trigger: what it reads is planned, and it is not done."""
    query = scene.directory / C / "query"
    newest = max(int(path.name) for path in (query / "offsets").glob("[0-9]*"))
    (query / "commits" / str(newest)).unlink(missing_ok=True)


@pytest.mark.parametrize("trigger_s", [0.5, 3.0])
def test_a_group_that_commits_every_50_ms_is_not_stopped_because_a_trigger_takes_longer(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trigger_s: float
) -> None:
    with watched(settings(scene, tmp_path, trigger_s), monkeypatch) as (engine, shown):
        assert eventually(lambda: len(shown()) >= 8 and engine.ready(), 120)
        views = shown()
    for group in EVERY_S:
        assert statuses(views, group) == ["OK"], group
    # the one that has stopped is seen
    assert statuses(views, DEAD) == ["ERR"]


@pytest.mark.parametrize("turn", range(3))
def test_after_a_downtime_ready_means_read_and_nobody_is_judged_before(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    if turn == 0:
        with watched(settings(scene), monkeypatch) as (engine, shown):
            assert eventually(lambda: len(shown()) >= 8 and engine.ready(), 120)
    time.sleep(AWAY_S)
    began_ms = now_ms()
    with watched(settings(scene), monkeypatch) as (engine, shown):
        assert eventually(engine.ready, 120), engine.progress(C)
        first = engine.snapshot(C)
        assert first is not None
        count = len(shown())
        assert eventually(lambda: len(shown()) >= count + 5, 60)
        views = shown()
    # what was there when it began has been read, by everybody
    for group, every_s in EVERY_S.items():
        newest = max(timestamp for _, timestamp, _ in windows(first, group)[DATA, 0])
        assert newest >= began_ms - every_s * 1000 - 500, group
        assert statuses(views, group) == ["OK"], group
    assert statuses(views, DEAD) == ["ERR"]


def test_a_restart_during_an_outage_judges_nobody_for_what_cannot_be_seen(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.consumers.resting.set()
    scene.hands.producer.flush(10)
    scene.broker.stop()
    stopped_ms = now_ms()
    cut_off_last_trigger(scene)
    try:
        time.sleep(AWAY_S)
        with watched(settings(scene), monkeypatch) as (engine, shown):
            assert eventually(lambda: len(shown()) >= 4, 120)
            progress = engine.progress(C)
            assert progress.blind
            assert not progress.caught_up
            assert 0 < progress.seen_ms <= stopped_ms
            assert not any(ready for _, ready in shown())
            blind = shown()
            for group in EVERY_S:
                assert statuses(blind, group) == ["OK"], group
            scene.broker.start()
            scene.consumers.resting.clear()
            assert eventually(engine.ready, 120), progress
            assert (progress.blind, progress.error) == (False, "")
            assert progress.seen_ms > stopped_ms
    finally:
        if not scene.broker.running:
            scene.broker.start()
        scene.consumers.resting.clear()


def test_a_slow_group_gets_one_verdict_at_a_very_first_start(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands, data, ended = scene.hands, "moments-grows", threading.Event()
    hands.make(data)

    def fall_behind() -> None:
        """Ten records every 200 ms, one of them read.

        Where this thread has to wait, the heads between two looks are not on a line: with more that are read an
        estimated lag might fall.
        """
        step = 0
        while not ended.wait(0.2):
            step += 1
            hands.fill(data, 10)
            hands.write(RAW, [commit(SLOW, data, step)])

    thread = threading.Thread(target=fall_behind, daemon=True)
    thread.start()
    try:
        time.sleep(3)
        with watched(settings(scene, tmp_path), monkeypatch) as (_, shown):
            assert eventually(lambda: statuses(shown(), SLOW)[-1:] == ["WARN"], 120), statuses(shown(), SLOW)
            count = len(shown())
            assert eventually(lambda: len(shown()) >= count + 10, 60)
            assert statuses(shown(), SLOW) in (["OK", "WARN"], ["WARN"])
    finally:
        ended.set()
        thread.join()
