"""`/v3/kafka`: clusters, topics, groups and their statuses, from the latest snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from warren.common.status import Status
from warren.httpserver.envelope import Envelope
from warren.httpserver.groups import group_shape, unknown_group_shape, window_shape
from warren.httpserver.names import first_found, module_named
from warren.httpserver.reply import Reply
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Answers
from warren.snapshot.model import ClusterSnapshot

# size of cached pages per cluster: small compared with the snapshot itself
PAGES_BYTES: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class _Pages:
    """The rendered pages of one snapshot."""

    snapshot: ClusterSnapshot
    # (page, names in the path): answer
    replies: dict[tuple[str, tuple[str, ...]], Reply] = field(default_factory=dict)
    size: int = 0

    def keep(self, key: tuple[str, tuple[str, ...]], reply: Reply) -> None:
        if self.size + reply.length > PAGES_BYTES:
            self.replies.clear()
            self.size = 0
        self.replies[key] = reply
        self.size += reply.length


class KafkaPages:
    """Burrow's pages about clusters."""

    def __init__(self, answers: Answers, envelope: Envelope) -> None:
        self._answers = answers
        self._envelope = envelope
        # cluster: what was rendered of its latest snapshot
        self._pages: dict[str, _Pages] = {}

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {
            ("GET", "/v3/kafka"): self.clusters,
            ("GET", "/v3/kafka/{}/topic"): self.topics,
            ("GET", "/v3/kafka/{}/topic/{}"): self.topic,
            ("GET", "/v3/kafka/{}/topic/{}/consumers"): self.topic_consumers,
            ("GET", "/v3/kafka/{}/consumer"): self.consumers,
            ("GET", "/v3/kafka/{}/consumer/{}"): self.consumer,
            ("GET", "/v3/kafka/{}/consumer/{}/status"): self.status,
            ("GET", "/v3/kafka/{}/consumer/{}/lag"): self.lag,
            ("DELETE", "/v3/kafka/{}/consumer/{}"): self.delete_consumer,
            ("DELETE", "/v3/kafka/{}/consumer/{}/topic/{}"): self.delete_topic,
        }

    def clusters(self, request: Request) -> Reply:
        clusters = sorted(self._answers.clusters())
        return self._envelope.answer(request, "cluster list returned", {"clusters": clusters})

    def topics(self, request: Request) -> Reply:
        snapshot = self._snapshot(request, "cluster not found")
        if isinstance(snapshot, Reply):
            return snapshot
        return self._envelope.answer(request, "topic list returned", {"topics": snapshot.topics()})

    def topic(self, request: Request) -> Reply:
        unknown = "cluster or topic not found"
        snapshot = self._snapshot(request, unknown)
        if isinstance(snapshot, Reply):
            return snapshot
        partitions = first_found(request.names[1], snapshot.topic)
        if partitions is None:
            return self._envelope.error(request, 404, unknown)
        # a list by partition number: a partition whose head is not known yet is 0
        offsets = [partition.head or 0 for partition in partitions]
        return self._envelope.answer(request, "topic offsets returned", {"offsets": offsets})

    def topic_consumers(self, request: Request) -> Reply:
        snapshot = self._snapshot(request, "cluster not found")
        if isinstance(snapshot, Reply):
            return snapshot
        consumers = first_found(request.names[1], lambda topic: snapshot.consumers_of(topic) or None)
        return self._envelope.answer(request, "consumers of topic returned", {"consumers": consumers or []})

    def consumers(self, request: Request) -> Reply:
        snapshot = self._snapshot(request, "cluster not found")
        if isinstance(snapshot, Reply):
            return snapshot
        return self._envelope.answer(request, "consumer list returned", {"consumers": snapshot.groups()})

    def consumer(self, request: Request) -> Reply:
        return self._page(request, "consumer", self._render_consumer)

    def status(self, request: Request) -> Reply:
        """The partitions that are not OK."""
        return self._page(request, "status", self._render_status)

    def lag(self, request: Request) -> Reply:
        """All partitions."""
        return self._page(request, "lag", self._render_lag)

    async def delete_consumer(self, request: Request) -> Reply:
        if (cluster := self._cluster(request)) is not None:
            group = self._group_named(cluster, request.names[1])
            await asyncio.to_thread(self._answers.delete_group, cluster, group)
        return self._envelope.answer(request, "consumer group removed")

    async def delete_topic(self, request: Request) -> Reply:
        if (cluster := self._cluster(request)) is not None:
            group = self._group_named(cluster, request.names[1])
            topic = self._topic_named(cluster, group, request.names[2])
            await asyncio.to_thread(self._answers.delete_topic, cluster, group, topic)
        return self._envelope.answer(request, "consumer group removed")

    def _page(
        self, request: Request, page: str, render: Callable[[Request, ClusterSnapshot | None], Reply]
    ) -> Reply:
        """A page about a group, rendered once per snapshot."""
        cluster = self._cluster(request)
        snapshot = None if cluster is None else self._answers.snapshot(cluster)
        if cluster is None:
            return render(request, None)
        if snapshot is None:
            return self._no_snapshot(request)
        pages = self._pages.get(cluster)
        if pages is None or pages.snapshot is not snapshot:
            pages = self._pages[cluster] = _Pages(snapshot)
        key = (page, request.names)
        kept = pages.replies.get(key)
        if kept is None:
            kept = render(request, snapshot)
            pages.keep(key, kept)
        return kept

    def _render_consumer(self, request: Request, snapshot: ClusterSnapshot | None) -> Reply:
        detail = first_found(request.names[1], snapshot.detail) if snapshot else None
        if detail is None:
            return self._envelope.error(request, 404, "cluster or consumer not found")
        topics = {topic: [window_shape(partition) for partition in detail[topic]] for topic in sorted(detail)}
        return self._envelope.answer(request, "consumer detail returned", {"topics": topics})

    def _render_status(self, request: Request, snapshot: ClusterSnapshot | None) -> Reply:
        return self._render_group(request, snapshot, everything=False)

    def _render_lag(self, request: Request, snapshot: ClusterSnapshot | None) -> Reply:
        return self._render_group(request, snapshot, everything=True)

    def _render_group(self, request: Request, snapshot: ClusterSnapshot | None, *, everything: bool) -> Reply:
        group = first_found(request.names[1], snapshot.group) if snapshot else None
        message = "consumer status returned"
        if group is None:
            cluster, requested = request.names
            unknown = unknown_group_shape(cluster, requested)
            return self._envelope.answer(request, message, {"status": unknown}, status=404)
        partitions = group.partitions
        if not everything:
            partitions = tuple(part for part in partitions if part.status != Status.OK)
        return self._envelope.answer(request, message, {"status": group_shape(group, partitions)})

    def _cluster(self, request: Request) -> str | None:
        return module_named(request.names[0], self._answers.clusters())

    def _snapshot(self, request: Request, unknown: str) -> ClusterSnapshot | Reply:
        """The snapshot of the requested cluster, or the error reply; `unknown`: its message."""
        cluster = self._cluster(request)
        if cluster is None:
            return self._envelope.error(request, 404, unknown)
        return self._answers.snapshot(cluster) or self._no_snapshot(request)

    def _no_snapshot(self, request: Request) -> Reply:
        """An empty list or NOTFOUND would look like deleted groups to clients."""
        return self._envelope.error(request, 503, "there is no snapshot of the cluster yet, see /v4/health")

    def _group_named(self, cluster: str, requested: str) -> str:
        """The group's name as the snapshot has it; an unknown one stays as it was written."""
        snapshot = self._answers.snapshot(cluster)
        group = first_found(requested, snapshot.group) if snapshot else None
        return group.group if group else requested

    def _topic_named(self, cluster: str, group: str, requested: str) -> str:
        snapshot = self._answers.snapshot(cluster)
        detail = snapshot.detail(group) if snapshot else None
        topics = detail or {}
        return first_found(requested, lambda topic: topic if topic in topics else None) or requested
