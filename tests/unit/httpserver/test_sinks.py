"""What /v4/health and /metrics say of the sinks."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel
from tests.unit.httpserver.sinking import T0, MemorySinks

from warren.config import Settings
from warren.httpserver.app import App
from warren.httpserver.v4 import shapes


def app_of(sinks: MemorySinks | None) -> App:
    return App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here", sinks=sinks)


def health(sinks: MemorySinks | None) -> Any:
    body = ask(app_of(sinks), "/v4/health").body
    msgspec.json.decode(body, type=shapes.Health)
    return json.loads(body)


def test_the_health_page_says_how_far_behind_each_sink_is_and_why() -> None:
    well, down = health(MemorySinks())["sinks"]
    assert (well["sink"], well["behind_samples"], well["behind_ms"], well["error"]) == ("history", 0, 0, "")
    assert down.pop("behind_ms") > 50_000
    assert down == {
        "sink": "search",
        "class_name": "elasticsearch",
        "running": True,
        "behind_samples": 7,
        "dropped_samples": 4,
        "samples": 2,
        "rows": 200,
        "rejected_rows": 3,
        "failures": 7,
        "restarts": 1,
        "last_sample": 2,
        "written_at": T0 - 60_000,
        "error": "the server is down",
    }


def test_a_sink_that_is_down_does_not_make_warren_less_ready() -> None:
    assert health(MemorySinks())["ready"]


def test_without_sinks_the_page_lists_none_and_there_are_no_series() -> None:
    assert health(None)["sinks"] == []
    assert b"warren_sink" not in ask(app_of(None), "/metrics").body


def test_sinks_are_series() -> None:
    text = ask(app_of(MemorySinks()), "/metrics").body.decode()
    found = {
        (sample.name, sample.labels["sink"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("warren_sink")
    }
    names = {name for name, _ in found}
    search = {name: found[name, "search"] for name in names}
    assert search.pop("warren_sink_behind_seconds") > 50
    assert search == {
        "warren_sink_up": 0,
        "warren_sink_samples_total": 2,
        "warren_sink_samples_dropped_total": 4,
        "warren_sink_samples_behind": 7,
        "warren_sink_rows_total": 200,
        "warren_sink_rows_rejected_total": 3,
        "warren_sink_failures_total": 7,
    }
    assert (found["warren_sink_up", "history"], found["warren_sink_behind_seconds", "history"]) == (1, 0)
