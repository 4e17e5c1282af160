"""The ASGI application that all listeners share."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from warren.config import Settings
from warren.httpserver import reply as replies
from warren.httpserver.access import ADMIN_NEEDED, ROLE, Role
from warren.httpserver.admin import AdminPages
from warren.httpserver.asgi import AsgiApp, Receive, Scope, Send, gone, send_reply, send_stream
from warren.httpserver.configuration import ConfigPages
from warren.httpserver.envelope import Envelope
from warren.httpserver.files import FilePages
from warren.httpserver.guard import BodyTooLargeError
from warren.httpserver.kafka import KafkaPages
from warren.httpserver.metrics import MetricsPage
from warren.httpserver.own_metrics import OwnMetrics
from warren.httpserver.reply import Headers, Reply, Stream
from warren.httpserver.router import Answer, Match, Request, Router, unescape
from warren.httpserver.state import Answers, LogLevel, Notifying, SinkStates
from warren.httpserver.unsent import SMALL, TOO_MANY_UNSENT, UNSENT, Unsent
from warren.httpserver.v4 import session
from warren.httpserver.v4.about import AboutPages
from warren.httpserver.v4.feed import Feed
from warren.httpserver.v4.history import HistoryPages
from warren.httpserver.v4.incidents import IncidentPages
from warren.httpserver.v4.notifiers import NotifierPages
from warren.httpserver.v4.pages import Pages
from warren.httpserver.v4.stream import ChangePages
from warren.httpserver.v4.streams import Places
from warren.httpserver.v4.topics import TopicPages
from warren.snapshot.model import ClusterSnapshot

# methods that need no administrator
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})

_log = structlog.get_logger(__name__)


class App:
    """Burrow's API, `/v4` and the web pages; other paths go to `beyond`, if given."""

    def __init__(
        self,
        settings: Settings,
        answers: Answers,
        log_level: LogLevel,
        registry: CollectorRegistry,
        *,
        host: str,
        notifying: Notifying | None = None,
        sinks: SinkStates | None = None,
        beyond: AsgiApp | None = None,
        recent: Path | None = None,
    ) -> None:
        self._envelope = Envelope(host)
        self.history = HistoryPages(answers, recent)
        self.topics = TopicPages(answers)
        self.feed = Feed(answers, self._seen)
        self.own_metrics = OwnMetrics(answers, notifying, sinks)
        places = Places()
        self._router = Router(
            {
                **KafkaPages(answers, self._envelope).routes(),
                **ConfigPages(settings, self._envelope).routes(),
                **AdminPages(answers, log_level, self._envelope).routes(),
                **MetricsPage(answers, registry, self.own_metrics, settings.prometheus.also_names).routes(),
                **Pages(answers, self.feed, notifying, sinks, places=places).routes(),
                **ChangePages(answers, self.feed, places).routes(),
                **session.routes(),
                **IncidentPages(notifying).routes(),
                **NotifierPages(settings, notifying).routes(),
                **AboutPages(settings, answers, host).routes(),
                **self.history.routes(),
                **FilePages().routes(),
                **self.topics.routes(),
            }
        )
        self._beyond = beyond
        origin = settings.general.access_control_allow_origin
        # on every answer, so that a script in a browser can read errors too
        self._common: Headers = ()
        if origin:
            self._common = ((b"access-control-allow-origin", origin.encode("latin-1")),)

    def _seen(self, cluster: str, snapshot: ClusterSnapshot) -> None:
        self.history.take(cluster, snapshot)
        self.topics.take(cluster, snapshot)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if self._beyond is not None:
                await self._beyond(scope, receive, send)
            return
        found: Answer | Match | None = self._find(scope["method"], scope["raw_path"], scope["query_string"])
        if isinstance(found, Match):
            found = await self._handled(found, scope, receive)
        if found is None and self._beyond is not None:
            await self._beyond(scope, receive, send)
        elif isinstance(found, Stream):
            await send_stream(receive, send, found, scope.get(UNSENT), self._common)
        else:
            await self._send(scope, send, found or replies.NOT_FOUND)

    async def _send(self, scope: Scope, send: Send, reply: Reply) -> None:
        unsent: Unsent | None = scope.get(UNSENT)
        if unsent is None or scope["method"] == "HEAD" or reply.length < SMALL:
            await send_reply(send, reply, self._common)
        elif not unsent.begin(reply.body):
            await send_reply(send, TOO_MANY_UNSENT, self._common)
        else:
            try:
                await send_reply(send, reply, self._common)
            finally:
                unsent.end(reply.body)

    def _find(self, method: str, raw_path: bytes, query: bytes) -> Match | Reply | None:
        if raw_path == b"*" and method == "OPTIONS":
            return Reply(200)
        return self._router.find(method, raw_path, query)

    async def _handled(self, match: Match, scope: Scope, receive: Receive) -> Answer:
        # a request that bypassed the guard has no role
        if scope["method"] not in _READING and scope.get(ROLE, Role.NOTHING) < Role.ADMIN:
            return ADMIN_NEEDED
        path = unescape(scope["raw_path"])
        headers = tuple(scope["headers"])
        try:
            body = await _body(receive) if scope["method"] in _METHODS_WITH_BODY else b""
            admin = scope.get(ROLE, Role.NOTHING) >= Role.ADMIN
            request = Request(
                scope["method"],
                path,
                match.names,
                headers,
                body,
                scope["query_string"],
                admin,
                functools.partial(gone, receive),
            )
            answer = match.handler(request)
            return await answer if inspect.isawaitable(answer) else answer
        except BodyTooLargeError:
            raise
        except Exception:  # noqa: BLE001 - an error in one page must not reset the connection
            _log.exception("request failed", method=scope["method"], path=path)
            return self._envelope.error(Request("", path), 500, "internal error, see the log")


async def _body(receive: Receive) -> bytes:
    """The whole body; the listener's guard limits its size."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)
