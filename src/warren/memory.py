"""Memory that was used for a moment, given back to the system: processes live as long as the query."""

from __future__ import annotations

import ctypes
from typing import Final

import pyarrow as pa

# glibc keeps what was freed for the next allocation; other C libraries give it back by themselves
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)
_OPTION: Final = getattr(ctypes.CDLL(None), "mallopt", None)
# glibc's number for the least size that gets memory of its own, and that size
_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 256 * 1024


def give_back() -> None:
    """Return freed memory of Arrow and of C to the system."""
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)


def return_large() -> None:
    """From now on what is large has memory of its own, which goes back to the system as soon as it is freed.

    Otherwise glibc takes the first large array that is freed as a reason to keep all that size: a driver that replaces
    its arrays in every trigger grows to twice what it needs.
    """
    if _OPTION is not None:
        _OPTION(_MMAP_THRESHOLD, _LARGE)
