"""A TCP forwarder in front of a server: it can be closed, opened again, pointed elsewhere, and made slow."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

Answer = TypeVar("Answer")

HOST = "127.0.0.1"


class Forwarder:
    """A context manager; `port` stays the same however often it is closed and opened."""

    def __init__(self, port: int, target: int, delay_s: float = 0.0) -> None:
        """`delay_s`: what the server says arrives so much later."""
        self.port, self.target, self.delay_s = port, target, delay_s
        self.address = f"{HOST}:{port}"
        self._loop = asyncio.new_event_loop()
        # None while closed. Not asyncio's own server: closed, it forgets a connection that it has just accepted, and
        # the client waits for ever
        self._listener: socket.socket | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._streams: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def open(self) -> Self:
        self._do(self._open())
        return self

    def close(self) -> None:
        """Nobody listens any more, and every connection is cut."""
        self._do(self._close())

    async def _open(self) -> None:
        if self._listener is None:
            self._listener = socket.create_server((HOST, self.port), backlog=100)
            self._listener.setblocking(False)
            self._loop.add_reader(self._listener, self._accept, self._listener)

    async def _close(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for stream in list(self._streams):
            stream.transport.abort()

    async def _end(self) -> None:
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, listener: socket.socket) -> None:
        # a client may be gone again
        with contextlib.suppress(OSError):
            client, _ = listener.accept()
            connection = self._loop.create_task(self._take(client, listener))
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)

    async def _take(self, client: socket.socket, listener: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            ahead, back = await asyncio.open_connection(HOST, self.target)
        except OSError:
            writer.transport.abort()
            return
        if listener is not self._listener:
            # closed meanwhile
            writer.transport.abort()
            back.transport.abort()
            return
        self._streams |= {writer, back}
        await asyncio.gather(self._pass(reader, back, 0.0), self._pass(ahead, writer, self.delay_s))
        self._streams -= {writer, back}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
        try:
            while data := await reader.read(65536):
                if delay_s:
                    self._loop.call_later(delay_s, writer.write, data)
                else:
                    writer.write(data)
        except OSError:
            pass
        finally:
            self._loop.call_later(delay_s, writer.close)

    def _do(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)
