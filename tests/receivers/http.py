"""A real HTTP(S) server on a port of its own that keeps every request and answers as it is told."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Literal, Self

from warren.demo.certificates import Certificates

HOST: Final = "127.0.0.1"
# between two bytes
_TRICKLE_S: Final = 0.1


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    at_ms: int
    # counts the connections of this server from 1: the same number, the same connection
    connection: int
    method: str
    # with the query
    path: str
    # in the order of arrival, names as the client wrote them
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever the case of its name."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Reply:
    """What the server does with a request after it has kept it."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    # seconds before the answer
    wait_s: float = 0.0
    # "hang": no answer until the server stops; "close": the connection ends without one; "trickle": the answer comes
    # byte by byte, for seconds
    fault: Literal["", "hang", "close", "trickle"] = ""


Responder = Callable[[Received], Reply]


class HttpReceiver:
    """Runs between `with` and its end; with certificates it speaks HTTPS."""

    def __init__(
        self, certificates: Certificates | None = None, *, port: int = 0, responder: Responder | None = None
    ) -> None:
        self._responder: Responder = responder or (lambda request: Reply())
        self._next: deque[Reply] = deque()
        self._received: list[Received] = []
        self._arrived = threading.Condition()
        self._stopped = threading.Event()
        self._server = _Server((HOST, port), self, certificates)
        self._scheme = "http" if certificates is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address without a slash at its end."""
        return f"{self._scheme}://{HOST}:{self.port}"

    @property
    def tls(self) -> ssl.SSLContext | None:
        """To ask clients for certificates, for one."""
        return self._server.tls

    @property
    def received(self) -> list[Received]:
        """Everything up to now, in order."""
        with self._arrived:
            return list(self._received)

    def answer(self, reply: Reply | Responder) -> None:
        """How every further request is answered."""
        self._responder = reply if callable(reply) else lambda request: reply

    def answer_next(self, *replies: Reply) -> None:
        """How the next requests are answered, one reply each, before the rule holds again."""
        self._next.extend(replies)

    def wait_for(self, count: int, within_s: float = 20.0) -> list[Received]:
        """The requests, as soon as there are so many; fails when they do not come."""
        with self._arrived:
            came = self._arrived.wait_for(lambda: len(self._received) >= count, within_s)
            assert came, f"{len(self._received)} of {count} requests came within {within_s} s"
            return list(self._received)

    def forget(self) -> None:
        """Begin with an empty list."""
        with self._arrived:
            self._received.clear()

    def reply_to(self, request: Received) -> Reply:
        """Keep the request and say what to do with it."""
        with self._arrived:
            self._received.append(request)
            self._arrived.notify_all()
            reply = self._next.popleft() if self._next else None
        return self._responder(request) if reply is None else reply

    def waits(self, seconds: float | None) -> None:
        """Let time pass, but never longer than the server runs."""
        self._stopped.wait(seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], receiver: HttpReceiver, certificates: Certificates | None
    ) -> None:
        self.receiver = receiver
        self.connections = itertools.count(1)
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)
        self.tls: ssl.SSLContext | None = None
        if certificates is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificates.server)
            # each connection shakes hands in its own thread: a client that gives up holds up no other
            self.socket = self.tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep: a server that is gone answers nobody."""
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that break off are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection_number = next(self.server.connections)

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Received(
            at_ms=time.time_ns() // 1_000_000,
            connection=self.connection_number,
            method=self.command,
            path=self.path,
            headers=tuple(self.headers.items()),
            body=body,
        )
        reply = self.server.receiver.reply_to(request)
        if reply.fault == "hang":
            self.server.receiver.waits(None)
        if reply.fault == "trickle":
            for letter in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":
                self.server.receiver.waits(_TRICKLE_S)
                self.wfile.write(bytes([letter]))
            return
        if reply.fault:
            self.close_connection = True
            return
        if reply.wait_s:
            self.server.receiver.waits(reply.wait_s)
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    # http.server looks for a method by the request's word
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Tests look at what was received."""
