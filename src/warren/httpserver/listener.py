"""One address to listen on: its socket, its certificate, its time limits."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from asyncio.events import TimerHandle
from typing import Any, Final
from urllib.parse import quote_from_bytes

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from warren.config import Settings
from warren.config.sections import HttpServer
from warren.errors import WarrenError
from warren.httpserver.asgi import AsgiApp
from warren.httpserver.reply import refused

_REASONS: Final = {
    errno.EADDRINUSE: "another program has that port; stop it or choose another port",
    errno.EACCES: "this user may not use that port; choose one above 1023",
    errno.EADDRNOTAVAIL: "this machine does not have that address; choose another, or leave the host out",
}
_ASCII: Final = bytes(range(128))
# bytes of a request line and its headers
_MAX_HEAD: Final = 64 * 1024
# seconds that answers under way may still take once the server is told to stop
_GRACE: Final = 3


class ListenError(WarrenError):
    """A listener cannot be opened as it is configured."""

    def __init__(self, name: str, address: str, reason: str) -> None:
        super().__init__(f"httpserver.{name}: cannot listen on {address}: {reason}")


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP with Burrow's time limit on all of it: asking, reading the answer, and idling."""

    _asking: TimerHandle | None = None
    _stuck: TimerHandle | None = None
    # also while the headers are on their way, whose values are left alone unless they come alone
    _in_request_line = True
    # bytes that came since the last request was complete
    _head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._asking = self._close_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._asking = _cancelled(self._asking)
        self._stuck = _cancelled(self._stuck)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
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
        self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_request_line = False
        self._head_size = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_request_line = True
        self._head_size = 0
        self._asking = _cancelled(self._asking)
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self._stuck or self._close_later()

    def resume_writing(self) -> None:
        self._stuck = _cancelled(self._stuck)
        super().resume_writing()

    def _close_later(self) -> TimerHandle:
        return self.loop.call_later(self.timeout_keep_alive, self.transport.abort)


def _cancelled(timer: TimerHandle | None) -> TimerHandle | None:
    """What is left of a timer: nothing."""
    if timer is not None:
        timer.cancel()
    return None


class Listener:
    """An open socket and the HTTP server behind it."""

    def __init__(self, name: str, settings: Settings, app: AsgiApp) -> None:
        self.name = name
        section = settings.httpserver[name]
        self._server = uvicorn.Server(_config(name, section, settings, app))
        self._socket = _open(name, section)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where a program on this machine reaches the listener."""
        host: str = self._socket.getsockname()[0]
        if host in {"::", "0.0.0.0"}:  # noqa: S104 - what the socket says, not what we bind
            host = "localhost"
        scheme = "https" if self._server.config.is_ssl else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def started(self) -> bool:
        return self._server.started

    async def serve(self) -> None:
        """Until told to stop."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Any thread may say so."""
        self._server.should_exit = True

    def close(self) -> None:
        """Give the port back; for a listener that never served."""
        self._socket.close()


def _config(name: str, section: HttpServer, settings: Settings, app: AsgiApp) -> uvicorn.Config:
    certificate: dict[str, Any] = {}
    if section.tls:
        tls = settings.tls[section.tls]
        if not tls.certfile or not tls.keyfile:
            reason = f"tls.{section.tls} has no certificate to show; add certfile and keyfile"
            raise ListenError(name, section.address, reason)
        certificate = {
            "ssl_certfile": str(settings.path(tls.certfile)),
            "ssl_keyfile": str(settings.path(tls.keyfile)),
            # never ask on the terminal for the password of an encrypted key
            "ssl_keyfile_password": "none",
        }
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=section.timeout,
        timeout_graceful_shutdown=_GRACE,
        **certificate,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        files = f"{certificate['ssl_certfile']} and {certificate['ssl_keyfile']}"
        reason = f"{files} are not a certificate and its unencrypted key: {error.strerror or error}"
        raise ListenError(name, section.address, reason) from error
    return config


def _open(name: str, section: HttpServer) -> socket.socket:
    try:
        if not section.host:
            return _every_interface(section.port)
        # Go prefers IPv4 where a name has both
        found = socket.getaddrinfo(section.host, section.port, type=socket.SOCK_STREAM)
        family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(address, family=family, backlog=2048)
    except socket.gaierror as error:
        reason = f"there is no host {section.host}; correct the name or leave it out"
        raise ListenError(name, section.address, reason) from error
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise ListenError(name, section.address, reason) from error


def _every_interface(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=2048)
    return socket.create_server(("", port), backlog=2048)
