"""/v4/notifiers: why the last message failed, and trying one."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import Answered, ask, requested
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel
from tests.unit.httpserver.notifying import INCIDENTS, T0, MemoryNotifying

from warren.common.status import Status
from warren.config import Settings
from warren.config.modules import HttpNotifier, NullNotifier
from warren.httpserver.access import Role
from warren.httpserver.app import App
from warren.httpserver.v4 import notifiers
from warren.notifier.message import Kind
from warren.notifier.record import Trial

SETTINGS = Settings(notifier={"ops": HttpNotifier(url_open="http://x"), "mail": NullNotifier()})
JSON = {"content-type": "application/json"}
TEST = "/v4/notifiers/ops/test"


def app_of(notifying: MemoryNotifying | None) -> App:
    return App(
        SETTINGS, MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here", notifying=notifying
    )


def tried(app: App, path: str = TEST, **how: Any) -> Answered:
    return ask(app, path, **{"method": "POST", "headers": JSON, "body": b"{}"} | how)


def test_each_says_what_was_sent_and_why_its_last_message_failed() -> None:
    mail, ops = json.loads(ask(app_of(MemoryNotifying()), "/v4/notifiers").body)["notifiers"]
    assert (ops["module"], ops["class_name"], ops["sent"], ops["owed"]) == ("ops", "http", 3, 1)
    assert (ops["last_sent"]["id"], ops["last_sent"]["answer"]) == ("m2", "HTTP 204")
    assert ops["last_failure"] is None
    assert mail["last_sent"] is None
    assert mail["last_failure"] == {
        "id": "m6",
        "incident": INCIDENTS[0].id,
        "cluster": "local",
        "group": "payments",
        "kind": "open",
        "status": "ERR",
        "state": "failed",
        "attempts": 6,
        "at": T0 + 9000,
        "answer": "no route",
    }


def test_without_notifiers_there_are_none() -> None:
    app = App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")
    assert json.loads(ask(app, "/v4/notifiers").body) == {"notifiers": []}


def test_an_administrator_tries_a_notifier() -> None:
    notifying = MemoryNotifying()
    answered = tried(app_of(notifying), body=b'{"status":"ERR"}')
    assert answered.status == 200
    assert json.loads(answered.body) == {
        "module": "ops",
        "sent": True,
        "answer": "HTTP 200",
        "retriable": False,
        "took_ms": 12,
        "head": ["POST https://example.com/REDACTED"],
        "body": "{}",
    }
    assert notifying.tried == [("ops", Status.ERR, "open")]


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        (b"", ("ops", Status.WARN, "open")),
        (b'{"status":"OK"}', ("ops", Status.OK, "close")),
        (b'{"kind":"close","status":"WARN"}', ("ops", Status.WARN, "close")),
    ],
)
def test_the_sample_can_be_chosen(body: bytes, asked: tuple[str, Status, Kind]) -> None:
    notifying = MemoryNotifying()
    assert tried(app_of(notifying), body=body).status == 200
    assert notifying.tried == [asked]


REFUSED: dict[str, tuple[int, dict[str, Any]]] = {
    "a reader": (403, {"role": Role.READ}),
    "nobody": (403, {"role": None}),
    "by GET": (405, {"method": "GET"}),
    "a form, which another site could send": (415, {"headers": {"content-type": "text/plain"}}),
    "no type": (415, {"headers": {}}),
    "a body that is no JSON": (400, {"body": b"{"}),
    "an unknown status": (400, {"body": b'{"status":"STOP"}'}),
    "an unknown field": (400, {"body": b'{"to":"me"}'}),
    "a parameter": (400, {"path": f"{TEST}?x=1"}),
    "an unknown notifier": (404, {"path": "/v4/notifiers/nobody/test"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_sent_for(name: str) -> None:
    status, how = REFUSED[name]
    notifying = MemoryNotifying()
    answered = tried(app_of(notifying), **how)
    assert answered.status == status, answered.body
    assert notifying.tried == []


def test_not_more_often_than_people_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    notifying = MemoryNotifying()
    app = app_of(notifying)
    assert [tried(app).status for _ in range(3)] == [200, 429, 429]
    # each has its own count
    assert tried(app, "/v4/notifiers/mail/test").status == 200
    monkeypatch.setattr(notifiers, "BETWEEN_S", 0.0)
    assert tried(app).status == 200
    assert [module for module, *_ in notifying.tried] == ["ops", "mail", "ops"]


def test_other_requests_are_answered_while_a_receiver_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifiers, "BETWEEN_S", 0.0)
    hangs, begun = threading.Event(), threading.Event()

    class Hanging(MemoryNotifying):
        def try_module(self, module: str, status: Status, kind: Kind) -> Trial:
            begun.set()
            hangs.wait(20)
            return super().try_module(module, status, kind)

    app = app_of(Hanging())

    async def both() -> list[int]:
        how: dict[str, Any] = {"method": "POST", "headers": JSON}
        first = asyncio.ensure_future(requested(app, TEST, **how))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        second = await requested(app, TEST, **how)
        health = await requested(app, "/v4/notifiers")
        hangs.set()
        return [second.status, health.status, (await first).status]

    assert asyncio.run(both()) == [429, 200, 200]
