"""Handling of SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import threading


def stop_signal() -> threading.Event:
    """Set by Ctrl-C and by SIGTERM; a second Ctrl-C ends the process at once."""
    stopping = threading.Event()

    def ask(*_: object) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return stopping
