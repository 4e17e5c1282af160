"""Java's temporary files: in a directory of their own, so that a start can remove what killed ones left.

Java and Spark remove their files at their end, but not after kill -9 or when the kernel is out of memory: 15 MB of
RocksDB's library and the local state would stay, for every kill.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from warren.errors import WarrenError

_PREFIX: Final = "warren-java-"


class TemporaryDirectoryError(WarrenError):
    """There is no place for temporary files."""


def temporary_directory() -> tuple[Path, IO[str]]:
    """A new directory and its lock: in use until the last process that has the lock open has ended, however it ends."""
    parent = Path(tempfile.gettempdir())
    _remove_unused(parent)
    try:
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            with suppress(FileNotFoundError, BlockingIOError):
                return path, _locked(path)
            # removed as unused by another start, before it was locked
    except OSError as error:
        raise TemporaryDirectoryError(
            f"Spark's temporary files cannot be stored in {parent}: {error.strerror}. Free space there, or set TMPDIR"
            " to another directory."
        ) from error


def _remove_unused(parent: Path) -> None:
    for path in parent.glob(f"{_PREFIX}*"):
        # in use, or removed by another start
        with suppress(OSError):
            found = path.lstat()
            # others may write to the parent, too
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                with _locked(path):
                    shutil.rmtree(path)


def _locked(directory: Path) -> IO[str]:
    path = directory / "lock"
    lock = path.open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # raises if it was removed by who had it locked
        path.stat()
    except OSError:
        lock.close()
        raise
    return lock
