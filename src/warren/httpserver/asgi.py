"""Types of ASGI, and sending replies with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from warren.httpserver.reply import Headers, Reply, Stream

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


# bytes of a piece that may be buffered by the server
_AT_ONCE: Final = 64 * 1024


async def send_reply(send: Send, reply: Reply, common: Headers = ()) -> None:
    """Returns when the client has read all of it except for network buffers; `common`: headers of every answer."""
    length = (b"content-length", b"%d" % reply.length)
    headers = [*common, *reply.headers, length]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    # for HEAD the server omits the body
    *pieces, last = reply.body or (b"",)
    if len(last) > _AT_ONCE:
        # before each piece the server waits until the previous one has been read
        pieces, last = [*pieces, last], b""
    for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": last})


async def send_stream(receive: Receive, send: Send, stream: Stream, common: Headers = ()) -> None:
    """Until the pieces end or the client disconnects."""
    headers = [*common, *stream.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def pump() -> None:
        async for piece in stream.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    pumping, gone = asyncio.ensure_future(pump()), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((pumping, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        pumping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await pumping


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
