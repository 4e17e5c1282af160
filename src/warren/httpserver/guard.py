"""The guard of one listener: refuses requests that are too large, malformed or not allowed."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Final

from warren.config.sections import HttpServer
from warren.httpserver import reply as replies
from warren.httpserver.access import CREDENTIALS_NEEDED, ROLE, Access, Client, Role
from warren.httpserver.asgi import AsgiApp, Message, Receive, Scope, Send, send_reply
from warren.httpserver.connections import BEYOND, Connections
from warren.httpserver.files import is_open
from warren.httpserver.limits import RateLimit
from warren.httpserver.reply import Headers, Reply
from warren.httpserver.unsent import UNSENT, Unsent

# bytes of a path with its query: enough for the longest names in Kafka, escaped
MAX_TARGET: Final = 16 * 1024
# pages for load balancers and orchestrators, which have no credentials: they reveal only that Warren is running
_OPEN: Final = frozenset({b"/burrow/admin", b"/burrow/admin/ready"})
# pages that are answered while all connections are in use
_HEALTH: Final = _OPEN | {b"/v4/health"}
_CLOSE: Final = (b"connection", b"close")

_TOO_LONG: Final = replies.refused(414, "the path is too long", _CLOSE)
_TOO_LARGE: Final = replies.refused(413, "message body too large", _CLOSE)
_BAD_LENGTH: Final = replies.refused(400, "the content length is not a number", _CLOSE)
_BAD_PATH: Final = replies.refused(400, "the path contains control characters")
_TOO_OFTEN: Final = replies.refused(429, "too many requests", (b"retry-after", b"1"))
_FULL: Final = replies.refused(503, "too many connections", (b"retry-after", b"5"), _CLOSE)
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]|%(?:[01][0-9a-fA-F]|7[fF])")


class BodyTooLargeError(Exception):
    """The body is larger than the listener allows."""


class Guard:
    """ASGI middleware before the application that all listeners share."""

    def __init__(self, section: HttpServer, app: AsgiApp, origin: str = "") -> None:
        self.access = Access(section, origin)
        # status: number of requests that were refused with it
        self.refusals: Counter[int] = Counter()
        self.connections = Connections(section.max_connections, section.max_connections_per_client)
        self.unsent = Unsent(section.max_unsent)
        self._app = app
        self._rate = RateLimit(section.rate_limit)
        self._max_body = section.max_body
        self._common: Headers = ()
        if origin:
            self._common = ((b"access-control-allow-origin", origin.encode("latin-1")),)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = (scope.get("client") or ("",))[0]
        client = Client(address, tuple(scope["headers"]))
        refusal = self._refusal(scope, client)
        if refusal is not None:
            self.refusals[refusal.status] += 1
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await send_reply(send, refusal, self._common)
            return
        scope[UNSENT] = self.unsent
        if BEYOND in scope:
            send = _last(send)
        if scope["type"] == "http" and scope["method"] not in {"GET", "HEAD"}:
            receive = _Bounded(receive, self._max_body)
        try:
            await self._app(scope, receive, send)
        except BodyTooLargeError:
            self.refusals[_TOO_LARGE.status] += 1
            await send_reply(send, _TOO_LARGE, self._common)

    def _refusal(self, scope: Scope, client: Client) -> Reply | None:
        """None: accepted, with the role in the scope."""
        if BEYOND in scope and scope["raw_path"] not in _HEALTH:
            return _FULL
        if not self._rate.admits(client.address, time.monotonic()):
            return _TOO_OFTEN
        if (malformed := self._malformed(scope, client)) is not None:
            return malformed
        role = self.access.role(client)
        method = scope.get("method", "")
        # a browser sends its preflight without credentials, and it changes nothing
        if scope["raw_path"] in _OPEN or method == "OPTIONS" or is_open(method, scope["raw_path"]):
            role = role if isinstance(role, Role) else Role.READ
        elif isinstance(role, Reply):
            return _unprompted(role, client)
        elif role is Role.NOTHING:
            return _unprompted(CREDENTIALS_NEEDED, client)
        scope[ROLE] = role
        # the application does not need the secret, and what is not there cannot be logged
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
        return None

    def _malformed(self, scope: Scope, client: Client) -> Reply | None:
        raw_path = scope["raw_path"]
        if len(raw_path) + len(scope["query_string"]) > MAX_TARGET:
            return _TOO_LONG
        if _CONTROL.search(raw_path):
            return _BAD_PATH
        length = client.header(b"content-length")
        if length is None:
            return None
        if not length.isdigit():
            return _BAD_LENGTH
        return _TOO_LARGE if len(length) > 18 or int(length) > self._max_body else None


def _unprompted(refusal: Reply, client: Client) -> Reply:
    """For the web pages, which ask for credentials themselves: a browser would ask for a user on its own."""
    if client.header(b"x-requested-with") is None:
        return refusal
    headers = tuple(pair for pair in refusal.headers if not pair[1].startswith(b"Basic "))
    return Reply(refusal.status, headers, refusal.body)


def _last(send: Send) -> Send:
    """Send an answer after which the connection is closed."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], _CLOSE]
        await send(message)

    return sending


class _Bounded:
    """The body of a request, up to a size."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise BodyTooLargeError
        return message
