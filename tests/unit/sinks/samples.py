"""Tables and snapshots for the tests of sinks, made by the real read model from hand-made records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.integration.pipeline.hands import group_metadata
from tests.unit.pipeline_double import NOW, Pipeline, look, records

from warren.kafka import messages
from warren.kafka.codec import encode
from warren.sinks.tables import Tables, Tabulator
from warren.snapshot.view import ClusterView

Record = tuple[bytes, bytes]


def commit(group: str, topic: str, partition: int, offset: int, at_ms: int = NOW) -> Record:
    key = encode(messages.COMMIT_KEY, 1, {"group": group, "topic": topic, "partition": partition})
    fields = {"offset": offset, "leader_epoch": -1, "metadata": "", "timestamp": at_ms}
    return key, encode(messages.COMMIT_VALUE, 3, fields)


def example_view(
    cluster: str = "local", at_ms: int = NOW, *, heads: Mapping[tuple[str, int], int] | None = None
) -> ClusterView:
    """Groups `fast` (no lag) and `slow` (lag 10 on orders/0, owned; none on orders/2), topics clicks and orders."""
    given = heads or {("orders", 0): 100, ("orders", 1): 50, ("orders", 2): 7, ("clicks", 0): 10}
    written = [
        commit("slow", "orders", 0, 90, at_ms - 5_000),
        commit("slow", "orders", 2, 7, at_ms - 4_000),
        commit("fast", "clicks", 0, 10, at_ms - 1_000),
        group_metadata("slow", "orders", 0),
    ]
    view = Pipeline().trigger(
        look(dict(given), at_ms, full=True),
        records(written, observed_at=at_ms, before_ms=at_ms),
        now_ms=at_ms,
    )
    return replace(view, name=cluster)


def example_tables(cluster: str = "local", at_ms: int = NOW) -> Tables:
    return Tabulator().tables(example_view(cluster, at_ms))
