"""Spark's planning processes: one kind for each step of planning, kept by Spark for ever and needed at a start only."""

from __future__ import annotations

import contextlib

import psutil

# the modules that they run
_MODULES = "pyspark.sql.worker."


def dismiss() -> int:
    """End them, some 60 MB each; Spark starts new ones should a query start again. Returns how many."""
    found = [each for each in psutil.Process().children(recursive=True) if _is_planner(each)]
    for each in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.terminate()
    return len(found)


def _is_planner(process: psutil.Process) -> bool:
    try:
        return any(word.startswith(_MODULES) for word in process.cmdline())
    except psutil.Error:
        return False
