"""The file that takes what Spark's processes write. It goes on where it ended, and stays below a bound."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Final

# a file of this size is put aside, in place of the one before it
MAX_BYTES: Final = 16 * 1024 * 1024
# how often its size is looked at
_LOOK_S: Final = 10.0


def opened(path: Path) -> int:
    """A descriptor for processes to write to, each line at the end of the file, wherever that is by then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bound(path)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)


def bound(path: Path, max_bytes: int = MAX_BYTES) -> None:
    """Put the file aside when it is too large, and go on with it empty: those who write to it keep it open."""
    try:
        if path.stat().st_size > max_bytes:
            shutil.copyfile(path, aside(path))
            os.truncate(path, 0)
    except FileNotFoundError:
        # not there yet, or somebody has cleared up
        return


def aside(path: Path) -> Path:
    """Where a file is put that has become too large."""
    return path.with_name(f"{path.name}.1")


def keep_bounded(path: Path) -> None:
    """Look after the file for as long as this process lives."""

    def look() -> None:
        while not threading.Event().wait(_LOOK_S):
            try:
                bound(path)
            except OSError:
                # the disk is full, or the file another's: there will be another look
                continue

    threading.Thread(target=look, name="spark-log", daemon=True).start()
