"""One address to listen on: its socket, its certificate, its time limits."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from warren.config import Settings
from warren.config.sections import HttpServer
from warren.errors import WarrenError
from warren.httpserver.acceptor import Acceptor
from warren.httpserver.asgi import AsgiApp
from warren.httpserver.connections import Connections
from warren.httpserver.protocol import TimedProtocol, TimeLimits

_REASONS: Final = {
    errno.EADDRINUSE: "another program has that port; stop it or choose another port",
    errno.EACCES: "this user may not use that port; choose one above 1023",
    errno.EADDRNOTAVAIL: "this machine does not have that address; choose another, or leave the host out",
}
# seconds that running requests may still take when the server stops
_GRACE: Final = 3


class ListenError(WarrenError):
    """A listener cannot be opened as it is configured."""

    def __init__(self, name: str, address: str, reason: str) -> None:
        super().__init__(f"httpserver.{name}: cannot listen on {address}: {reason}")


class _Server(uvicorn.Server):
    """uvicorn's server with our own acceptor."""

    def __init__(
        self, config: uvicorn.Config, listening: socket.socket, connections: Connections, limits: TimeLimits
    ) -> None:
        super().__init__(config)
        self._listening = listening
        self._connections = connections
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Without uvicorn's sockets, then with our acceptor."""
        await super().startup(sockets=[])
        acceptor = Acceptor(self._listening, self._connections, self._limits, self.config.ssl, self._protocol)
        self.servers.append(acceptor)  # type: ignore[arg-type]

    def _protocol(self, left: Callable[[], None], beyond: bool) -> TimedProtocol:
        return TimedProtocol(
            self._limits,
            left,
            beyond=beyond,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )


class Listener:
    """An open socket and the HTTP server behind it."""

    def __init__(self, name: str, settings: Settings, app: AsgiApp, connections: Connections) -> None:
        self.name = name
        section = settings.httpserver[name]
        config = _config(name, section, settings, app)
        limits = TimeLimits(
            min(section.read_timeout, section.timeout), min(section.write_timeout, section.timeout)
        )
        self._socket = _open(name, section)
        self._server = _Server(config, self._socket, connections, limits)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The URL of the listener on this machine."""
        host: str = self._socket.getsockname()[0]
        if host in {"::", "0.0.0.0"}:  # noqa: S104 - what the socket says, not what we bind
            host = "localhost"
        scheme = "https" if self._server.config.is_ssl else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def started(self) -> bool:
        return self._server.started

    async def serve(self) -> None:
        """Until `stop`."""
        await self._server.serve()

    def stop(self) -> None:
        """Thread-safe."""
        self._server.should_exit = True

    def close(self) -> None:
        """Close the port; for a listener that never served."""
        self._socket.close()


def _config(name: str, section: HttpServer, settings: Settings, app: AsgiApp) -> uvicorn.Config:
    certificate: dict[str, Any] = {}
    if section.tls:
        tls = settings.tls[section.tls]
        if not tls.certfile or not tls.keyfile:
            reason = f"tls.{section.tls} has no certificate; add certfile and keyfile"
            raise ListenError(name, section.address, reason)
        certificate = {
            "ssl_certfile": str(settings.path(tls.certfile)),
            "ssl_keyfile": str(settings.path(tls.keyfile)),
            # never prompt for the password of an encrypted key
            "ssl_keyfile_password": "none",
        }
    config = uvicorn.Config(
        app,
        http=HttpToolsProtocol,
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
