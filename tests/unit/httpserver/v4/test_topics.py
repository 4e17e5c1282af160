"""/v4/clusters/C/topics/T."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemorySnapshot

from warren.common.status import Status
from warren.config import Settings
from warren.httpserver.app import App
from warren.httpserver.v4 import shapes
from warren.snapshot.model import TopicPartitionHead

T0 = 1_700_000_000_000


@pytest.fixture
def snapshot() -> MemorySnapshot:
    return replace(usual_snapshot(), number=7, taken_at_ms=T0, as_of_ms=T0)


@pytest.fixture
def answers(snapshot: MemorySnapshot) -> MemoryAnswers:
    return MemoryAnswers(["local", "empty"], {"local": snapshot})


@pytest.fixture
def app(answers: MemoryAnswers) -> App:
    return App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")


def got(app: App, path: str, status: int = 200) -> Any:
    answered = ask(app, path)
    assert answered.status == status, answered.body
    return json.loads(answered.body)


def test_a_topic_has_its_heads_and_who_reads_it(app: App, snapshot: MemorySnapshot) -> None:
    answered = ask(app, "/v4/clusters/local/topics/orders")
    shown = msgspec.json.decode(answered.body, type=shapes.Topic)
    assert [(each.head, each.tail) for each in shown.partitions] == [
        (each.head, each.tail) for each in snapshot.heads["orders"]
    ]
    assert [each.group for each in shown.readers] == sorted(
        snapshot.consumers_of("orders"),
        key=lambda name: (
            -max(part.status for part in snapshot.statuses[name].partitions if part.topic == "orders"),
            -sum(part.current_lag for part in snapshot.statuses[name].partitions if part.topic == "orders"),
            name,
        ),
    )
    for each in shown.readers:
        parts = [part for part in snapshot.statuses[each.group].partitions if part.topic == "orders"]
        assert each.totallag == sum(part.current_lag for part in parts)
        assert each.not_ok == sum(part.status > Status.OK for part in parts)
    # there was no earlier snapshot
    assert (shown.inflow, shown.inflow_over_ms) == (None, 0)
    assert shown.snapshot.number == 7


def test_the_inflow_is_the_difference_between_two_snapshots(
    app: App, answers: MemoryAnswers, snapshot: MemorySnapshot
) -> None:
    app.topics.take("local", snapshot)
    later = tuple(TopicPartitionHead((each.head or 0) + 100, each.tail) for each in snapshot.heads["orders"])
    heads = {**snapshot.heads, "orders": later}
    answers.snapshots["local"] = replace(snapshot, number=8, as_of_ms=T0 + 20_000, heads=heads)
    page = got(app, "/v4/clusters/local/topics/orders")
    assert page["inflow"] == 5.0 * len(later)
    assert page["inflow_over_ms"] == 20_000
    assert {each["inflow"] for each in page["partitions"]} == {5.0}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v4/clusters/local/topics/nothing", 404),
        ("/v4/clusters/nowhere/topics/orders", 404),
        ("/v4/clusters/empty/topics/orders", 503),
        ("/v4/clusters/local/topics/orders?what=1", 400),
    ],
)
def test_what_is_not_there(app: App, path: str, status: int) -> None:
    assert got(app, path, status)["error"] is True
