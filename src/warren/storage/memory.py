"""Memory that a worker used for a large batch, given back to the system: workers live as long as the query."""

from __future__ import annotations

import ctypes
from typing import Final

import pyarrow as pa

# glibc keeps what was freed for the next allocation; other C libraries give it back by themselves
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back() -> None:
    """Return freed memory of Arrow and of C to the system."""
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)
