"""The door of a listener."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel
from tests.unit.httpserver.test_access import ONLY_READ, OPEN, THERE, TOKENS, bearer, section

from warren.config import Settings
from warren.config.sections import HttpServer
from warren.httpserver.access import ROLE, Role
from warren.httpserver.app import App
from warren.httpserver.guard import Guard

GROUP = "/v3/kafka/local/consumer/healthy"
LEVEL = "/v3/admin/loglevel"


@dataclass
class House:
    """The application and what it changes."""

    answers: MemoryAnswers = field(
        default_factory=lambda: MemoryAnswers(snapshots={"local": usual_snapshot()})
    )
    level: MemoryLogLevel = field(default_factory=MemoryLogLevel)

    def behind(self, listener: HttpServer, origin: str = "") -> Guard:
        app = App(Settings(), self.answers, self.level, CollectorRegistry(), host="here")
        return Guard(listener, app, origin)


@dataclass(frozen=True)
class Case:
    name: str
    listener: HttpServer
    status: int
    method: str = "GET"
    path: str = "/v3/kafka"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    client: str = THERE


CASES = (
    Case("read", OPEN, 200),
    Case("delete from elsewhere", OPEN, 403, "DELETE", GROUP),
    Case("delete from here", OPEN, 200, "DELETE", GROUP, client="127.0.0.1"),
    Case("level from elsewhere", OPEN, 403, "POST", LEVEL, body=b'{"level":"debug"}'),
    Case("level from here", OPEN, 200, "POST", LEVEL, body=b'{"level":"debug"}', client="::1"),
    Case("read without a token", TOKENS, 401),
    Case("read with a wrong token", TOKENS, 401, headers=bearer("no")),
    Case("read with a token", TOKENS, 200, headers=bearer("r34d")),
    Case("metrics without a token", TOKENS, 401, path="/metrics"),
    Case("v4 without a token", TOKENS, 401, path="/v4/clusters/local/groups"),
    Case("document without a token", TOKENS, 401, path="/v4/openapi.json"),
    Case("nowhere without a token", TOKENS, 401, path="/nowhere"),
    Case("delete with the reader's token", TOKENS, 403, "DELETE", GROUP, bearer("r34d"), client="127.0.0.1"),
    Case("delete with the admin's token", TOKENS, 200, "DELETE", GROUP, bearer("4dm1n")),
    Case("delete without a token", TOKENS, 401, "DELETE", GROUP, client="127.0.0.1"),
    Case(
        "delete from here, readers only have a token",
        ONLY_READ,
        200,
        "DELETE",
        GROUP,
        bearer("r34d"),
        client="::1",
    ),
    Case("alive without a token", TOKENS, 200, path="/burrow/admin"),
    Case("ready without a token", TOKENS, 200, path="/burrow/admin/ready"),
    Case("alive with a wrong token", TOKENS, 200, path="/burrow/admin", headers=bearer("no")),
    Case("almost the alive page", TOKENS, 401, path="/burrow/admin/"),
    Case("preflight without a token", TOKENS, 200, "OPTIONS", GROUP),
    Case("a doubled slash is no way round", OPEN, 307, "DELETE", f"/{GROUP}"),
    Case("an escaped letter is no way round", OPEN, 403, "DELETE", GROUP.replace("v3", "%763")),
    Case(
        "body as long as allowed",
        section(max_body=17),
        200,
        "POST",
        LEVEL,
        body=b'{"level":"debug"}',
        client="::1",
    ),
    Case("body too long", section(max_body=16), 413, "POST", LEVEL, body=b'{"level":"debug"}', client="::1"),
    Case("body announced too long", OPEN, 413, "POST", LEVEL, {"content-length": "65537"}, client="::1"),
    Case(
        "body announced in a hundred digits",
        OPEN,
        413,
        "POST",
        LEVEL,
        {"content-length": "9" * 100},
        client="::1",
    ),
    Case("length below nothing", OPEN, 400, "POST", LEVEL, {"content-length": "-1"}, client="::1"),
    Case("length in words", OPEN, 400, headers={"content-length": "many"}),
    Case("path too long", OPEN, 414, path="/v3/kafka/" + "a" * 20_000),
    Case("query too long", OPEN, 414, path="/v3/kafka?" + "a" * 20_000),
    Case("newline in the path", OPEN, 400, path="/v3/kafka/local%0d%0aSet-Cookie:%20a=b"),
    Case("nothing in the path", OPEN, 400, path="/v3/kafka/local/consumer/a%00b"),
    Case("delete character in the path", OPEN, 400, path="/v3/kafka/%7F"),
    Case("steps up", OPEN, 404, path="/v3/kafka/../../etc/passwd"),
    Case("escaped steps up", OPEN, 404, path="/v3/kafka/%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    Case("bytes that are no text", OPEN, 404, path="/v3/kafka/%ff%fe/topic"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer(case: Case) -> None:
    house = House()
    answered = ask(
        house.behind(case.listener),
        case.path,
        method=case.method,
        headers=case.headers,
        body=case.body,
        role=None,
        client=case.client,
    )
    assert answered.status == case.status
    if case.status in {400, 401, 403, 413, 414}:
        body = json.loads(answered.body)
        assert list(body) == ["error", "message", "result"]
        assert body["error"] is True
        assert body["message"]
        assert body["result"] == {}
        assert answered.headers["content-type"] == "application/json"
        assert "set-cookie" not in answered.headers
    done = bool(house.answers.deleted) or house.level.level != "info"
    assert done is (case.status == 200 and case.method in {"DELETE", "POST"})


def test_what_comes_by_no_door_may_change_nothing() -> None:
    house = House()
    app = App(Settings(), house.answers, house.level, CollectorRegistry(), host="here")
    assert ask(app, GROUP, method="DELETE", role=None).status == 403
    assert ask(app, GROUP, method="DELETE", role=Role.READ).status == 403
    assert house.answers.deleted == []


def test_too_many_requests() -> None:
    guard = House().behind(section(rate_limit=2))
    statuses = [ask(guard, "/v3/kafka", role=None, client=THERE).status for _ in range(4)]
    assert statuses[:2] == [200, 200]
    assert 429 in statuses
    assert ask(guard, "/v3/kafka", role=None, client="192.0.2.8").status == 200
    assert guard.refusals[429] >= 1


def test_refusals_have_the_cors_header_too() -> None:
    answered = ask(House().behind(TOKENS, "http://dash.example"), "/v3/kafka", role=None)
    assert answered.headers["access-control-allow-origin"] == "http://dash.example"


def test_pages_beyond_learn_the_role_and_are_behind_the_door_too() -> None:
    seen: list[Any] = []

    async def beyond(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope[ROLE], scope["headers"]))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here", beyond=beyond)
    guard = Guard(TOKENS, app)
    assert ask(guard, "/beyond", role=None).status == 401
    assert ask(guard, "/beyond", method="POST", headers=bearer("r34d"), role=None).status == 204
    # the role, and not the secret that it was given for
    assert seen == [(Role.READ, [])]


def test_a_socket_without_credentials_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {
        "type": "websocket",
        "raw_path": b"/live",
        "query_string": b"",
        "headers": [],
        "client": (THERE, 1),
    }
    asyncio.run(_called(House().behind(TOKENS), scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


async def _called(app: Any, scope: Any, receive: Any, send: Any) -> None:
    await app(scope, receive, send)


def test_a_page_asks_for_credentials_itself_and_not_the_browser() -> None:
    guard = House().behind(ONLY_READ)
    for given in ({}, bearer("wrong")):
        plain = ask(guard, "/v4/health", role=None, client=THERE, headers=given)
        assert plain.headers["www-authenticate"].startswith("Basic")
        page = ask(
            guard, "/v4/health", role=None, client=THERE, headers={**given, "x-requested-with": "warren"}
        )
        assert page.status == 401
        assert page.headers["www-authenticate"].startswith("Bearer")


def test_the_pages_themselves_need_no_credentials_what_they_show_does() -> None:
    guard = House().behind(ONLY_READ)
    assert ask(guard, "/", role=None, client=THERE).status == 200
    assert ask(guard, "/clusters/local/groups/healthy", role=None, client=THERE).status == 200
    for path in ("/v4/session", "/v4/changes", "/v4/clusters/local/groups/healthy", "//v4/health"):
        assert ask(guard, path, role=None, client=THERE).status == 401
