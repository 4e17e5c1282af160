"""HTTP on one connection, with limits on the time that a request takes to arrive and an answer to be taken."""

from __future__ import annotations

import asyncio
import fcntl
import math
import sys
import termios
from asyncio.events import TimerHandle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_from_bytes

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from warren.httpserver.connections import BEYOND
from warren.httpserver.reply import refused

_ASCII: Final = bytes(range(128))
# bytes of a request line and its headers
_MAX_HEAD: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds."""

    # for a whole request to arrive, or a TLS handshake
    read_s: float
    # for a reader that takes nothing of its answer
    write_s: float


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP with limits on the time that a request takes to arrive and an answer to be taken."""

    _asking: TimerHandle | None = None
    _writing: TimerHandle | None = None
    # bytes that were to be written when that was last looked at
    _unwritten = math.inf
    # also while the headers are on their way, whose values are left alone unless they come alone
    _in_request_line = True
    # bytes that came since the last request was complete
    _head_size = 0

    def __init__(
        self, patience: Patience, left: Callable[[], None], *, beyond: bool, **uvicorns: Any
    ) -> None:
        """`left` is called when the connection is closed; `beyond`: it is beyond the listener's limit."""
        super().__init__(**uvicorns)
        self._patience = patience
        self._left = left
        self._beyond = beyond

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._asking = self._close_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._asking = _cancelled(self._asking)
        self._writing = _cancelled(self._writing)
        self._left()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._beyond:
            self.scope[BEYOND] = True  # type: ignore[typeddict-unknown-key]
        if self._asking is None:
            self._asking = self._close_later()

    def data_received(self, data: bytes) -> None:
        if self._in_request_line and not data.isascii():
            # curl sends letters like ø as they are typed; Go takes them, our parser does not
            line, end, rest = data.partition(b"\n")
            data = quote_from_bytes(line, safe=_ASCII).encode() + end + rest
        self._head_size += len(data)
        super().data_received(data)
        if self._in_request_line and self._head_size > _MAX_HEAD and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large", "the request's headers are too large")

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP; in Burrow's error shape, since Burrow's clients read that."""
        self._refuse(b"400 Bad Request", "this is no HTTP request")

    def _refuse(self, status: bytes, message: str) -> None:
        body = b"".join(refused(0, message).body)
        head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, len(body)) + body)
        self._hang_up()

    def on_headers_complete(self) -> None:
        self._in_request_line = False
        self._head_size = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_request_line = True
        self._head_size = 0
        self._asking = _cancelled(self._asking)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self._watch_writing()

    def timeout_keep_alive_handler(self) -> None:
        self._hang_up()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        self._unwritten = math.inf
        super().resume_writing()

    def _hang_up(self) -> None:
        """Close when what is written has been taken, for as long as something is."""
        self.transport.close()
        self._watch_writing()

    def _close_later(self) -> TimerHandle:
        return self.loop.call_later(self._patience.read_s, self.transport.abort)

    def _watch_writing(self) -> None:
        """See from time to time whether anything of what is written has been taken."""
        self._unwritten = math.inf
        self._writing = self._writing or self.loop.call_later(self._patience.write_s, self._look_at_writing)

    def _look_at_writing(self) -> None:
        self._writing = None
        left = self.transport.get_write_buffer_size()
        if left:
            left += _in_system(self.transport)
        if left >= self._unwritten:
            self.transport.abort()
        elif left or self.transport.is_closing():
            self._unwritten = left
            self._writing = self.loop.call_later(self._patience.write_s, self._look_at_writing)


def _in_system(transport: asyncio.Transport) -> int:
    """Bytes that the system holds because the other side has not taken them.

    It asks for more only when a third of its buffer, of megabytes, is empty: a slow reader may take a minute for that.
    """
    try:
        found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, AttributeError):
        return 0
    return int.from_bytes(found, sys.byteorder)


def _cancelled(timer: TimerHandle | None) -> TimerHandle | None:
    """What is left of a timer: nothing."""
    if timer is not None:
        timer.cancel()
    return None
