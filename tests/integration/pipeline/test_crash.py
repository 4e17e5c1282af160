"""Killed at any moment and started again, after power cuts too, the pipeline has the windows of one that never was."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.pipeline import child
from tests.integration.pipeline.hands import (
    Hands,
    Record,
    Windows,
    await_view,
    client_of,
    commit,
    commit_key,
    group_tombstone,
    now_ms,
    pipeline_settings,
    reading,
    running,
    windows,
)
from tests.power_cut import power_cut
from tests.processes import eventually, kill_session
from tests.unit.pipeline_double import Pipeline, look, records

from warren.consumer.drain import Drain
from warren.consumer.plan import Range
from warren.demo.broker import Broker
from warren.snapshot.view import ClusterView
from warren.storage.bucket import WindowSettings

SEED = 20261115
KILLS = 10
# of the kills: in the middle of a batch, just after one, and while starting
POWER_CUTS = (3, 6, 9)
DATA, OFFSETS = "crash-data", "crash-offsets"
PARTITIONS = 3
# in each partition of the data topic; nobody writes to it, so a commit's lag says nothing of when it was read
HEAD = 1_000
GROUPS = [f"crash-group-{number}" for number in range(8)]
INTERVALS = 5
TEMPORARY = "temporary"


class Writer(threading.Thread):
    """Writes commits, rewinds and tombstones without a pause; a seed leads what, nothing leads when."""

    def __init__(self, hands: Hands) -> None:
        super().__init__(daemon=True)
        self._hands = hands
        self._random = random.Random(SEED)
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            number = self._random.randrange(len(GROUPS))
            self._write(number, self._record(GROUPS[number]))
            self._stopping.wait(self._random.random() * 0.04)

    def end(self) -> None:
        """In the end every group is there: the last that was written of one may be a tombstone."""
        self._stopping.set()
        self.join()
        for number, group in enumerate(GROUPS):
            self._write(number, commit(group, DATA, number))

    def _write(self, number: int, record: Record) -> None:
        # a group stays in its partition of the offsets topic
        self._hands.write(OFFSETS, [record], partition=number % 2)

    def _record(self, group: str) -> Record:
        kind, partition = self._random.random(), self._random.randrange(PARTITIONS)
        if kind < 0.01:
            return group_tombstone(group)
        if kind < 0.03:
            return commit_key(group, DATA, partition), None
        return commit(group, DATA, self._random.randrange(HEAD), partition=partition)


@contextlib.contextmanager
def engine_process(directory: Path, broker: Broker) -> Iterator[subprocess.Popen[bytes]]:
    """An engine in a session of its own; all of it, Java and Python workers included, is killed in the end."""
    (directory / TEMPORARY).mkdir(exist_ok=True)
    with (directory / "child.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", child.__name__, str(directory), broker.bootstrap_servers, OFFSETS],
            start_new_session=True,
            env=os.environ | {"TMPDIR": str(directory / TEMPORARY)},
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        kill_session(process.pid)
        process.wait()


class Checkpoint:
    """What Spark has written of a query: a batch is planned, then carried out."""

    def __init__(self, directory: Path) -> None:
        self._query = directory / child.CLUSTER / "query"

    def planned(self) -> int:
        return self._newest("offsets")

    def done(self) -> int:
        return self._newest("commits")

    def _newest(self, log: str) -> int:
        directory = self._query / log
        names = [each.name for each in directory.iterdir()] if directory.exists() else []
        return max((int(name) for name in names if name.isdecimal()), default=-1)


def moment(directory: Path, rng: random.Random, turn: int) -> Callable[[], None]:
    """Waits for the moment of a kill: while starting, with a batch planned, in the middle of it, just after it."""
    checkpoint = Checkpoint(directory)
    planned, done = checkpoint.planned(), checkpoint.done()
    delay_s = rng.random()
    batches = rng.randrange(1, 4)

    def starting() -> None:
        time.sleep(6 * delay_s)

    def in_a_batch() -> None:
        assert eventually(lambda: checkpoint.planned() >= planned + batches, 120)
        time.sleep(0.8 * delay_s)

    def after_a_batch() -> None:
        assert eventually(lambda: checkpoint.done() >= done + batches, 120)
        time.sleep(0.1 * delay_s)

    return [in_a_batch, starting, after_a_batch, in_a_batch][turn % 4]


def all_windows(view: ClusterView) -> dict[str, Windows]:
    return {group: windows(view, group) for group in view.groups()}


def replayed(broker: Broker, ends: list[int]) -> dict[str, Windows]:
    """The windows after everything in the offsets topic, without Spark and in one go."""
    drain = Drain(client_of(broker), OFFSETS)
    batches = []
    for partition, end in enumerate(ends):
        pairs: list[Record] = []
        for part in drain.records([Range(partition, 0, end, 0)]):
            pairs += zip(part.keys.to_pylist(), part.values.to_pylist(), strict=True)
        batches.append(records(pairs, intervals=INTERVALS))
    pipeline = Pipeline(WindowSettings(INTERVALS, 0, 604_800_000, 1_000))
    heads = {(DATA, partition): HEAD for partition in range(PARTITIONS)}
    return all_windows(pipeline.trigger(look(heads, now_ms()), *batches))


@pytest.mark.timeout(600)
def test_ten_kills_change_nothing(broker: Broker, tmp_path: Path) -> None:
    hands = Hands(broker)
    hands.make(DATA, PARTITIONS)
    for partition in range(PARTITIONS):
        hands.fill(DATA, HEAD, partition)
    hands.make(OFFSETS, 2)
    rng = random.Random(SEED)
    writer = Writer(hands)
    writer.start()
    # RocksDB's, 15 MB each, that Java has put among its temporary files
    libraries: list[int] = []
    # files that were not on the disk yet
    lost = 0
    try:
        for turn in range(KILLS):
            wait = moment(tmp_path, rng, turn)
            with engine_process(tmp_path, broker) as process:
                wait()
                assert process.poll() is None, (tmp_path / "child.log").read_text()
            libraries.append(len(list((tmp_path / TEMPORARY).rglob("librocksdbjni*"))))
            if turn in POWER_CUTS:
                lost += power_cut(tmp_path / child.CLUSTER / "query")
    finally:
        writer.end()
    ends = [hands.heads(OFFSETS, 2)[OFFSETS, partition] for partition in range(2)]
    expected = replayed(broker, ends)
    assert len(expected) == len(GROUPS)
    assert Checkpoint(tmp_path).done() > KILLS // 2
    assert lost > 0
    # every start removed what the one before it had left
    assert max(libraries) == 1

    # the killed one goes on where it was, beside one that begins at the beginning
    consumers = {
        name: reading(name, broker, offsets_topic=OFFSETS) for name in (child.CLUSTER, "never-killed")
    }
    both = pipeline_settings(tmp_path, dict.fromkeys(consumers, broker), consumers, intervals=INTERVALS)
    with running(both) as engine:
        whole = await_view(engine, "never-killed", lambda view: all_windows(view) == expected)
        killed = await_view(engine, child.CLUSTER, lambda view: all_windows(view) == expected)
        assert killed.number > Checkpoint(tmp_path).done() - 3
        for view in (whole, killed):
            assert {each.head for each in view.topic(DATA) or ()} == {HEAD}
        # and read less than everything for it
        assert engine.progress(child.CLUSTER).records < sum(ends)
