"""Warren is killed while it writes: nothing is missing afterwards, and nothing is there twice."""

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
from tests.integration.sinks.test_kafka import committed, made_topic
from tests.integration.sinks.test_kafka import samples as kafka_samples
from tests.processes import eventually, kill_session

from warren.config import AnySink
from warren.config.modules import KafkaSink, ParquetSink
from warren.demo.broker import Broker
from warren.sinks.sample import SampleName


@contextlib.contextmanager
def writing(directory: Path, sink: AnySink) -> Iterator[None]:
    """In a session of its own; all of it, Java and Python workers included, is killed in the end."""
    with (directory / "child.log").open("ab") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                child.__name__,
                str(directory),
                sink.model_dump_json(by_alias=True, exclude_unset=True),
            ],
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
    sink = ParquetSink(class_name="parquet", path=str(history), interval=1)
    with writing(tmp_path, sink):
        assert eventually(lambda: len(samples(history)) >= 3, PATIENCE_S), (
            tmp_path / "child.log"
        ).read_text()
        # anywhere between two samples
        time.sleep(random.random())
    taken = samples(history) | waiting(tmp_path)
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


def test_killed_in_the_middle_of_a_transaction_every_sample_is_there_once(
    session: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = made_topic(broker)
    sink = KafkaSink(class_name="kafka", servers=(broker.bootstrap_servers,), topic=topic, interval=1)
    with writing(tmp_path, sink):
        assert eventually(lambda: len(kafka_samples(committed(broker, topic))) >= 3, PATIENCE_S, 0.5), (
            tmp_path / "child.log"
        ).read_text()
        # anywhere between two samples
        time.sleep(random.random())
    with running_sinks(session, tmp_path, {"h": sink}, "east", "west") as running:
        running.wait("h", 2)
    found = kafka_samples(committed(broker, topic))
    assert found == dict.fromkeys(range(1, max(found) + 1), 18)
