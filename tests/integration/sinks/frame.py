"""Sinks with a real Spark and without Kafka: snapshots are put there by hand."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.processes import eventually
from tests.unit.sinks.samples import example_view

from warren.clock import now_ms
from warren.common.sink_state import SinkState
from warren.config import AnySink, Settings
from warren.config.modules import ParquetSink
from warren.config.sections import Outbox, Spark
from warren.sinks.coordinator import Sinks
from warren.sinks.kinds import kind_of
from warren.sinks.writer import Batch, Kind, PlainKind, TryAgainError, Written
from warren.snapshot.view import ClusterView

PATIENCE_S = 60.0


class Snapshots:
    """Every look of the sampler finds a new snapshot of every cluster, as of now, until it is paused."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self.paused = False
        self.looks = 0
        self._views: dict[str, ClusterView] = {}

    def clusters(self) -> list[str]:
        # all at once: a pause between two of them would leave a sample with one cluster only
        if not self.paused:
            self._views = {name: example_view(name, now_ms()) for name in self._names}
        self.looks += 1
        return list(self._names)

    def snapshot(self, cluster: str) -> ClusterView | None:
        return self._views.get(cluster)


@dataclass(frozen=True)
class RecordingKind(PlainKind):
    """Writes a file for each sample; what it meets on the way is in files, too: `down`, `reject`, `hang`, `fault`."""

    directory: str

    def writer(self) -> RecordingWriter:
        return RecordingWriter(Path(self.directory))


@dataclass(frozen=True)
class RecordingWriter:
    directory: Path

    def write(self, batch: Batch) -> Written:
        while (self.directory / "hang").exists():
            time.sleep(0.05)
        if (self.directory / "fault").exists():
            (self.directory / "fault").unlink()
            raise ValueError("a fault in the writer")
        with (self.directory / "attempts").open("a") as attempts:
            attempts.write(f"{batch.number}\n")
        if (self.directory / "down").exists():
            raise TryAgainError("the server is down")
        told = {
            "number": batch.number,
            "previous": batch.previous.name if batch.previous else None,
            "groups": batch.tables.groups.num_rows,
            "partitions": batch.tables.partitions.num_rows,
            "process": os.getpid(),
        }
        (self.directory / f"{batch.number}.json").write_text(json.dumps(told))
        if (self.directory / "reject").exists():
            return Written(batch.tables.rows - 1, 1, "a name is too long")
        return Written(batch.tables.rows)


def recorded(directory: Path) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob("*.json"))


def recording_kind_of(sink: AnySink, settings: Settings) -> Kind:
    """`recording:DIRECTORY` as the path of a parquet sink stands for a sink that records."""
    if isinstance(sink, ParquetSink) and sink.path.startswith("recording:"):
        return RecordingKind(sink.path.removeprefix("recording:"))
    return kind_of(sink, settings)


def recording(directory: Path, **keys: Any) -> ParquetSink:
    directory.mkdir(exist_ok=True)
    return ParquetSink.model_validate({"path": f"recording:{directory}", "interval": 1} | keys)


@dataclass
class Running:
    sinks: Sinks
    snapshots: Snapshots

    def state(self, name: str) -> SinkState:
        return next(state for state in self.sinks.states() if state.name == name)

    def wait(self, name: str, samples: int) -> SinkState:
        """Until the sink has written so many samples."""
        assert eventually(lambda: self.state(name).progress.samples >= samples, PATIENCE_S), self.state(name)
        return self.state(name)

    def pause(self) -> dict[str, ClusterView | None]:
        """No snapshot after this one; returns when the last sample is in the outbox."""
        self.snapshots.paused = True
        # of an interval of a second it waits one half, with a look every 0.1 s, for snapshots that will not come
        looks = self.snapshots.looks + 12
        assert eventually(lambda: self.snapshots.looks >= looks, PATIENCE_S)
        return {name: self.snapshots.snapshot(name) for name in self.snapshots.clusters()}


@contextlib.contextmanager
def running_sinks(
    session: SparkSession,
    directory: Path,
    sinks: Mapping[str, AnySink],
    *clusters: str,
    outbox: Outbox | None = None,
) -> Iterator[Running]:
    settings = Settings(
        sink=dict(sinks), spark=Spark(checkpoint_dir=str(directory)), outbox=outbox or Outbox()
    )
    snapshots = Snapshots(*(clusters or ("local",)))
    running = Sinks(settings, snapshots, lambda: session, recording_kind_of)
    running.start()
    try:
        yield Running(running, snapshots)
    finally:
        running.stop()
