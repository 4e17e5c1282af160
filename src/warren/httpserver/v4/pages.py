"""The pages of `/v4`."""

from __future__ import annotations

import fnmatch
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

import warren
from warren.common.status import Status
from warren.httpserver import gojson, reply
from warren.httpserver.asgi import unless
from warren.httpserver.names import first_found, module_named
from warren.httpserver.reply import Reply, Stream, as_json, refused
from warren.httpserver.router import Answer, Handler, Request
from warren.httpserver.state import Answers, Notifying, SinkStates
from warren.httpserver.v4 import openapi, shapes
from warren.httpserver.v4.feed import ChangeSet, Feed, History
from warren.httpserver.v4.incidents import notifier_health
from warren.httpserver.v4.operations import (
    CHANGES,
    GROUP,
    GROUP_TOPIC,
    GROUP_WINDOWS,
    GROUPS,
    HEALTH,
    OPENAPI,
    Operation,
)
from warren.httpserver.v4.parameters import (
    GROUP_STATUSES,
    ParameterError,
    cursor,
    read_version,
    values,
)
from warren.httpserver.v4.partitions import partition_fields, partition_window
from warren.httpserver.v4.sinks import sink_health
from warren.httpserver.v4.streams import EVENTS, KEEP_ALIVE_S, TOO_MANY, Places, event, wants_events
from warren.snapshot.model import ClusterSnapshot
from warren.snapshot.tables import GroupTable

_NO_CLUSTER: Final = refused(404, "cluster not found")
_NO_GROUP: Final = refused(404, "cluster or consumer not found")
_NO_TOPIC: Final = refused(404, "the consumer has no such topic")
_NO_SNAPSHOT: Final = refused(
    503, "there is no snapshot of the cluster yet, see /v4/health", (b"retry-after", b"1")
)


@dataclass(frozen=True, slots=True)
class _ClusterRequest:
    """A request about a cluster that has a snapshot."""

    request: Request
    cluster: str
    history: History
    values: Mapping[str, Any]

    @property
    def snapshot(self) -> ClusterSnapshot:
        return self.history.snapshot


class Pages:
    """Answers from the feed's histories, so that a page and the changes after it are consistent."""

    def __init__(
        self,
        answers: Answers,
        feed: Feed,
        notifying: Notifying | None = None,
        sinks: SinkStates | None = None,
        *,
        places: Places | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._answers = answers
        self._feed = feed
        self._notifying = notifying
        self._sinks = sinks
        self._now_ms = now_ms
        self._places = places or Places()
        self._document = Reply(200, reply.JSON, (gojson.encode(openapi.document()),))

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {
            ("GET", OPENAPI.route): self._plain(OPENAPI, lambda: self._document),
            ("GET", HEALTH.route): self._plain(HEALTH, self.health),
            ("GET", GROUPS.route): self._of_cluster(GROUPS, self.groups),
            ("GET", GROUP.route): self._of_cluster(GROUP, self.group),
            ("GET", GROUP_TOPIC.route): self._of_cluster(GROUP_TOPIC, self.group_topic),
            ("GET", GROUP_WINDOWS.route): self._of_cluster(GROUP_WINDOWS, self.group_windows),
            ("GET", CHANGES.route): self._of_cluster(CHANGES, self.changes),
        }

    def _plain(self, operation: Operation, page: Callable[[], Reply]) -> Handler:
        def handler(request: Request) -> Reply:
            try:
                values(request.query, operation.parameters)
            except ParameterError as error:
                return refused(400, str(error))
            return page()

        return handler

    def _of_cluster(
        self, operation: Operation, page: Callable[[_ClusterRequest], Answer | Awaitable[Answer]]
    ) -> Handler:
        def handler(request: Request) -> Answer | Awaitable[Answer]:
            try:
                given = values(request.query, operation.parameters)
            except ParameterError as error:
                return refused(400, str(error))
            cluster = module_named(request.names[0], self._answers.clusters())
            if cluster is None:
                return _NO_CLUSTER
            history = self._feed.history(cluster)
            if history is None:
                return _NO_SNAPSHOT
            return page(_ClusterRequest(request, cluster, history, given))

        return handler

    def health(self) -> Reply:
        now_ms = self._now_ms()
        clusters = [self._cluster_health(cluster, now_ms) for cluster in sorted(self._answers.clusters())]
        ready = self._answers.ready()
        # an instance that follows or cannot reach ZooKeeper still answers: only the clusters decide readiness
        notifier = notifier_health(self._notifying)
        sinks = [sink_health(state, now_ms) for state in self._sinks.states()] if self._sinks else []
        health = shapes.Health(ready, warren.__version__, clusters, notifier, sinks)
        return as_json(health, 200 if ready else 503)

    def _cluster_health(self, cluster: str, now_ms: int) -> shapes.ClusterHealth:
        progress, history = self._answers.progress(cluster), self._feed.history(cluster)
        latest, groups = None, {}
        if history is not None:
            number, taken_at = history.snapshot.number, history.snapshot.taken_at_ms
            latest = shapes.SnapshotAge(number, taken_at, max(now_ms - taken_at, 0))
            counts = Counter(history.table.status.tolist())
            groups = {status.name: counts[status] for status in GROUP_STATUSES}
        known = progress.records + progress.left
        return shapes.ClusterHealth(
            cluster=cluster,
            ready=progress.caught_up and latest is not None,
            running=progress.running,
            caught_up=progress.caught_up,
            blind=progress.blind,
            seen_at=progress.seen_ms,
            records=progress.records,
            records_per_second=progress.rate,
            left=progress.left,
            read_share=1.0 if progress.caught_up else round(progress.records / known, 4) if known else 0.0,
            triggers=progress.triggers,
            trigger_ms=progress.trigger_ms,
            restarts=progress.restarts,
            error=progress.error,
            snapshot=latest,
            groups=groups,  # type: ignore[arg-type] # group statuses only
        )

    def groups(self, requested: _ClusterRequest) -> Reply:
        given, table = requested.values, requested.history.table
        fitting = np.flatnonzero(_fits(requested.snapshot, table, given))
        ordered = fitting[_order(table, fitting, given["sort"])]
        page = ordered[given["offset"] : given["offset"] + given["limit"]]
        return as_json(
            shapes.Groups(
                requested.cluster,
                _snapshot(requested.history),
                len(fitting),
                given["offset"],
                _lines(requested.history, page),
            )
        )

    def group(self, requested: _ClusterRequest) -> Reply:
        found = first_found(requested.request.names[1], requested.snapshot.group)
        if found is None:
            return _NO_GROUP
        wanted = requested.values["status"]
        shown = tuple(part for part in found.partitions if wanted is None or part.status in wanted)
        explained = requested.snapshot.explained(msgspec.structs.replace(found, partitions=shown))
        row = list(requested.history.table.names).index(found.group)
        return as_json(
            shapes.GroupDetail(
                requested.cluster,
                _snapshot(requested.history),
                _lines(requested.history, np.array([row]))[0],
                [shapes.Partition(**partition_fields(part)) for part in explained.partitions],
                list(requested.snapshot.consumers_reading(found.group)),
            )
        )

    def group_topic(self, requested: _ClusterRequest) -> Reply:
        names, snapshot = requested.request.names, requested.snapshot
        found = first_found(names[1], snapshot.group)
        if found is None:
            return _NO_GROUP
        topics = {part.topic for part in found.partitions}
        topic = first_found(names[2], lambda name: name if name in topics else None)
        if topic is None:
            return _NO_TOPIC
        shown = tuple(part for part in found.partitions if part.topic == topic)
        windows = snapshot.windows(msgspec.structs.replace(found, partitions=shown))
        lag = sum(part.current_lag for part in shown)
        partitions = [partition_window(each) for each in windows]
        return as_json(
            shapes.GroupTopic(
                requested.cluster, _snapshot(requested.history), found.group, topic, lag, partitions
            )
        )

    def group_windows(self, requested: _ClusterRequest) -> Reply:
        given, snapshot = requested.values, requested.snapshot
        found = first_found(requested.request.names[1], snapshot.group)
        if found is None:
            return _NO_GROUP
        fitting = [
            each for each in found.partitions if given["status"] is None or each.status in given["status"]
        ]
        # a stable order: of equal ones by topic and partition
        fitting.sort(key=lambda each: (each.status, each.current_lag), reverse=True)
        page = tuple(fitting[given["offset"] : given["offset"] + given["limit"]])
        windows = snapshot.windows(msgspec.structs.replace(found, partitions=page))
        return as_json(
            shapes.GroupWindows(
                requested.cluster,
                _snapshot(requested.history),
                found.group,
                len(fitting),
                given["offset"],
                [partition_window(each) for each in windows],
            )
        )

    async def changes(self, requested: _ClusterRequest) -> Answer:
        request, position = requested.request, requested.values["since"]
        only_status = requested.values["only"] is not None
        if request.method == "GET" and wants_events(request):
            last = dict(request.headers).get(b"last-event-id")
            try:
                position = position if last is None else read_version(last.decode("latin-1"))
            except ParameterError:
                # an id of another server: send all groups
                position = None
            if self._places.full:
                return TOO_MANY
            return Stream(EVENTS, self._events(requested.cluster, position, only_status=only_status))
        wait_s = requested.values["wait"]
        changes = self._feed.changes_since(requested.cluster, position, wait_s, only_status=only_status)
        found = await unless(request.gone(), changes)
        return _NO_SNAPSHOT if found is None else as_json(_changes(requested.cluster, *found))

    async def _events(self, cluster: str, position: int | None, *, only_status: bool) -> AsyncIterator[bytes]:
        """Server-sent events: an id to continue from, and the same JSON as the page."""
        with self._places.taken():
            yield b"retry: 1000\n\n"
            while not self._feed.closed:
                found = await self._feed.changes_since(
                    cluster, position, KEEP_ALIVE_S, only_status=only_status
                )
                if found is None or found[1].empty:
                    yield b": keep-alive\n\n"
                    continue
                history, changes_since = found
                position = changes_since.position
                head = b"id: %s\nevent: changes\ndata: " % cursor(position).encode()
                # no name for the body: it would be kept until the next event
                for piece in event(head, gojson.encode(_changes(cluster, history, changes_since))):
                    yield piece


def _fits(snapshot: ClusterSnapshot, table: GroupTable, given: Mapping[str, Any]) -> NDArray[np.bool_]:
    fits = np.ones(len(table.names), dtype=np.bool_)
    if given["status"] is not None:
        fits &= np.isin(table.status, [int(status) for status in given["status"]])
    if given["name"] is not None:
        pattern = re.compile(fnmatch.translate(given["name"]))
        fits &= _mask(table.names, lambda name: pattern.match(name) is not None)
    if given["topic"] is not None:
        readers = frozenset(snapshot.consumers_of(given["topic"]))
        fits &= _mask(table.names, readers.__contains__)
    return fits


def _mask(names: Sequence[str], test: Callable[[str], bool]) -> NDArray[np.bool_]:
    return np.fromiter((test(name) for name in names), np.bool_, len(names))


def _order(table: GroupTable, rows: NDArray[np.int64], sort: str) -> NDArray[np.int64]:
    """The order of the rows: by the field, then by name, in which the table is sorted anyway."""
    name = sort.removeprefix("-")
    sign = -1 if sort.startswith("-") else 1
    if name == "group":
        return np.arange(len(rows))[::sign]
    keys = [sign * getattr(table, name)[rows].astype(np.float64 if name == "complete" else np.int64)]
    if name == "status":
        keys.insert(0, -table.totallag[rows].astype(np.int64))
    order: NDArray[np.int64] = np.lexsort(keys)
    return order


def _lines(history: History, rows: NDArray[np.int64]) -> list[shapes.Group]:
    table = history.table
    columns = zip(
        rows.tolist(),
        table.status[rows].tolist(),
        table.complete[rows].tolist(),
        *(
            column[rows].tolist()
            for column in (table.partition_count, table.totallag, table.maxlag, table.last_commit)
        ),
        history.status_since[rows].tolist(),
        strict=True,
    )
    return [
        shapes.Group(
            table.names[row],
            Status(status).name,  # type: ignore[arg-type] # of a group
            round(complete, 6),
            count,
            totallag,
            maxlag,
            # a group without a commit has none
            last_commit if last_commit > 0 else None,
            since or None,
        )
        for row, status, complete, count, totallag, maxlag, last_commit, since in columns
    ]


def _changes(cluster: str, history: History, changes_since: ChangeSet) -> shapes.Changes:
    return shapes.Changes(
        cluster,
        _snapshot(history),
        changes_since.complete,
        _lines(history, changes_since.rows),
        changes_since.removed,
    )


def _snapshot(history: History) -> shapes.Snapshot:
    snapshot = history.snapshot
    return shapes.Snapshot(snapshot.number, snapshot.taken_at_ms, snapshot.as_of_ms, cursor(history.position))
