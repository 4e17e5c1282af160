"""Types of ASGI, and sending replies with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any, Final

from warren.httpserver.reply import Headers, Reply, Stream
from warren.httpserver.unsent import Unsent

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


# bytes that the server may buffer: over TLS it encrypts whatever it is given at once
_AT_ONCE: Final = 64 * 1024


async def send_reply(send: Send, reply: Reply, common: Headers = ()) -> None:
    """Returns when the client has read all of it except for network buffers; `common`: headers of every answer."""
    length = (b"content-length", b"%d" % reply.length)
    headers = [*common, *reply.headers, length]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    # for HEAD the server omits the body
    *pieces, last = _sliced(reply.body or (b"",))
    for piece in pieces:
        # before each piece the server waits until the previous ones have been read
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": last})


def _sliced(body: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """In pieces that may be sent at once; none is copied."""
    for piece in body:
        if len(piece) <= _AT_ONCE:
            yield piece
        else:
            whole = memoryview(piece)
            yield from (whole[start : start + _AT_ONCE] for start in range(0, len(whole), _AT_ONCE))


async def send_stream(
    receive: Receive, send: Send, stream: Stream, unsent: Unsent | None, common: Headers = ()
) -> None:
    """Until the pieces end, the client disconnects, or others hold too much that they have not read."""
    headers = [*common, *stream.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def pump() -> None:
        async for piece in stream.pieces:
            if unsent is not None and not unsent.begin((piece,)):
                break
            try:
                for part in _sliced((piece,)):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            finally:
                if unsent is not None:
                    unsent.end((piece,))
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
