"""Web pages that are open, as far as the server is concerned: a stream of changes each, and the questions they ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from warren.bench.line import BenchError
from warren.bench.load_client import Load

# what the overview asks for beside the stream: the health, and the lines of the rows on the screen
_HEALTH_S: Final = 5
_HISTORY_S: Final = 60
_ROWS: Final = 30
_CONNECTIONS: Final = 20
_EVENT: Final = b"event: changes"


class OpenPages:
    """So many pages for so many seconds."""

    def __init__(
        self, address: tuple[str, int], cluster: str, groups: Sequence[str], *, pages: int, seconds: float
    ) -> None:
        self._address = address
        self._pages = pages
        self._seconds = seconds
        shown = quote(",".join(quote(group, safe="") for group in groups[:_ROWS]), safe="%,")
        history = f"/v4/clusters/{quote(cluster, safe='')}/history?since=1h&step=60s&groups={shown}"
        often = _HISTORY_S // _HEALTH_S
        self._asking = Load(
            address,
            ["/v4/health"] * often + [history],
            connections=_CONNECTIONS,
            rate=pages * (often + 1) / _HISTORY_S,
            seconds=seconds,
        )

    async def run(self) -> dict[str, Any]:
        """What came: events and bytes of all streams, and how the questions went."""
        loop = asyncio.get_running_loop()
        streams = [_Stream(self._address) for _ in range(self._pages)]
        began = time.perf_counter()
        for each in streams:
            await loop.create_connection(lambda each=each: each, *self._address)  # type: ignore[misc]
        asked = await self._asking.run()
        await asyncio.sleep(max(0.0, began + self._seconds - time.perf_counter()))
        for each in streams:
            each.close()
        if not all(each.events for each in streams):
            raise BenchError("an open page got no event: the stream of changes does not work")
        return {
            "seconds": time.perf_counter() - began,
            "events": sum(each.events for each in streams),
            "bytes": sum(each.bytes for each in streams),
            "failed": asked["failed"] + sum(each.failed for each in streams),
            "asked": asked,
        }


class _Stream(asyncio.Protocol):
    """One stream, read and thrown away: real ones are read on other machines."""

    def __init__(self, address: tuple[str, int]) -> None:
        host, port = address
        self._request = (
            f"GET /v4/changes HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        self._closed = False
        self.events = 0
        self.bytes = 0
        self.failed = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.bytes:
            self.failed += not data.startswith(b"HTTP/1.1 200 ")
        self.bytes += len(data)
        self.events += data.count(_EVENT)

    def connection_lost(self, exc: Exception | None) -> None:
        self.failed += not self._closed

    def close(self) -> None:
        self._closed = True
        self._transport.close()
