"""Returns freed memory to the system: the processes run as long as the query."""

from __future__ import annotations

import ctypes
from typing import Final

import pyarrow as pa

# glibc keeps freed memory for the next allocation; other C libraries return it by themselves
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)
_OPTION: Final = getattr(ctypes.CDLL(None), "mallopt", None)
# glibc's number for the least size that gets memory of its own, and that size
_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 256 * 1024


def release_memory() -> None:
    """Return freed memory of Arrow and of C to the system."""
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)


def release_large_arrays() -> None:
    """From now on large arrays use mmap, and are returned to the system as soon as they are freed.

    By default glibc raises this threshold when the first large array is freed: a driver that replaces its arrays in
    every trigger grows to twice what it needs.
    """
    if _OPTION is not None:
        _OPTION(_MMAP_THRESHOLD, _LARGE)
