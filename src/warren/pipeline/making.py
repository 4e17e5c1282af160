"""The moments in which snapshots are made: readers keep still in them, for both sides have one interpreter."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

# a snapshot of 100,000 windows is made in 0.07 s when nobody else computes, and in 0.3 s beside readers who do. Of a
# larger one they wait for no more than this
PATIENCE_S: Final = 0.15


class Making:
    """A context manager round the making of a snapshot; several threads may be in it."""

    def __init__(self, patience_s: float = PATIENCE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._lock = threading.Lock()
        self._inside = 0
        self._calm = threading.Event()
        self._calm.set()
        # when readers go on, at the latest
        self._until = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._until = self._clock() + self._patience_s
                self._calm.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._calm.set()

    def wait_out(self) -> None:
        """Return at once when nothing is being made, else when it is done or the patience is over."""
        if not self._calm.is_set():
            self._calm.wait(max(self._until - self._clock(), 0.0))
