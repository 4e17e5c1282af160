"""A process that asks Warren's API: scrapes, and pages over a pool of connections. It takes no time of the server's."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

import uvloop

from warren.bench.figures import percentiles
from warren.bench.line import BenchError, Parent, as_child

_FORMS: Final = {"plain": "identity", "gzip": "gzip"}
_TIMEOUT_S: Final = 60.0


def main(parent: Parent) -> None:
    """Commands: `scrape` the metrics in a form, `load` the lag pages of some groups."""
    url = urlsplit(parent.task["url"])
    host, port = str(url.hostname), int(url.port or 80)
    while (words := parent.told()) is not None and words["do"] != "stop":
        try:
            if words["do"] == "scrape":
                parent.tell("scrape", **scraped(host, port, words["form"]))
            elif words["do"] == "load":
                paths = [
                    f"/v3/kafka/{words['cluster']}/consumer/{quote(each)}/lag" for each in words["groups"]
                ]
                limits = {name: words[name] for name in ("connections", "rate", "seconds")}
                load = Load((host, port), paths, **limits)
                parent.tell("load", **asyncio.Runner(loop_factory=uvloop.new_event_loop).run(load.run()))
        except (OSError, http.client.HTTPException, asyncio.IncompleteReadError) as error:
            raise BenchError(f"the server at {host}:{port} does not answer: {error!r}") from error


def scraped(host: str, port: int, form: str) -> dict[str, Any]:
    """One scrape: when it began, how long it took to the last byte, and how many bytes."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        connection.connect()
        at, began = time.time(), time.perf_counter()
        connection.request("GET", "/metrics", headers={"Accept-Encoding": _FORMS[form]})
        answer = connection.getresponse()
        size = len(answer.read())
        seconds = time.perf_counter() - began
        encoding = answer.getheader("Content-Encoding", "identity")
        if answer.status != http.client.OK or encoding != _FORMS[form]:
            raise BenchError(f"/metrics answered {answer.status} in {encoding} when asked for {form}")
    finally:
        connection.close()
    return {"at": at, "seconds": seconds, "bytes": size}


class Load:
    """Requests over a fixed number of kept connections, as fast as they are answered or at a rate."""

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
        self._took_s: list[float] = []
        self._failed = 0
        self._bytes = 0

    async def run(self) -> dict[str, Any]:
        began = time.perf_counter()
        numbers = itertools.count()
        await asyncio.gather(*(self._ask(began, numbers) for _ in range(self._connections)))
        seconds = time.perf_counter() - began
        return {
            "requests": len(self._took_s),
            "failed": self._failed,
            "bytes": self._bytes,
            "seconds": seconds,
            "took_ms": percentiles([each * 1000 for each in self._took_s], 50, 99),
        }

    async def _ask(self, began: float, numbers: Iterator[int]) -> None:
        reader, writer = await asyncio.open_connection(*self._address, limit=1 << 20)
        try:
            for number in numbers:
                if self._rate is not None:
                    await asyncio.sleep(max(began + number / self._rate - time.perf_counter(), 0))
                sent = time.perf_counter()
                if sent - began >= self._seconds:
                    return
                writer.write(self._requests[number % len(self._requests)])
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_content_length(head))
                self._took_s.append(time.perf_counter() - sent)
                self._bytes += len(body)
                self._failed += not head.startswith(b"HTTP/1.1 200 ")
        finally:
            writer.close()


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise BenchError("the server sent an answer without a length")


if __name__ == "__main__":
    as_child(main)
