"""A sample: the tables of all clusters at one moment, as one file that is there whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import pyarrow as pa

from warren import durable
from warren.sinks.tables import SCHEMAS, Tables

SUFFIX: Final = ".sample"
# a name that no reader looks at: the file is not complete yet
UNFINISHED: Final = ".unfinished"
# a tenth of the size, for a few milliseconds
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))


@dataclass(frozen=True, slots=True, order=True)
class SampleName:
    """What the name of a sample's file says of it."""

    number: int
    time_ms: int
    # seconds: sinks with one of these intervals take it
    intervals: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.number:012d}-{self.time_ms}-{'_'.join(map(str, self.intervals))}{SUFFIX}"

    @classmethod
    def read(cls, name: str) -> Self | None:
        """None when the file is no sample."""
        parts = name.removesuffix(SUFFIX).split("-")
        if not name.endswith(SUFFIX) or len(parts) != 3:
            return None
        try:
            return cls(int(parts[0]), int(parts[1]), tuple(map(int, parts[2].split("_"))))
        except ValueError:
            return None


def write(path: Path, tables: Tables) -> int:
    """Write the file, durably and at once; returns its bytes. OSError leaves nothing behind."""
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with pa.OSFile(str(unfinished), "wb") as file:
            for name, table in tables.named().items():
                with pa.ipc.new_stream(file, SCHEMAS[name], options=_OPTIONS) as stream:
                    stream.write_table(table)
            size = file.tell()
        durable.publish(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return int(size)


def read(path: Path, wanted: Sequence[str] = tuple(SCHEMAS)) -> Tables:
    """The tables that are wanted, the others empty; FileNotFoundError when the sample has gone."""
    found = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    missing = set(wanted)
    with pa.memory_map(str(path)) as file:
        for name in SCHEMAS:
            # a sample of an earlier version has no reasons
            if not missing or file.tell() == file.size():
                break
            with pa.ipc.open_stream(file) as stream:
                table = stream.read_all()
            if name in missing:
                found[name] = table
                missing.discard(name)
    return Tables(**found)
