"""The part of a batch that runs in Spark's Python processes: read the samples, select, write, say how it went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from warren.memory import release_memory
from warren.sinks import sample
from warren.sinks.sample import SampleName
from warren.sinks.selection import Selection
from warren.sinks.writer import Batch, Kind, PlacedFile, TryAgainError, Writer

# one row per sample, and one per file of it: Spark's type and Arrow's
_COLUMNS: Final = {
    "sample": ("long", pa.int64()),
    "written": ("boolean", pa.bool_()),
    "rows": ("long", pa.int64()),
    "rejected": ("long", pa.int64()),
    "reason": ("string", pa.string()),
    "error": ("string", pa.string()),
    "path": ("string", pa.string()),
    "content": ("binary", pa.binary()),
}
OUTCOME: Final = ", ".join(f"{name} {kind}" for name, (kind, _) in _COLUMNS.items())
_OUTCOME: Final = pa.schema([(name, kind) for name, (_, kind) in _COLUMNS.items()])

# sink and what it was made with: its writer, kept from batch to batch as long as this process lives
_WRITERS: dict[tuple[str, int], Writer] = {}


def row_count(batches: Iterable[pa.RecordBatch]) -> int:
    """How many rows a task has. All are read: Spark ends a worker whose task leaves some, and the next trigger of a
    cluster would wait for a new one and its connections (0.15 s)."""
    return sum(batch.num_rows for batch in batches)


@dataclass(frozen=True)
class Work:
    """What a task does; travels to it, secrets included, and is never printed."""

    sink: str
    # another number for every start of the sink's query: settings may have changed
    start: int
    kind: Kind
    selection: Selection
    # oldest first
    samples: tuple[Path, ...]
    previous: Path | None

    def __repr__(self) -> str:
        return f"Work({self.sink})"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For Spark's `mapInArrow`; the rows only say that there is something to do."""
        if not row_count(batches):
            return
        previous = self.previous
        for path in self.samples:
            outcome, files = self._outcome(path, previous)
            yield pa.RecordBatch.from_pylist([outcome], schema=_OUTCOME)
            for file in files:
                row = outcome | {"path": file.path, "content": file.content}
                yield pa.RecordBatch.from_pylist([row], schema=_OUTCOME)
            if outcome["error"]:
                # samples keep their order: the next one waits for this one
                return
            previous = path
        release_memory()

    def _outcome(self, path: Path, previous: Path | None) -> tuple[dict[str, Any], tuple[PlacedFile, ...]]:
        name = SampleName.read(path.name)
        if name is None:
            raise ValueError(path.name)
        unwritten: dict[str, Any] = {
            "sample": name.number,
            "written": False,
            "rows": 0,
            "rejected": 0,
            "reason": "",
            "error": "",
        }
        wanted = [table for table in self.selection.tables if table in self.kind.tables()]
        try:
            whole = sample.read(path, wanted)
        except FileNotFoundError:
            # dropped meanwhile, and counted there
            return unwritten, ()
        batch = Batch(name.number, name.time_ms, self.selection.applied(whole), previous)
        try:
            written = self._writer().write(batch)
        except TryAgainError as error:
            # the next one reads its certificates again, and asks anew what the server is
            _WRITERS.pop((self.sink, self.start), None)
            return unwritten | {"error": str(error) or type(error).__name__}, ()
        outcome = {"rows": written.rows, "rejected": written.rejected, "reason": written.reason}
        return unwritten | outcome | {"written": True}, tuple(written.files)

    def _writer(self) -> Writer:
        key = (self.sink, self.start)
        found = _WRITERS.get(key)
        if found is None:
            for old in [each for each in _WRITERS if each[0] == self.sink]:
                del _WRITERS[old]
            found = _WRITERS[key] = self.kind.writer()
        return found
