"""Ends an exchange with a receiver at its deadline, however slowly its bytes come."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self

# the exchange may have had no socket just then: between its connection and TLS, for one
_AGAIN_S: Final = 0.5


class CutOff:
    """At the deadline the connections are shut down, and whoever waits for their bytes gets an error.

    The time-out of a socket starts again with every byte: an answer that trickles in could take days.
    """

    def __init__(self, limit_s: float, sockets: Callable[[], Iterable[socket.socket]]) -> None:
        """`sockets`: those of the exchange; called in another thread."""
        self._limit_s = limit_s
        self._sockets = sockets
        self._over = threading.Event()
        # whether the deadline passed during the exchange
        self.passed = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="notifier-cut-off", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()

    def _run(self) -> None:
        wait_s = self._limit_s
        while not self._over.wait(wait_s):
            self.passed = True
            for each in self._sockets():
                with contextlib.suppress(OSError):
                    # of the plain socket: that of a TLS socket would drop the state that a reader is using
                    socket.socket.shutdown(each, socket.SHUT_RDWR)
            wait_s = _AGAIN_S
