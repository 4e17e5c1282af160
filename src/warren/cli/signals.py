"""Signals as a person or a service manager sends them."""

from __future__ import annotations

import signal
import threading


def stop_asked() -> threading.Event:
    """Set by Ctrl-C and by SIGTERM; a second Ctrl-C ends the process at once."""
    asked = threading.Event()

    def ask(*_: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return asked
