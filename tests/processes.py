"""Helpers for tests that start processes and see them end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

import psutil


def alive(pid: int) -> bool:
    """Does the process run? A zombie that nobody has waited for yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(condition: Callable[[], bool], within_s: float, every_s: float = 0.02) -> bool:
    """Does the condition come true in that time? It is asked again after `every_s`, more for what costs more."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True


def kill_session(session: int) -> None:
    """SIGKILL for every process of a session, those too that it starts meanwhile."""

    def alone() -> bool:
        left = [pid for pid in psutil.pids() if _session(pid) == session and alive(pid)]
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    assert eventually(alone, 10)


def _session(pid: int) -> int:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        return os.getsid(pid)
    return -1
