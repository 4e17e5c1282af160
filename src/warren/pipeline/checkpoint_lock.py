"""The lock of the checkpoint directory. Two instances in one directory would overwrite each other's state, and both
would look healthy."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from threading import Event
from typing import IO, Final

import structlog

from warren.errors import WarrenError

log = structlog.get_logger("warren.pipeline")

# not a name that a cluster's directory is likely to have
_FILE: Final = ".lock"
# an instance that is being stopped needs a few seconds, and many triggers at once some more
PATIENCE_S: Final = 60.0
_LOOK_S: Final = 0.2


class CheckpointLockError(WarrenError):
    """The checkpoint directory is in use, or cannot be written."""


def lock_checkpoint(directory: Path, stopping: Event, patience_s: float = PATIENCE_S) -> IO[bytes]:
    """Lock the directory for as long as the returned file is open; the kernel frees it when the process ends.

    Wait for another instance that has it: it may be ending. Returns without the lock when `stopping` is set meanwhile.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / _FILE).open("ab")
    except OSError as error:
        raise CheckpointLockError(
            f"Checkpoints cannot be stored in {directory}: {error.strerror}. Make it writable, or choose another"
            " spark.checkpoint-dir."
        ) from error
    try:
        if not _taken(lock):
            log.warning(
                "waiting for another instance that uses the checkpoint directory", directory=str(directory)
            )
            _await(lock, directory, stopping, patience_s)
    except BaseException:
        lock.close()
        raise
    return lock


def _await(lock: IO[bytes], directory: Path, stopping: Event, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while not stopping.wait(_LOOK_S) and not _taken(lock):
        if time.monotonic() > deadline:
            raise CheckpointLockError(
                f"The checkpoint directory {directory} is in use by another instance of Warren: stop that one, or give"
                " this one a spark.checkpoint-dir of its own."
            )


def _taken(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # some network file systems have none
        log.warning(
            "the checkpoint directory cannot be locked: start one instance only", error=error.strerror
        )
    return True
