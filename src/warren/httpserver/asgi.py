"""Types of ASGI, and sending replies with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, MutableMapping
from typing import Any, Final, TypeVar

from warren.httpserver.reply import Headers, Reply, Stream
from warren.httpserver.unsent import Unsent

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
T = TypeVar("T")


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

    await unless(gone(receive), pump())


async def unless(departure: Coroutine[Any, Any, None], work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work; None: the client has gone before, and the work was cancelled."""
    working, going = asyncio.ensure_future(work), asyncio.ensure_future(departure)
    try:
        await asyncio.wait((working, going), return_when=asyncio.FIRST_COMPLETED)
    finally:
        going.cancel()
        working.cancel()
        await asyncio.wait((working,))
    return None if working.cancelled() else working.result()


async def gone(receive: Receive) -> None:
    """Returns when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
