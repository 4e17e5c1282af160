"""What a sink's task does in Spark's Python process: samples in order, and a writer that is kept while it works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from tests.unit.sinks.samples import example_tables

from warren.config.modules import ParquetSink
from warren.sinks import sample, work
from warren.sinks.sample import SampleName
from warren.sinks.selection import Selection
from warren.sinks.work import Work
from warren.sinks.writer import Batch, Kind, PlainKind, TryAgainError, Written


@dataclass
class Writer:
    down: list[bool]
    numbers: list[int] = field(default_factory=list)

    def write(self, batch: Batch) -> Written:
        if self.down[0]:
            raise TryAgainError("the server is down")
        self.numbers.append(batch.number)
        return Written(batch.tables.rows)


@dataclass
class Server(PlainKind):
    # shared by all writers
    down: list[bool] = field(default_factory=lambda: [False])
    writers: list[Writer] = field(default_factory=list)

    def writer(self) -> Writer:
        self.writers.append(Writer(self.down))
        return self.writers[-1]


@pytest.fixture(autouse=True)
def no_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_WRITERS", {})


def rows(*counts: int) -> Iterator[pa.RecordBatch]:
    return iter([pa.record_batch({"value": list(range(count))}) for count in counts])


def outcomes(server: Server, directory: Path, *numbers: int, start: int = 1) -> list[dict[str, Any]]:
    paths = []
    for number in numbers:
        paths.append(directory / str(SampleName(number, number * 1000, (10,))))
        sample.write(paths[-1], example_tables())
    selection = Selection.of(ParquetSink(path="unused"))
    task = Work("a", start, cast("Kind", server), selection, tuple(paths), None)
    return [row for batch in task(rows(1)) for row in batch.to_pylist()]


def test_a_task_reads_all_of_its_rows() -> None:
    given = rows(1, 1, 1)
    selection = Selection.of(ParquetSink(path="unused"))
    assert list(Work("a", 1, cast("Kind", Server()), selection, (), None)(given)) == []
    assert list(given) == []


def test_a_writer_is_kept_from_batch_to_batch(tmp_path: Path) -> None:
    server = Server()
    for numbers in ((1, 2), (3,)):
        assert [row["written"] for row in outcomes(server, tmp_path, *numbers)] == [True] * len(numbers)
    assert [each.numbers for each in server.writers] == [[1, 2, 3]]


def test_a_writer_that_failed_is_made_anew(tmp_path: Path) -> None:
    """Its certificate has expired, say: the file has a new one."""
    server = Server()
    outcomes(server, tmp_path, 1)
    server.down[0] = True
    assert [(row["sample"], row["error"]) for row in outcomes(server, tmp_path, 2, 3)] == [
        (2, "the server is down")
    ]
    server.down[0] = False
    outcomes(server, tmp_path, 2, 3)
    assert [each.numbers for each in server.writers] == [[1], [2, 3]]


def test_a_sink_that_was_started_again_has_a_writer_of_its_own(tmp_path: Path) -> None:
    server = Server()
    outcomes(server, tmp_path, 1, start=1)
    outcomes(server, tmp_path, 2, start=2)
    assert [each.numbers for each in server.writers] == [[1], [2]]
