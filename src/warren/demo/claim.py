"""The lock of a data directory: held as long as any process uses it."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO, Final

from warren.errors import WarrenError

LOOK_S: Final = 0.02


class ClaimedError(WarrenError):
    """Another process uses the directory."""

    def __init__(self, directory: Path, owner: int) -> None:
        super().__init__(
            f"The data in {directory} is in use by another broker (of process {owner}): stop that one first."
        )


def claim(directory: Path, patience_s: float) -> IO[str]:
    """Lock the directory for this process and for every process that inherits the returned file.

    If the process that locked it is gone, its children are about to end: wait for them up to `patience_s`.
    """
    lock = (directory / "lock").open("a+")
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = int(lock.read() or 0)
            if _exists(owner) or time.monotonic() > deadline:
                lock.close()
                raise ClaimedError(directory, owner) from None
            time.sleep(LOOK_S)
        else:
            lock.seek(0)
            lock.truncate()
            lock.write(str(os.getpid()))
            lock.flush()
            return lock


def _exists(pid: int) -> bool:
    """Zero: the lock file is just being written."""
    if pid == 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
