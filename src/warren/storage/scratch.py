"""Buckets as they were after the last trigger, in files of this machine, so that they need not come from Spark's state.

Only a shortcut: the state has all of it. A file is named after the token that its writer put into the state, so a file
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


def directory() -> Path:
    """Where this machine's files are."""
    first = os.environ.get(_DIRECTORIES, "").split(",")[0]
    return Path(first or tempfile.gettempdir(), "warren")


def keep(token: str, parts: tuple[bytes, bytes], instead_of: str) -> None:
    """Write a bucket; the file of its former state goes."""
    place = directory()
    draft = place / f"{token}.draft"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(len(parts[0]).to_bytes(8, "little"))
            file.writelines(parts)
        draft.rename(place / token)
        if instead_of:
            (place / instead_of).unlink(missing_ok=True)
    except OSError:
        # a full disk makes the next trigger slower, nothing else
        with contextlib.suppress(OSError):
            draft.unlink()


def find(token: str) -> tuple[pa.Buffer, pa.Buffer] | None:
    """The bucket that was kept under the token, mapped rather than read."""
    try:
        file = pa.memory_map(str(directory() / token))
    except OSError:
        return None
    with file:
        whole = file.read_buffer()
    size = int.from_bytes(whole.slice(0, 8).to_pybytes(), "little")
    return whole.slice(8, size), whole.slice(8 + size)
