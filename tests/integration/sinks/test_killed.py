"""Warren is killed while it writes its history: nothing is missing afterwards, and nothing is there twice."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from tests.integration.sinks import child
from tests.integration.sinks.frame import PATIENCE_S, running_sinks
from tests.processes import eventually, kill_session

from warren.config.modules import ParquetSink
from warren.sinks.sample import SampleName


@contextlib.contextmanager
def writing(directory: Path, history: Path) -> Iterator[None]:
    """In a session of its own; all of it, Java and Python workers included, is killed in the end."""
    with (directory / "child.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", child.__name__, str(directory), str(history)],
            start_new_session=True,
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.kill()
        kill_session(process.pid)
        process.wait()


def samples(directory: Path, table: str = "groups") -> set[int]:
    return {int(path.stem.rpartition("-")[2]) for path in (directory / table).rglob("*.parquet")}


def waiting(directory: Path) -> set[int]:
    outbox = directory / "sinks" / "outbox"
    return {name.number for path in outbox.iterdir() if (name := SampleName.read(path.name))}


def test_killed_in_the_middle_of_a_write_nothing_is_missing_and_nothing_twice(
    session: SparkSession, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    with writing(tmp_path, history):
        assert eventually(lambda: len(samples(history)) >= 3, PATIENCE_S), (
            tmp_path / "child.log"
        ).read_text()
        # anywhere between two samples
        time.sleep(random.random())
    taken = samples(history) | waiting(tmp_path)
    sink = ParquetSink(path=str(history), interval=1)
    with running_sinks(session, tmp_path, {"h": sink}, "east", "west") as running:
        assert eventually(lambda: taken <= samples(history, "partitions"), PATIENCE_S)
        running.wait("h", 2)
    last = max(samples(history))
    for table, key in {
        "groups": ["group"],
        "topics": ["topic", "partition"],
        "partitions": ["group", "topic", "partition"],
    }.items():
        frame = pd.read_parquet(history / table)
        assert frame.groupby(["cluster", "time", *key], observed=True).size().max() == 1
        assert samples(history, table) >= set(range(1, last))
