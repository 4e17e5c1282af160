"""A client process for Warren's API: scrapes, and pages over a pool of connections."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

import uvloop

from warren.bench.figures import percentiles
from warren.bench.line import BenchError, Parent, as_child

_FORMS: Final = {"plain": "identity", "gzip": "gzip"}
_TIMEOUT_S: Final = 60.0
_BUFFER_BYTES: Final = 1 << 20
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


def main(parent: Parent) -> None:
    """Commands: `scrape` the metrics in a form, `load` the lag pages of some groups, keep `pages` open."""
    # it uses the class below
    from warren.bench.open_pages import OpenPages  # noqa: PLC0415

    os.nice(parent.task["nice"])
    url = urlsplit(parent.task["url"])
    host, port = str(url.hostname), int(url.port or 80)
    while (command := parent.told()) is not None and command["do"] != "stop":
        try:
            if command["do"] == "scrape":
                parent.tell("scrape", **scraped(host, port, command["form"]))
            elif command["do"] == "load":
                paths = [
                    f"/v3/kafka/{command['cluster']}/consumer/{quote(each)}/lag" for each in command["groups"]
                ]
                limits = {name: command[name] for name in ("connections", "rate", "seconds")}
                load = Load((host, port), paths, **limits)
                parent.tell("load", **asyncio.Runner(loop_factory=uvloop.new_event_loop).run(load.run()))
            elif command["do"] == "pages":
                limits = {name: command[name] for name in ("pages", "seconds")}
                pages = OpenPages((host, port), command["cluster"], command["groups"], **limits)
                parent.tell("pages", **asyncio.Runner(loop_factory=uvloop.new_event_loop).run(pages.run()))
        except (OSError, http.client.HTTPException, asyncio.IncompleteReadError) as error:
            raise BenchError(f"the server at {host}:{port} does not respond: {error!r}") from error


def scraped(host: str, port: int, form: str) -> dict[str, Any]:
    """One scrape: when it began, how long it took to the last byte, and how many bytes."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        connection.connect()
        at, began = time.time(), time.perf_counter()
        connection.request("GET", "/metrics", headers={"Accept-Encoding": _FORMS[form]})
        response = connection.getresponse()
        # into one buffer: collecting 36 MB would take the client longer than the server needs to send them
        buffer, size = bytearray(_BUFFER_BYTES), 0
        while count := response.readinto(buffer):
            size += count
        seconds = time.perf_counter() - began
        encoding = response.getheader("Content-Encoding", "identity")
        if response.status != http.client.OK or encoding != _FORMS[form]:
            raise BenchError(f"/metrics returned {response.status} in {encoding} instead of {form}")
    finally:
        connection.close()
    return {"at": at, "seconds": seconds, "bytes": size}


class Load:
    """Requests over a fixed number of persistent connections, without a limit or at a rate."""

    def __init__(
        self,
        address: tuple[str, int],
        paths: Sequence[str],
        *,
        connections: int,
        rate: float | None,
        seconds: float,
    ) -> None:
        """`rate`: requests a second; None: no limit."""
        host, port = self._address = address
        self._requests = [
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: */*\r\n\r\n".encode() for path in paths
        ]
        self._connections = connections
        self._rate = rate
        self._seconds = seconds
        self.took_s: list[float] = []
        self.failed = 0
        self.bytes = 0

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        began, numbers = time.perf_counter(), itertools.count()
        connections = [_Connection(self, began, numbers) for _ in range(self._connections)]
        for each in connections:
            await loop.create_connection(lambda each=each: each, *self._address)  # type: ignore[misc]
        await asyncio.gather(*(each.ended for each in connections))
        seconds = time.perf_counter() - began
        return {
            "requests": len(self.took_s),
            "failed": self.failed,
            "bytes": self.bytes,
            "seconds": seconds,
            "took_ms": percentiles([each * 1000 for each in self.took_s], 50, 99),
        }

    def request(self, number: int) -> bytes:
        return self._requests[number % len(self._requests)]

    def due(self, began: float, number: int) -> float:
        """When to send the request; at once if that is past."""
        return began if self._rate is None else began + number / self._rate

    def over(self, began: float, now: float) -> bool:
        return now - began >= self._seconds


class _Connection(asyncio.Protocol):
    """One connection, one request at a time. Without streams and tasks: the client must need little processor time."""

    def __init__(self, load: Load, began: float, numbers: Iterator[int]) -> None:
        self._load = load
        self._began = began
        self._numbers = numbers
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._sent = 0.0
        # the current response: bytes received, and its size; 0: not known yet
        self._head = b""
        self._there = 0
        self._size = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._there += len(data)
        if not self._size:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            self._size = end + 4 + _content_length(self._head[:end])
        if self._there == self._size:
            load = self._load
            load.took_s.append(time.perf_counter() - self._sent)
            load.bytes += self._size
            load.failed += not self._head.startswith(b"HTTP/1.1 200 ")
            self._head, self._there, self._size = b"", 0, 0
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionResetError("the server closed the connection"))

    def _next(self) -> None:
        number = next(self._numbers)
        wait_s = self._load.due(self._began, number) - time.perf_counter()
        if wait_s > 0:
            self._loop.call_later(wait_s, self._request, number)
        else:
            self._request(number)

    def _request(self, number: int) -> None:
        self._sent = time.perf_counter()
        if self._load.over(self._began, self._sent):
            self.ended.set_result(None)
            self._transport.close()
        else:
            self._transport.write(self._load.request(number))


def _content_length(head: bytes) -> int:
    found = _LENGTH.search(head)
    if found is None:
        raise BenchError("the server sent a response without a length")
    return int(found[1])


if __name__ == "__main__":
    as_child(main)
