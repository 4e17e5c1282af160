"""`/v4/changes`: the changes of all clusters, in one answer or one stream, encoded once however many pages are open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from warren.common.status import Status
from warren.httpserver import gojson
from warren.httpserver.names import module_named
from warren.httpserver.reply import JSON, Reply, Stream, refused
from warren.httpserver.router import Answer, Handler, Request
from warren.httpserver.state import Answers
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.feed import ChangeSet, Feed, History, Ints
from warren.httpserver.v4.operations import ALL_CHANGES
from warren.httpserver.v4.parameters import ParameterError, cursor, values
from warren.httpserver.v4.streams import EVENTS, KEEP_ALIVE_S, TOO_MANY, Places, event, wants_events

# changes of status are sent at once; those of lags so seldom that a page gets about this many groups a second
_GROUPS_PER_SECOND: Final = 1000
_LONGEST_PAUSE_S: Final = 10.0
# encoded changes that are kept: all pages that follow want the same ones
_KEPT: Final = 16

_NAMES: Final = {status.value: status.name for status in Status}


@dataclass(slots=True)
class _Follower:
    """How far one client has got with one cluster."""

    # versions up to which it knows everything, and every status
    position: int | None
    status_position: int | None
    # when lags may be sent again, in the loop's time
    due: float = 0.0


class ChangePages:
    """Answers and streams about all clusters; runs in the server's thread."""

    def __init__(self, answers: Answers, feed: Feed, places: Places) -> None:
        self._answers = answers
        self._feed = feed
        self._places = places
        # cluster, versions from and to, version of the cursor, only statuses: the JSON
        self._encoded: dict[tuple[str, int | None, int, int | None, bool], bytes] = {}

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {("GET", ALL_CHANGES.route): self.changes}

    def changes(self, request: Request) -> Answer:
        try:
            given = values(request.query, ALL_CHANGES.parameters)
        except ParameterError as error:
            return refused(400, str(error))
        since = self._known(given["since"] or {})
        if request.method == "GET" and wants_events(request):
            if self._places.full:
                return TOO_MANY
            return Stream(EVENTS, self._events(since))
        found = [body for cluster in self._clusters() if (body := self._body(cluster, since.get(cluster)))]
        return Reply(200, JSON, (b'{"clusters":[' + b",".join(found) + b"]}",))

    def _known(self, since: Mapping[str, int]) -> dict[str, int]:
        """By the names in the configuration; others are not there any more."""
        clusters = self._clusters()
        named = ((module_named(name, clusters), position) for name, position in since.items())
        return {name: position for name, position in named if name is not None}

    def _clusters(self) -> list[str]:
        return sorted(self._answers.clusters())

    def _body(self, cluster: str, position: int | None) -> bytes | None:
        history = self._feed.history(cluster)
        if history is None:
            return None
        news = history.since(position, only_status=False)
        return self._json(cluster, history, news, position, news.position)

    async def _events(self, since: Mapping[str, int]) -> AsyncIterator[bytes]:
        followers = {cluster: _Follower(position, position) for cluster, position in since.items()}
        now = asyncio.get_running_loop().time
        with self._places.taken():
            yield b"retry: 1000\n\n"
            while not self._feed.closed:
                changed = self._feed.changed
                for piece in self._next(followers, now):
                    yield piece
                # lags that are held back are sent when it is time for them, also if nothing else changes
                waits = [each.due - now() for each in followers.values() if each.due > now()]
                if not await self._feed.wait(changed, min([KEEP_ALIVE_S, *waits])) and not waits:
                    yield b": keep-alive\n\n"

    def _next(self, followers: dict[str, _Follower], now: Callable[[], float]) -> Iterator[bytes]:
        """Of every cluster that changed, what this client does not know yet: events in pieces."""
        for cluster in self._clusters():
            history = self._feed.history(cluster)
            if history is None:
                continue
            follower = followers.setdefault(cluster, _Follower(None, None))
            only_status = follower.position is not None and now() < follower.due
            before = follower.status_position if only_status else follower.position
            news = history.since(before, only_status=only_status)
            follower.status_position = news.position
            if not only_status or news.complete:
                follower.position = news.position
                if not news.empty:
                    pause_s = min(len(news.rows) / _GROUPS_PER_SECOND, _LONGEST_PAUSE_S)
                    follower.due = now() + pause_s
            if not news.empty:
                body = self._json(cluster, history, news, before, follower.position, only_status=only_status)
                yield from event(b"event: changes\ndata: ", body)

    def _json(
        self,
        cluster: str,
        history: History,
        news: ChangeSet,
        before: int | None,
        known: int | None,
        *,
        only_status: bool = False,
    ) -> bytes:
        key = (cluster, before, news.position, known, only_status)
        body = self._encoded.get(key)
        if body is None:
            body = gojson.encode(_shape(cluster, history, news, known))
            self._encoded[key] = body
            while len(self._encoded) > _KEPT:
                del self._encoded[next(iter(self._encoded))]
        return body


def _shape(cluster: str, history: History, news: ChangeSet, known: int | None) -> shapes.ClusterChanges:
    snapshot = history.snapshot
    return shapes.ClusterChanges(
        cluster,
        shapes.Snapshot(snapshot.number, snapshot.taken_at_ms, snapshot.as_of_ms, cursor(known or 0)),
        news.complete,
        _columns(history, news.rows),
        news.removed,
    )


def _columns(history: History, rows: Ints) -> shapes.GroupColumns:
    table = history.table
    return shapes.GroupColumns(
        [table.names[row] for row in rows.tolist()],
        [_NAMES[each] for each in table.status[rows].tolist()],  # type: ignore[misc] # of groups
        np.round(table.complete[rows].astype(np.float64), 4).tolist(),
        table.partition_count[rows].tolist(),
        table.totallag[rows].tolist(),
        table.maxlag[rows].tolist(),
        np.maximum(table.last_commit[rows], 0).tolist(),
        history.status_since[rows].tolist(),
    )
