"""HTTP on one connection, with time limits for receiving requests and for clients that do not read."""

from __future__ import annotations

import asyncio
import fcntl
import math
import sys
import termios
from asyncio.events import TimerHandle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_from_bytes

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from warren.httpserver.connections import BEYOND
from warren.httpserver.reply import refused

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_ASCII: Final = bytes(range(128))
# bytes of a request line and its headers
_MAX_HEAD: Final = 64 * 1024
# unwritten bytes after which a response waits; over TLS it would be 512 KB
_MAX_UNWRITTEN: Final = 64 * 1024
# requests that wait for the response to the one before
_MAX_WAITING: Final = 16


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits."""

    # for a whole request to arrive, or a TLS handshake
    read_s: float
    # for a client that reads nothing of its response
    write_s: float


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP with time limits for receiving requests and for clients that do not read."""

    _read_timer: TimerHandle | None = None
    _write_timer: TimerHandle | None = None
    # unwritten bytes at the last check
    _unwritten = math.inf
    # also while the headers arrive; only a line without line break before it is quoted
    _in_request_line = True
    # bytes received since the last complete request
    _head_size = 0
    # the request that is being answered: uvicorn knows only the newest, which may wait behind it
    _running: RequestResponseCycle | None = None

    def __init__(
        self, limits: TimeLimits, left: Callable[[], None], *, beyond: bool, **uvicorns: Any
    ) -> None:
        """`left` is called when the connection is closed; `beyond`: it is beyond the listener's limit."""
        super().__init__(**uvicorns)
        self._limits = limits
        self._left = left
        self._beyond = beyond

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(_MAX_UNWRITTEN)
        self._read_timer = self._close_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._read_timer = _cancelled(self._read_timer)
        self._write_timer = _cancelled(self._write_timer)
        self._left()
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._beyond:
            self.scope[BEYOND] = True  # type: ignore[typeddict-unknown-key]
        if self._read_timer is None:
            self._read_timer = self._close_later()

    def data_received(self, data: bytes) -> None:
        if self._in_request_line and not data.isascii():
            # curl sends letters like ø unescaped; Go accepts them, httptools does not
            line, end, rest = data.partition(b"\n")
            data = quote_from_bytes(line, safe=_ASCII).encode() + end + rest
        self._head_size += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_request_line and self._head_size > _MAX_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", "the request's headers are too large")
        elif self._read_timer is None and (self.cycle is None or self.cycle.response_complete):
            # a blank line ends uvicorn's time limit for idle connections, but begins no request
            self._read_timer = self._close_later()

    def send_400_response(self, msg: str) -> None:
        """Malformed HTTP, answered in Burrow's error shape."""
        self._refuse(b"400 Bad Request", "this is not an HTTP request")

    def _refuse(self, status: bytes, message: str) -> None:
        body = b"".join(refused(0, message).body)
        head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, len(body)) + body)
        self._close()

    def on_headers_complete(self) -> None:
        self._in_request_line = False
        self._head_size = 0
        if len(self.pipeline) >= _MAX_WAITING:
            self.transport.abort()
            return
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        # uvicorn's own name: under another one `_running` stays None, and only such a stream lives on
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_message_complete(self) -> None:
        self._in_request_line = True
        self._head_size = 0
        self._read_timer = _cancelled(self._read_timer)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        self._unwritten = math.inf
        super().resume_writing()

    def _close(self) -> None:
        """Close when the client has read everything, or reads nothing any more."""
        self.transport.close()
        self._watch_writing()

    def _close_later(self) -> TimerHandle:
        return self.loop.call_later(self._limits.read_s, self.transport.abort)

    def _watch_writing(self) -> None:
        """Check periodically whether the client reads."""
        self._unwritten = math.inf
        self._write_timer = self._write_timer or self.loop.call_later(
            self._limits.write_s, self._check_writing
        )

    def _check_writing(self) -> None:
        self._write_timer = None
        left = self.transport.get_write_buffer_size()
        if left:
            left += _in_system(self.transport)
        if left >= self._unwritten:
            self.transport.abort()
        elif left or self.transport.is_closing():
            self._unwritten = left
            self._write_timer = self.loop.call_later(self._limits.write_s, self._check_writing)


def _in_system(transport: asyncio.Transport) -> int:
    """Bytes in the kernel's send buffer.

    The socket becomes writable only when a third of its buffer, of megabytes, is free: a slow client may need a minute.
    """
    try:
        found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, AttributeError):
        return 0
    return int.from_bytes(found, sys.byteorder)


def _cancelled(timer: TimerHandle | None) -> TimerHandle | None:
    """Cancel a timer; returns None."""
    if timer is not None:
        timer.cancel()
    return None
