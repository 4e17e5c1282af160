"""Warren's own series."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemoryProgress
from tests.unit.httpserver.notifying import MemoryNotifying

from warren.config import Settings
from warren.config.sections import HttpServer
from warren.httpserver.app import App
from warren.httpserver.guard import Guard
from warren.notifier.record import Leadership

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(app: App) -> Series:
    text = ask(app, "/metrics").body.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Series, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def test_every_cluster_has_its_series_in_every_state() -> None:
    answers = MemoryAnswers(
        names=["local", "silent"],
        snapshots={"local": replace(usual_snapshot(), number=12)},
        queries={
            "local": MemoryProgress(
                records=5000,
                rate=70,
                denied=12,
                skipped={"unknown key version": 3, "short": 1},
                triggers=9,
                trigger_ms=1250,
                restarts=2,
            ),
            "silent": MemoryProgress(
                running=True, caught_up=False, left=800, error="no brokers", seen_ms=1_500
            ),
        },
    )
    found = series(App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here"))
    expected = {
        "warren_cluster_up": (1, 0),
        "warren_cluster_caught_up": (1, 0),
        "warren_cluster_seen_timestamp_seconds": (0, 1.5),
        "warren_records_total": (5000, 0),
        "warren_records_per_second": (70, 0),
        "warren_records_left": (0, 800),
        "warren_records_denied_total": (12, 0),
        "warren_triggers_total": (9, 0),
        "warren_trigger_seconds": (1.25, 0),
        "warren_query_restarts_total": (2, 0),
        "warren_snapshot_number": (12, None),
    }
    shown = {
        name: (value(found, name, cluster="local"), value(found, name, cluster="silent")) for name in expected
    }
    assert shown == expected
    assert value(found, "warren_records_skipped_total", cluster="local", reason="unknown key version") == 3
    assert value(found, "warren_records_skipped_total", cluster="local", reason="short") == 1
    assert (value(found, "warren_snapshot_age_seconds", cluster="local") or 0) > 0
    statuses = [group.status.name for group in usual_snapshot().statuses.values()]
    for status in ("OK", "WARN", "ERR"):
        assert value(found, "warren_groups", cluster="local", status=status) == statuses.count(status)


@pytest.mark.parametrize("ready", [True, False])
def test_that_warren_is_not_ready_is_a_metric(ready: bool) -> None:
    """An alert rule needs it: /v4/health is not scraped."""
    app = App(Settings(), MemoryAnswers(is_ready=ready), MemoryLogLevel(), CollectorRegistry(), host="here")
    assert value(series(app), "warren_ready") == ready


def test_refusals_are_counted_by_listener() -> None:
    app = App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")
    guard = Guard(HttpServer.model_validate({"read-token": "r34d"}), app)
    app.own_metrics.guards = {"outside": guard}
    for _ in range(3):
        assert ask(guard, "/v3/kafka", role=None).status == 401
    assert value(series(app), "warren_http_refused_total", listener="outside", code="401") == 3


@pytest.mark.parametrize(
    ("state", "leads"), [("alone", 1), ("leading", 1), ("following", 0), ("disconnected", 0)]
)
def test_who_leads_is_a_metric(state: Any, leads: int) -> None:
    notifying = MemoryNotifying(who=Leadership(state, ""))
    app = App(
        Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here", notifying=notifying
    )
    assert value(series(app), "warren_notifier_leader") == leads


def test_messages_and_incidents_are_counted() -> None:
    answers = MemoryAnswers(names=["local", "quiet"])
    app = App(
        Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here", notifying=MemoryNotifying()
    )
    found = series(app)
    shown = {
        (module, outcome): value(found, "warren_notifications_total", module=module, outcome=outcome)
        for module in ("ops", "mail")
        for outcome in ("sent", "failed", "retried")
    }
    assert shown == {
        ("ops", "sent"): 3,
        ("ops", "failed"): 0,
        ("ops", "retried"): 1,
        ("mail", "sent"): 0,
        ("mail", "failed"): 1,
        ("mail", "retried"): 5,
    }
    assert value(found, "warren_notifications_owed", module="ops") == 1
    assert value(found, "warren_notifications_owed", module="mail") == 0
    assert value(found, "warren_incidents_open", cluster="local") == 1
    assert value(found, "warren_incidents_open", cluster="quiet") == 0


def test_without_notifiers_there_are_no_series_of_them() -> None:
    app = App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")
    assert not [name for name, _ in series(app) if "notif" in name or "incident" in name]
