"""The file that holds the process id while Warren runs, so that it runs once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from warren.errors import WarrenError


class AlreadyRunningError(WarrenError):
    """Another process holds the pid file."""


@contextmanager
def held(path: Path | None) -> Iterator[None]:
    """Hold the file; a stale one is replaced. None: no file."""
    if path is None:
        yield
        return
    other = _holder(path)
    if other is not None:
        raise AlreadyRunningError(
            f"{path} says that Warren is running already, as process {other}: stop that one, or give this one "
            "another general.pidfile."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(os.getpid()))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _holder(path: Path) -> int | None:
    """The running process that wrote the file."""
    try:
        number = int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    # the id may have been reused since
    try:
        alive = psutil.Process(number).create_time() <= path.stat().st_mtime + 1
    except psutil.NoSuchProcess:
        return None
    return number if alive and number != os.getpid() else None
