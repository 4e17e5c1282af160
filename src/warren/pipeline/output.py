"""The log file of Spark's processes: appended to across restarts, with a size limit."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Final

# a file of this size is rotated, replacing the previous one
MAX_BYTES: Final = 16 * 1024 * 1024
# interval of size checks
_LOOK_S: Final = 10.0


def opened(path: Path) -> int:
    """A descriptor for processes to write to, each line at the end of the file, wherever that is by then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bound(path)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)


def bound(path: Path, max_bytes: int = MAX_BYTES) -> None:
    """Copy the file and truncate it when it is too large: its writers keep it open."""
    try:
        if path.stat().st_size > max_bytes:
            shutil.copyfile(path, aside(path))
            os.truncate(path, 0)
    except FileNotFoundError:
        # it does not exist yet, or was deleted
        return


def aside(path: Path) -> Path:
    """The rotated file."""
    return path.with_name(f"{path.name}.1")


def keep_bounded(path: Path) -> None:
    """Limit the size of the file while this process runs."""

    def look() -> None:
        while not threading.Event().wait(_LOOK_S):
            try:
                bound(path)
            except OSError:
                # the disk is full, or no permission: checked again later
                continue

    threading.Thread(target=look, name="spark-log", daemon=True).start()
