"""Accepts connections: each is counted before its TLS handshake."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from warren.httpserver.connections import Connections
from warren.httpserver.protocol import TimedProtocol, TimeLimits

# seconds to wait after the system had no descriptor for a connection
_AGAIN_S: Final = 0.2

# (connection is gone, whether it is beyond the limit): the protocol for it
MakeProtocol = Callable[[Callable[[], None], bool], TimedProtocol]


class Connection:
    """One client's connection, from before its TLS handshake to its end."""

    def __init__(self, accepted: socket.socket) -> None:
        self.accepted = accepted
        self.protocol: TimedProtocol | None = None
        self.opening: asyncio.Task[None] | None = None

    def abort(self) -> None:
        if self.protocol is not None and self.protocol.transport is not None:
            self.protocol.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class Acceptor:
    """Accepts on one socket until it is closed; uvicorn uses it as one of asyncio's servers.

    asyncio's own server reports a connection after its TLS handshake: a client that sends nothing would not be
    counted. It also accepts all pending connections before it reports the first, even if descriptors run out.
    """

    def __init__(
        self,
        listening: socket.socket,
        connections: Connections,
        limits: TimeLimits,
        context: ssl.SSLContext | None,
        make_protocol: MakeProtocol,
    ) -> None:
        self._listening = listening
        self._connections = connections
        self._limits = limits
        self._context = context
        self._make_protocol = make_protocol
        self._opening: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Accept no more connections; those in their handshake are dropped."""
        for task in (self._accepting, *self._opening):
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(self._accepting, *self._opening, return_exceptions=True)
        self._listening.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(self._listening)
            except OSError:
                # no descriptor is left, or the client has disconnected already
                await asyncio.sleep(_AGAIN_S)
                continue
            self._take(accepted, str(address[0]))
            # let other tasks run between two connections
            await asyncio.sleep(0)

    def _take(self, accepted: socket.socket, address: str) -> None:
        connection = Connection(accepted)
        within = self._connections.enter(connection, address)
        task = asyncio.get_running_loop().create_task(self._open(connection, beyond=not within))
        connection.opening = task
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, connection: Connection, *, beyond: bool) -> None:
        protocol = self._make_protocol(lambda: self._connections.leave(connection), beyond)
        connection.protocol = protocol
        handshake_s = self._limits.read_s if self._context is not None else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                connection.accepted,
                ssl=self._context,
                ssl_handshake_timeout=handshake_s,
                ssl_shutdown_timeout=handshake_s,
            )
        except (OSError, asyncio.CancelledError):
            # no TLS, too slow, or disconnected
            connection.accepted.close()
            self._connections.leave(connection)
