"""Buckets as they were after the last trigger, in files of this machine, so that they need not come from Spark's state.

Only a shortcut: the state has all of it. A file begins with the token that its writer put into the state, so a file
of a trigger that failed, or of another machine, is never taken for the truth.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa

# Spark's own scratch space, which it removes at its end
_DIRECTORIES: Final = "SPARK_LOCAL_DIRS"

_TOKEN_BYTES: Final = 32


def directory() -> Path:
    """Where this machine's files are."""
    first = os.environ.get(_DIRECTORIES, "").split(",")[0]
    return Path(first or tempfile.gettempdir(), "warren")


class Scratch:
    """The files of one operator, one for each bucket: a trigger that fails leaves no more than the others do."""

    def __init__(self, name: str) -> None:
        self._name = name

    def keep(self, number: int, token: str, places: bytes, rows: pa.RecordBatch) -> None:
        """Write a bucket over what was there of it."""
        path = self._path(number)
        draft = path.with_suffix(".draft")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(draft), "wb") as file:
                file.write(token.encode() + len(places).to_bytes(8, "little") + places)
                # straight from the arrays into the file: they are the most of a trigger's memory
                with pa.ipc.new_stream(file, rows.schema) as stream:
                    stream.write_batch(rows)
            draft.rename(path)
        except OSError:
            # a full disk makes the next trigger slower, nothing else
            with contextlib.suppress(OSError):
                draft.unlink()

    def find(self, number: int, token: str) -> tuple[pa.Buffer, pa.Buffer] | None:
        """The bucket that was kept under the token, its two parts mapped rather than read."""
        try:
            with pa.memory_map(str(self._path(number))) as file:
                whole = file.read_buffer()
        except (OSError, pa.ArrowInvalid):
            return None
        begin = _TOKEN_BYTES + 8
        if whole.size < begin or whole.slice(0, _TOKEN_BYTES).to_pybytes() != token.encode():
            return None
        size = int.from_bytes(whole.slice(_TOKEN_BYTES, 8).to_pybytes(), "little")
        return whole.slice(begin, size), whole.slice(begin + size)

    def _path(self, number: int) -> Path:
        return directory() / f"{self._name}-{number}"
