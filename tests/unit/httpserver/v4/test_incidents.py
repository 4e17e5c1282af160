"""/v4/incidents, and the notifier's part of /v4/health."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel
from tests.unit.httpserver.notifying import EVIDENCE, INCIDENTS, T0, MemoryNotifying

from warren.config import Settings
from warren.httpserver.app import App
from warren.httpserver.v4 import shapes
from warren.notifier.record import Leadership


def app_of(notifying: MemoryNotifying | None, answers: MemoryAnswers | None = None) -> App:
    return App(
        Settings(),
        answers or MemoryAnswers(),
        MemoryLogLevel(),
        CollectorRegistry(),
        host="here",
        notifying=notifying,
    )


def got(app: App, path: str, status: int = 200) -> Any:
    answered = ask(app, path)
    assert answered.status == status, answered.body
    return json.loads(answered.body)


@pytest.mark.parametrize(
    ("path", "shape"), [("/v4/incidents", shapes.Incidents), ("/v4/health", shapes.Health)]
)
@pytest.mark.parametrize("notifying", [MemoryNotifying(), None], ids=["notifiers", "no notifiers"])
def test_the_answer_has_its_type(notifying: MemoryNotifying | None, path: str, shape: Any) -> None:
    answered = ask(app_of(notifying), path)
    decoded = msgspec.json.decode(answered.body, type=shape)
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(answered.body)


def test_an_incident_says_what_was_sent_to_whom_and_how_it_went() -> None:
    page = got(app_of(MemoryNotifying()), "/v4/incidents")
    assert (page["total"], page["offset"]) == (len(INCIDENTS), 0)
    newest = page["incidents"][0]
    messages = newest.pop("messages")
    assert newest == {
        "id": "33333333-0000-4000-8000-000000000003",
        "cluster": "local",
        "group": "payments",
        "start": T0 + 3000,
        "end": None,
        "ending": None,
        "reason": "",
        "status": "WARN",
        "worst": "ERR",
    }
    assert messages[0] == {
        "id": "m5",
        "module": "ops",
        "kind": "open",
        "status": "ERR",
        "state": "sent",
        "attempts": 2,
        "decided_at": T0 + 3000,
        "at": T0 + 3900,
        "answer": "HTTP 200",
        "error": "",
    }
    assert [(each["state"], each["answer"], each["error"]) for each in messages[1:]] == [
        ("failed", "", "no route"),
        ("owed", "", ""),
    ]
    assert [(each["end"], each["ending"]) for each in page["incidents"][2:]] == [
        (T0 + 5000, "ok"),
        (T0 + 500, "gone"),
    ]


# query: first letters of the ids
FITTING = {
    "": "3210",
    "?state=open": "32",
    "?state=past": "10",
    "?cluster=local": "310",
    "?cluster=nosuch": "",
    "?group=payments": "32",
    "?group=[bo]*": "10",
    "?group=pay": "",
    "?module=mail": "3",
    "?module=ops&state=past": "1",
    "?limit=2": "32",
    "?offset=1&limit=2": "21",
    "?offset=9": "",
    "?cluster=local&offset=1&limit=1": "1",
}


@pytest.mark.parametrize("query", FITTING)
def test_filters(query: str) -> None:
    page = got(app_of(MemoryNotifying()), f"/v4/incidents{query}")
    assert "".join(incident["id"][0] for incident in page["incidents"]) == FITTING[query]
    if "offset" not in query and "limit" not in query:
        assert page["total"] == len(FITTING[query])


def test_the_total_is_of_all_pages() -> None:
    assert got(app_of(MemoryNotifying()), "/v4/incidents?cluster=local&limit=1")["total"] == 3


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?state=closed", "state: must be one of open, past"),
        ("?limit=0", "limit: must be a number from 1 to 100000"),
        ("?group=", "group: must have 1 to 256 characters"),
        ("?status=ERR", "unknown parameter status; there are: state, cluster, group, module, offset, limit"),
    ],
)
def test_a_wrong_parameter_is_named(query: str, said: str) -> None:
    assert got(app_of(MemoryNotifying()), f"/v4/incidents{query}", 400)["message"] == said


def test_without_notifiers_there_are_no_incidents_and_no_leader() -> None:
    app = app_of(None)
    assert got(app, "/v4/incidents") == {"total": 0, "offset": 0, "incidents": []}
    assert got(app, "/v4/health")["notifier"] is None


def test_health_says_who_sends_and_what_is_owed() -> None:
    assert got(app_of(MemoryNotifying()), "/v4/health")["notifier"] == {
        "state": "leading",
        "leader": "here:7",
        "open_incidents": 2,
        "modules": [
            {"module": "mail", "owed": 0, "sent": 0, "failed": 1, "retried": 5},
            {"module": "ops", "owed": 1, "sent": 3, "failed": 0, "retried": 1},
        ],
    }


@pytest.mark.parametrize("state", ["alone", "leading", "following", "disconnected"])
def test_an_instance_is_ready_whoever_sends(state: Any) -> None:
    health = got(app_of(MemoryNotifying(who=Leadership(state, "there:8"))), "/v4/health")
    assert (health["ready"], health["notifier"]["state"], health["notifier"]["leader"]) == (
        True,
        state,
        "there:8",
    )


def test_a_cluster_that_catches_up_makes_it_unready_all_the_same() -> None:
    assert got(app_of(MemoryNotifying(), MemoryAnswers(is_ready=False)), "/v4/health", 503)["notifier"]


def test_an_incident_has_an_address_of_its_own_with_its_evidence() -> None:
    app = app_of(MemoryNotifying())
    listed = got(app, "/v4/incidents")["incidents"]
    for each in listed:
        page = got(app, f"/v4/incidents/{each['id']}")
        evidence = page.pop("evidence")
        assert page == each
        if each["id"] != INCIDENTS[0].id:
            assert evidence == {"opening": None, "worst": None, "end": None}
    answered = ask(app, f"/v4/incidents/{INCIDENTS[0].id}")
    shown = msgspec.json.decode(answered.body, type=shapes.IncidentDetail)
    assert EVIDENCE.worst is not None
    assert shown.evidence.end is None
    worst = shown.evidence.worst
    assert worst is not None
    assert (worst.at, worst.status, worst.totallag, worst.not_ok) == (T0 + 4000, "ERR", 90, 2)
    (one,) = worst.partitions
    assert (one.topic, one.partition, one.status, one.rule, one.decided_by) == (
        "orders",
        3,
        "STOP",
        "stopped",
        (0,),
    )
    assert [entry.offset for entry in one.window] == [10]


@pytest.mark.parametrize("notifying", [MemoryNotifying(), None], ids=["notifiers", "no notifiers"])
def test_an_unknown_incident_is_not_found(notifying: MemoryNotifying | None) -> None:
    assert "no such incident" in got(app_of(notifying), "/v4/incidents/nothing", 404)["message"]
