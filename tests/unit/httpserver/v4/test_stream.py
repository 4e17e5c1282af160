"""The changes of all clusters: one answer, one stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
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
from warren.httpserver import gojson
from warren.httpserver.access import Role
from warren.httpserver.app import App
from warren.httpserver.reply import Stream
from warren.httpserver.router import Request
from warren.httpserver.v4 import shapes, stream
from warren.httpserver.v4.feed import Feed
from warren.httpserver.v4.stream import ChangePages
from warren.httpserver.v4.streams import Places

EVENTS = ((b"accept", b"text/event-stream"),)


@pytest.fixture
def answers() -> MemoryAnswers:
    first = replace(usual_snapshot(), number=7, taken_at_ms=1000)
    return MemoryAnswers(
        names=["local", "b:c,d", "silent"], snapshots={"local": first, "b:c,d": replace(first, name="b:c,d")}
    )


def app(answers: MemoryAnswers) -> App:
    return App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")


def changes(app: App, query: str = "") -> list[dict[str, Any]]:
    answered = ask(app, f"/v4/changes{query}")
    assert answered.status == 200, answered.body
    msgspec.json.decode(answered.body, type=shapes.AllChanges)
    found: list[dict[str, Any]] = json.loads(answered.body)["clusters"]
    return found


def worse(snapshot: MemorySnapshot, group: str, number: int, *, lag: int = 0) -> MemorySnapshot:
    """The next snapshot: the group has another status, or with `lag` only another lag."""
    found = snapshot.statuses[group]
    status = found.status if lag else Status.OK if found.status == Status.ERR else Status.ERR
    other = msgspec.structs.replace(found, status=status, totallag=found.totallag + lag)
    return replace(
        snapshot, number=number, taken_at_ms=number * 1000, statuses={**snapshot.statuses, group: other}
    )


def test_all_clusters_in_one_answer_the_same_as_their_own(answers: MemoryAnswers) -> None:
    server = app(answers)
    found = changes(server)
    # the one without a snapshot is left out
    assert [each["cluster"] for each in found] == ["b:c,d", "local"]
    own = json.loads(ask(server, "/v4/clusters/local/changes").body)["groups"]
    columns = found[1]["groups"]
    for name in ("group", "status", "partition_count", "totallag", "maxlag"):
        assert columns[name] == [line[name] for line in own]
    assert columns["last_commit"] == [line["last_commit"] or 0 for line in own]


def test_only_what_changed_since_the_cursors(answers: MemoryAnswers) -> None:
    server = app(answers)
    odd, local = (each["snapshot"]["cursor"] for each in changes(server))
    answers.snapshots["local"] = worse(usual_snapshot(), "stuck", 8)
    one, other = changes(server, f"?since=b%253Ac%252Cd:{odd},local:{local}")
    assert (one["complete"], one["groups"]["group"], one["removed"]) == (False, [], [])
    assert (other["complete"], other["groups"]["group"]) == (False, ["stuck"])
    assert other["snapshot"]["cursor"] == "8"
    # a cluster that is not named, and a cursor of another server: everything
    assert all(each["complete"] for each in changes(server, "?since=local:99,nosuch:1"))


@pytest.mark.parametrize("query", ["?since=local", "?since=:7", "?since=local:x", "?since=local:1,", "?x=1"])
def test_a_wrong_parameter_is_refused(answers: MemoryAnswers, query: str) -> None:
    assert ask(app(answers), f"/v4/changes{query}").status == 400


def follow(pages: ChangePages, query: bytes = b"") -> AsyncIterator[bytes]:
    found = pages.changes(Request("GET", "/v4/changes", headers=EVENTS, query=query))
    assert isinstance(found, Stream)
    return found.pieces


async def event(pieces: AsyncIterator[bytes]) -> dict[str, Any]:
    while True:
        piece = await asyncio.wait_for(anext(pieces), 5)
        if piece.startswith(b"event: changes\ndata: "):
            data: dict[str, Any] = json.loads(piece.partition(b"data: ")[2])
            return data


def test_statuses_come_at_once_and_lags_after_a_pause(
    answers: MemoryAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.names = ["local"]
    first = usual_snapshot()
    # every group takes long: the pause is the longest
    monkeypatch.setattr(stream, "_GROUPS_PER_SECOND", 0.001)
    monkeypatch.setattr(stream, "_LONGEST_PAUSE_S", 2.0)

    async def script() -> None:
        feed = Feed(answers)
        pieces = follow(ChangePages(answers, feed, Places()))
        watching = asyncio.ensure_future(feed.watch())
        loop = asyncio.get_running_loop()
        begun = await event(pieces)
        assert begun["complete"]
        began = loop.time()
        second = worse(replace(first, number=7), "stuck", 8, lag=5)
        answers.snapshots["local"] = second
        lagging = asyncio.ensure_future(event(pieces))
        await asyncio.sleep(0.15)
        assert not lagging.done()
        answers.snapshots["local"] = worse(second, "healthy", 9)
        found = await lagging
        assert loop.time() - began < 1.9
        assert found["groups"]["group"] == ["healthy"]
        # whoever comes back with this cursor gets the lag as well
        assert found["snapshot"]["cursor"] == begun["snapshot"]["cursor"]
        found = await event(pieces)
        assert loop.time() - began >= 1.9
        assert found["groups"]["group"] == ["healthy", "stuck"]
        assert found["snapshot"]["cursor"] == "9"
        feed.close()
        watching.cancel()

    asyncio.run(script())


def test_a_hundred_open_pages_are_one_encoding(
    answers: MemoryAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def encode(value: object) -> bytes:
        made.append(value)
        return plain(value)

    plain = gojson.encode
    monkeypatch.setattr(gojson, "encode", encode)

    async def script() -> None:
        feed = Feed(answers)
        pages = ChangePages(answers, feed, Places())
        streams = [follow(pages) for _ in range(100)]
        for each in streams:
            await event(each)
            await event(each)
        feed.close()

    asyncio.run(script())
    assert len(made) == 2


def test_a_client_learns_what_it_may_do(answers: MemoryAnswers) -> None:
    for role, admin in ((Role.READ, False), (Role.ADMIN, True)):
        found = json.loads(ask(app(answers), "/v4/session", role=role).body)
        assert found["admin"] is admin
