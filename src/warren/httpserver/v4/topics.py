"""`/v4/clusters/C/topics/T`: heads, how fast messages come in, and who reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from warren.httpserver.names import first_found, module_named
from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Answers
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import TOPIC
from warren.httpserver.v4.parameters import ParameterError, cursor, values, version
from warren.snapshot.inflow import Inflow, InflowRate
from warren.snapshot.model import ClusterSnapshot

_NO_CLUSTER: Final = refused(404, "cluster not found")
_NO_TOPIC: Final = refused(404, "topic not found")
_NO_SNAPSHOT: Final = refused(
    503, "there is no snapshot of the cluster yet, see /v4/health", (b"retry-after", b"1")
)


class TopicPages:
    """Takes samples of the heads in the snapshots that the server sees anyway; used by the server's thread."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._inflow: dict[str, Inflow] = {}

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {("GET", TOPIC.route): self.topic}

    def take(self, cluster: str, snapshot: ClusterSnapshot) -> None:
        """A sample, when it is time for one."""
        inflow = self._inflow.setdefault(cluster, Inflow())
        if inflow.is_due(snapshot.as_of_ms):
            inflow.take(snapshot.as_of_ms, snapshot.head_table())

    async def topic(self, request: Request) -> Reply:
        try:
            values(request.query, TOPIC.parameters)
        except ParameterError as error:
            return refused(400, str(error))
        cluster = module_named(request.names[0], self._answers.clusters())
        if cluster is None:
            return _NO_CLUSTER
        snapshot = self._answers.snapshot(cluster)
        if snapshot is None:
            return _NO_SNAPSHOT
        # a hundred thousand partitions are looked through: other requests are answered meanwhile
        return await asyncio.to_thread(self._answer, cluster, snapshot, request.names[1])

    def _answer(self, cluster: str, snapshot: ClusterSnapshot, name: str) -> Reply:
        topic = first_found(name, lambda name: name if snapshot.topic(name) is not None else None)
        heads = snapshot.topic(topic) if topic is not None else None
        if topic is None or heads is None:
            return _NO_TOPIC
        inflow = self._inflow.get(cluster)
        rate = InflowRate((), 0)
        if inflow is not None:
            rate = inflow.rate(topic, snapshot.as_of_ms, snapshot.head_table())
        rates = rate.by_partition + (None,) * (len(heads) - len(rate.by_partition))
        readers = sorted(snapshot.readers(topic), key=lambda each: (-each.status, -each.totallag, each.group))
        return as_json(
            shapes.Topic(
                cluster,
                shapes.Snapshot(
                    snapshot.number, snapshot.taken_at_ms, snapshot.as_of_ms, cursor(version(snapshot.number))
                ),
                topic,
                _rounded(rate.total),
                rate.over_ms,
                [
                    shapes.TopicPartition(number, each.head, each.tail, _rounded(one))
                    for number, (each, one) in enumerate(zip(heads, rates, strict=True))
                ],
                [
                    shapes.TopicReader(
                        each.group,
                        each.status.name,  # type: ignore[arg-type] # of a partition
                        each.totallag,
                        each.maxlag,
                        each.partition_count,
                        each.not_ok,
                        each.last_commit or None,
                    )
                    for each in readers
                ],
            )
        )


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 3)
