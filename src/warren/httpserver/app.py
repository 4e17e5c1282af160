"""The ASGI application that all listeners share: Burrow's paths, and room for others beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry

from warren.config import Settings
from warren.httpserver import reply as replies
from warren.httpserver.admin import AdminPages
from warren.httpserver.configuration import ConfigPages
from warren.httpserver.envelope import Envelope
from warren.httpserver.kafka import KafkaPages
from warren.httpserver.metrics import MetricsPage
from warren.httpserver.reply import Headers, Reply
from warren.httpserver.router import Match, Request, Router, unescape
from warren.httpserver.state import Answers, LogLevel

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_METHODS_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
# Burrow's API takes one small JSON object and nothing else
MAX_BODY: Final = 64 * 1024

_log = structlog.get_logger(__name__)


class App:
    """Burrow's API; what it does not know goes to `beyond`, else it is not found."""

    def __init__(
        self,
        settings: Settings,
        answers: Answers,
        log_level: LogLevel,
        registry: CollectorRegistry,
        *,
        host: str,
        beyond: AsgiApp | None = None,
    ) -> None:
        self._envelope = Envelope(host)
        self._router = Router(
            {
                **KafkaPages(answers, self._envelope).routes(),
                **ConfigPages(settings, self._envelope).routes(),
                **AdminPages(answers, log_level, self._envelope).routes(),
                **MetricsPage(answers, registry).routes(),
            }
        )
        self._beyond = beyond
        origin = settings.general.access_control_allow_origin
        # on every answer, so that a script in a browser can read errors too
        self._common: Headers = ()
        if origin:
            self._common = ((b"access-control-allow-origin", origin.encode("latin-1")),)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if self._beyond is not None:
                await self._beyond(scope, receive, send)
            return
        method, raw_path = scope["method"], scope["raw_path"]
        found = self._find(method, raw_path, scope["query_string"])
        if isinstance(found, Match):
            await self._send(send, await self._handled(found, scope, receive))
        elif found is not None:
            await self._send(send, found)
        elif self._beyond is not None:
            await self._beyond(scope, receive, send)
        else:
            await self._send(send, replies.NOT_FOUND)

    def _find(self, method: str, raw_path: bytes, query: bytes) -> Match | Reply | None:
        if raw_path == b"*" and method == "OPTIONS":
            return Reply(200)
        return self._router.find(method, raw_path, query)

    async def _handled(self, match: Match, scope: Scope, receive: Receive) -> Reply:
        path = unescape(scope["raw_path"])
        request = Request(scope["method"], path, match.names, tuple(scope["headers"]))
        if request.method in _METHODS_WITH_BODY:
            body = await _body(receive)
            if body is None:
                return self._envelope.error(request, 413, "message body too large")
            request = Request(request.method, path, match.names, request.headers, body)
        try:
            answer = match.handler(request)
            return answer if isinstance(answer, Reply) else await answer
        except Exception:  # noqa: BLE001 - a fault in one page must not end in a bare connection reset
            _log.exception("request failed", method=request.method, path=path)
            return self._envelope.error(request, 500, "internal error, see the log")

    async def _send(self, send: Send, reply: Reply) -> None:
        length = (b"content-length", b"%d" % reply.length)
        headers = [*self._common, *reply.headers, length]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        # for HEAD the server keeps the body back
        *pieces, last = reply.body or (b"",)
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": last})


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when it is larger than anything that could be meant."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(body)
