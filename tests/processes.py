"""Helpers for tests that start processes and see them end."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def alive(pid: int) -> bool:
    """Does the process run? A zombie that nobody has waited for yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(condition: Callable[[], bool], within_s: float) -> bool:
    """Does the condition come true in that time?"""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
