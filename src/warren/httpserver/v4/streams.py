"""What all event streams of `/v4` have in common: their headers, and how many there may be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from warren.httpserver.reply import refused
from warren.httpserver.router import Request
from warren.httpserver.unsent import SMALL

# open event streams; each is a socket and a task
MAX_STREAMS: Final = 500
# interval of keep-alive comments on a stream without events
KEEP_ALIVE_S: Final = 15.0
EVENTS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    # proxies like nginx would buffer events otherwise
    (b"x-accel-buffering", b"no"),
)
TOO_MANY: Final = refused(503, "too many streams are open", (b"retry-after", b"10"))


class Places:
    """How many streams are open."""

    def __init__(self) -> None:
        self._open = 0

    @property
    def full(self) -> bool:
        return self._open >= MAX_STREAMS

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


def event(head: bytes, body: bytes) -> tuple[bytes, ...]:
    """One event in pieces: a large body is not copied, as streams may share it."""
    return (head + body + b"\n\n",) if len(body) < SMALL else (head, body, b"\n\n")


def wants_events(request: Request) -> bool:
    return any(name == b"accept" and b"text/event-stream" in value.lower() for name, value in request.headers)
