"""Java's temporary files: in a directory of their own, so that a start can remove what killed ones left.

Java and Spark remove their files at their end, but not after kill -9 or when the kernel is out of memory: 15 MB of
RocksDB's library and the local state would stay, for every kill. The lock on the directory also keeps systemd-tmpfiles
away, which removes files from /tmp that nobody has touched for days.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from warren.errors import WarrenError

_PREFIX: Final = "warren-java-"


class TemporaryDirectoryError(WarrenError):
    """There is no place for temporary files."""


def temporary_directory() -> tuple[Path, int]:
    """A new directory, and the descriptor of its lock: in use until the last process that has it has ended."""
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
            " to another local directory."
        ) from error


def is_in_use(directory: Path) -> bool:
    """Whether the directory is still the one that was locked: after a removal another may be in its place."""
    try:
        os.close(_locked(directory))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    except OSError:
        # locked, or it cannot be found out
        return True
    return False


def _remove_unused(parent: Path) -> None:
    for path in parent.glob(f"{_PREFIX}*"):
        # in use, removed by another start, or another user's
        with suppress(OSError):
            lock = _locked(path)
            try:
                shutil.rmtree(path)
            finally:
                os.close(lock)


def _locked(directory: Path) -> int:
    # others may write to the parent, too: no links
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # raises if it was removed by the one that had it locked
        directory.stat()
    except OSError:
        os.close(lock)
        raise
    return lock
