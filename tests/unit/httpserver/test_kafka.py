"""What Warren does better than Burrow on the same pages, and what keeping rendered ones must not cost."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import Answered, ask, requested
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemorySnapshot, group_status

from warren.common.status import Status
from warren.config import Settings
from warren.httpserver import kafka
from warren.httpserver.app import App
from warren.httpserver.groups import GroupShape, group_shape
from warren.snapshot.model import Entry, GroupStatus, PartitionDetail, PartitionStatus, TopicPartitionHead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def partition(topic: str, number: int, lag: int, status: Status = Status.OK) -> PartitionStatus:
    entry = Entry(5, 1_000, 2_000, None)
    return PartitionStatus(topic, number, "/host", "client", status, entry, entry, lag, 1.0, None, None)


def snapshot_with(*groups: str, cluster: str = "local", lag: int = 3) -> MemorySnapshot:
    window = PartitionDetail((Entry(5, 1_000, 2_000, None),), "/host", "client", lag, (None,))
    return MemorySnapshot(
        name=cluster,
        statuses={group: group_status(cluster, group, partition("t/x", 0, lag)) for group in groups},
        details={group: {"t/x": (window,)} for group in groups},
        heads={"t/x": (TopicPartitionHead(8, 0), TopicPartitionHead(None, None))},
    )


@pytest.fixture
def answers() -> MemoryAnswers:
    return MemoryAnswers(snapshots={"local": snapshot_with("plain", "a/b", "grøup", "100%25", "Ünder %41")})


@pytest.fixture
def app(answers: MemoryAnswers) -> App:
    return App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")


@pytest.fixture
def get(app: App) -> Callable[[str], tuple[int, Any]]:
    def get(path: str) -> tuple[int, Any]:
        answered = ask(app, path)
        return answered.status, json.loads(answered.body)

    return get


@pytest.mark.parametrize("group", ["plain", "a/b", "grøup", "100%25", "Ünder %41"])
@pytest.mark.parametrize("times", [1, 2], ids=["escaped once", "escaped twice, as Telegraf does"])
@pytest.mark.parametrize("page", ["", "/status", "/lag"])
def test_a_group_is_found_however_its_name_is_escaped(
    get: Callable[[str], tuple[int, Any]], group: str, times: int, page: str
) -> None:
    escaped = group
    for _ in range(times):
        escaped = quote(escaped, safe="")
    status, body = get(f"/v3/kafka/local/consumer/{escaped}{page}")
    assert status == 200
    if page:
        assert body["status"]["group"] == group
    else:
        assert list(body["topics"]) == ["t/x"]


@pytest.mark.parametrize("topic", ["t%2Fx", "t%252Fx"])
def test_a_topic_is_found_however_its_name_is_escaped(
    get: Callable[[str], tuple[int, Any]], topic: str
) -> None:
    assert get(f"/v3/kafka/local/topic/{topic}") == (
        200,
        {
            "error": False,
            "message": "topic offsets returned",
            # the head of the second is not known yet: its place is kept
            "offsets": [8, 0],
            "request": {
                "url": f"/v3/kafka/local/topic/{topic.replace('%2F', '/').replace('%25', '%')}",
                "host": "here",
            },
        },
    )
    status, body = get(f"/v3/kafka/local/topic/{topic}/consumers")
    assert status == 200
    assert body["consumers"] == ["100%25", "a/b", "grøup", "plain", "Ünder %41"]


@dataclass(frozen=True)
class Lookup:
    """Which cluster is meant."""

    requested: str
    known: tuple[str, ...]
    found: str | None


LOOKUPS = [
    Lookup("East", ("East", "west"), "East"),
    Lookup("east", ("East", "west"), "East"),
    Lookup("WEST", ("East", "west"), "west"),
    Lookup("east", ("East", "EAST"), None),
    Lookup("EAST", ("East", "EAST"), "EAST"),
    Lookup("a%2Fb", ("a/b",), "a/b"),
    Lookup("a%252Fb", ("a/b",), "a/b"),
    Lookup("nosuch", ("East",), None),
]


@pytest.mark.parametrize("case", LOOKUPS, ids=lambda case: f"{case.requested} of {'+'.join(case.known)}")
def test_which_cluster_is_meant(app: App, answers: MemoryAnswers, case: Lookup) -> None:
    answers.names = list(case.known)
    answers.snapshots = {name: snapshot_with("g", cluster=name) for name in case.known}
    answered = ask(app, f"/v3/kafka/{case.requested}/consumer/g/lag")
    if case.found is None:
        assert answered.status == 404
    else:
        assert answered.status == 200
        assert json.loads(answered.body)["status"]["cluster"] == case.found


def test_a_lag_that_was_not_known_is_null(get: Callable[[str], tuple[int, Any]]) -> None:
    _, body = get("/v3/kafka/local/consumer/plain")
    assert body["topics"]["t/x"][0]["offsets"] == [
        {"offset": 5, "timestamp": 1_000, "observedAt": 2_000, "lag": None}
    ]


@pytest.mark.parametrize(
    ("path", "deleted"),
    [
        ("plain", ("local", "plain")),
        ("a%2Fb", ("local", "a/b")),
        ("a%252Fb", ("local", "a/b")),
        ("nosuch%25", ("local", "nosuch%")),
        ("a%2Fb/topic/t%2Fx", ("local", "a/b", "t/x")),
        ("a%252Fb/topic/t%252Fx", ("local", "a/b", "t/x")),
        ("a%2Fb/topic/other%2F", ("local", "a/b", "other/")),
    ],
)
def test_what_is_deleted(app: App, answers: MemoryAnswers, path: str, deleted: tuple[str, ...]) -> None:
    assert ask(app, f"/v3/kafka/LOCAL/consumer/{path}", method="DELETE").status == 200
    assert answers.deleted == [deleted]


def test_all_readers_stood_still_while_a_delete_waited_for_a_snapshot_to_be_made(
    app: App, answers: MemoryAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = threading.Event()
    monkeypatch.setattr(answers, "delete_group", lambda *_: made.wait(30))

    async def meanwhile() -> Answered:
        deleting = asyncio.ensure_future(requested(app, "/v3/kafka/local/consumer/plain", method="DELETE"))
        await asyncio.sleep(0)
        read = await asyncio.wait_for(requested(app, "/v3/kafka/local/consumer/plain/lag"), 10)
        assert not deleting.done()
        made.set()
        assert (await deleting).status == 200
        return read

    assert asyncio.run(meanwhile()).status == 200


def test_a_page_is_rendered_once_per_snapshot(
    app: App, answers: MemoryAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[GroupStatus] = []

    def counting(group: GroupStatus, partitions: Iterable[PartitionStatus]) -> GroupShape:
        rendered.append(group)
        return group_shape(group, partitions)

    monkeypatch.setattr(kafka, "group_shape", counting)

    def lag() -> int:
        body = json.loads(ask(app, "/v3/kafka/local/consumer/plain/lag").body)
        total: int = body["status"]["totallag"]
        return total

    assert [lag(), lag(), len(rendered)] == [3, 3, 1]
    answers.snapshots["local"] = snapshot_with("plain", lag=44)
    assert [lag(), lag(), len(rendered)] == [44, 44, 2]
    answers.snapshots["local"] = snapshot_with()
    assert ask(app, "/v3/kafka/local/consumer/plain/lag").status == 404


def test_pages_with_the_same_unescaped_path_are_kept_apart(app: App, answers: MemoryAnswers) -> None:
    answers.snapshots["local"] = snapshot_with("a", "a/lag")
    verdict = json.loads(ask(app, "/v3/kafka/local/consumer/a/lag").body)
    detail = json.loads(ask(app, "/v3/kafka/local/consumer/a%2Flag").body)
    assert verdict["request"] == detail["request"]
    assert ("status" in verdict, "topics" in detail) == (True, True)


def test_kept_pages_take_bounded_room(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "PAGES_BYTES", 1_000)
    pages = [ask(app, f"/v3/kafka/local/consumer/nosuch-{number}/lag").status for number in range(50)]
    assert set(pages) == {404}
    assert ask(app, "/v3/kafka/local/consumer/plain/lag").status == 200


@pytest.mark.parametrize(
    "page",
    [
        "consumer",
        "topic",
        "topic/t",
        "topic/t/consumers",
        "consumer/g",
        "consumer/g/status",
        "consumer/g/lag",
    ],
)
def test_a_cluster_without_a_snapshot_looked_like_one_without_groups(
    get: Callable[[str], tuple[int, Any]], answers: MemoryAnswers, page: str
) -> None:
    answers.snapshots.clear()
    status, body = get(f"/v3/kafka/local/{page}")
    assert status == 503
    assert body == {
        "error": True,
        "message": "there is no snapshot of the cluster yet, see /v4/health",
        "request": {"url": f"/v3/kafka/local/{page}", "host": "here"},
    }
    # who asks for a cluster that is not configured is told so
    assert get(f"/v3/kafka/nosuch/{page}")[0] == 404


def test_status_shows_what_is_wrong_and_lag_everything(app: App, answers: MemoryAnswers) -> None:
    parts = [
        partition("t", number, 1, status) for number, status in enumerate(Status) if status not in {0, 3}
    ]
    answers.snapshots["local"] = MemorySnapshot(statuses={"g": group_status("local", "g", *parts)})

    def shown(page: str) -> list[str]:
        body = json.loads(ask(app, f"/v3/kafka/local/consumer/g/{page}").body)
        return [part["status"] for part in body["status"]["partitions"]]

    assert shown("status") == ["WARN", "STOP", "STALL", "REWIND"]
    assert shown("lag") == ["OK", "WARN", "STOP", "STALL", "REWIND"]


def test_a_fault_in_a_page_is_an_answer_too(answers: MemoryAnswers, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object, group: str) -> None:
        raise ZeroDivisionError(group)

    monkeypatch.setattr(MemorySnapshot, "group", fail)
    app = App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")
    answered = ask(app, "/v3/kafka/local/consumer/plain/lag")
    assert answered.status == 500
    assert json.loads(answered.body)["error"] is True
    assert b"plain" not in answered.body.replace(b"/plain/", b"")


def test_all_groups_of_a_real_burrow_are_listed_in_order(app: App, answers: MemoryAnswers) -> None:
    answers.snapshots["local"] = usual_snapshot()
    consumers = json.loads(ask(app, "/v3/kafka/local/consumer").body)["consumers"]
    assert len(consumers) > 10
    assert consumers == sorted(consumers)
