"""Buckets after the last trigger, in files on this machine, so that they need not be read from Spark's state.

Only a cache: the state has all of it. A file begins with the token that its writer stored in the state, so a file
of a failed trigger, or of another machine, is never used.
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
    """The files of one operator, one for each bucket."""

    def __init__(self, name: str) -> None:
        self._name = name

    def keep(self, number: int, token: str, tps: bytes, rows: pa.RecordBatch) -> None:
        """Write a bucket, replacing its file."""
        path = self._path(number)
        draft = path.with_suffix(".draft")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(draft), "wb") as file:
                file.write(token.encode() + len(tps).to_bytes(8, "little") + tps)
                # written directly from the arrays: they are most of a trigger's memory
                with pa.ipc.new_stream(file, rows.schema) as stream:
                    stream.write_batch(rows)
            draft.rename(path)
        except OSError:
            # a full disk only makes the next trigger slower
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
