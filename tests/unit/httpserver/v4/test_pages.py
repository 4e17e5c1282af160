"""The pages of /v4 over a real Burrow's groups."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemoryProgress, MemorySnapshot

from warren.common.status import Status
from warren.config import Settings
from warren.httpserver.app import App
from warren.httpserver.v4 import shapes
from warren.snapshot.model import TopicPartitionHead

UNICODE = "pay.ments-grøup"


@pytest.fixture
def answers() -> MemoryAnswers:
    usual = usual_snapshot()
    # pages about groups that only some captures know of are left out
    shown = {name: detail for name, detail in usual.details.items() if name in usual.statuses}
    return MemoryAnswers(
        names=["local", "silent"],
        snapshots={"local": replace(usual, details=shown, number=7, taken_at_ms=1_700_000_000_000)},
    )


@pytest.fixture
def app(answers: MemoryAnswers) -> App:
    return App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")


def got(app: App, path: str, status: int = 200) -> Any:
    answered = ask(app, path)
    assert answered.status == status, answered.body
    return json.loads(answered.body)


def groups(app: App, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = got(app, f"/v4/clusters/local/groups{query}")["groups"]
    return found


PAGES = {
    "/v4/health": shapes.Health,
    "/v4/clusters/local/groups": shapes.Groups,
    "/v4/clusters/local/groups/stuck": shapes.GroupDetail,
    "/v4/clusters/local/groups/two-topics": shapes.GroupDetail,
    "/v4/clusters/local/groups/two-topics/topics/orders": shapes.GroupTopic,
    "/v4/clusters/local/changes": shapes.Changes,
    "/v4/clusters/local/changes?since=7": shapes.Changes,
    "/v4/clusters/nosuch/groups": shapes.Error,
    "/v4/clusters/silent/groups": shapes.Error,
    "/v4/clusters/local/groups?sort=up": shapes.Error,
}


@pytest.mark.parametrize("path", PAGES)
def test_the_answer_has_its_type(app: App, path: str) -> None:
    """Field for field: nothing missing, nothing more."""
    answered = ask(app, path)
    decoded = msgspec.json.decode(answered.body, type=PAGES[path])
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(answered.body)
    assert answered.headers["content-type"] == "application/json"


def test_all_groups_in_one_call(app: App, answers: MemoryAnswers) -> None:
    page = got(app, "/v4/clusters/local/groups")
    usual = usual_snapshot()
    assert page["total"] == len(page["groups"]) == len(usual.statuses)
    assert page["snapshot"] == {"number": 7, "taken_at": 1_700_000_000_000, "as_of": 0, "cursor": "7"}
    for line in page["groups"]:
        status = usual.statuses[line["group"]]
        assert line["status"] == status.status.name
        assert line["totallag"] == status.totallag
        assert line["complete"] == round(status.complete, 6)
        assert line["partition_count"] == status.partition_count


def test_worst_first(app: App) -> None:
    rank = {"OK": 1, "WARN": 2, "ERR": 3}
    found = [(-rank[line["status"]], -line["totallag"]) for line in groups(app)]
    assert found == sorted(found)
    assert len({first for first, _ in found}) > 1


@pytest.mark.parametrize(
    "name", ["group", "status", "complete", "partition_count", "totallag", "maxlag", "last_commit"]
)
def test_sorted_by(app: App, name: str) -> None:
    rank: dict[Any, Any] = {"OK": 1, "WARN": 2, "ERR": 3, None: 0}

    def keys(query: str) -> list[Any]:
        return [rank.get(line[name], line[name]) for line in groups(app, query)]

    up, down = keys(f"?sort={name}"), keys(f"?sort=-{name}")
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert up != down


def test_pages_put_together_are_the_whole(app: App) -> None:
    whole = groups(app, "?sort=totallag")
    pages = [
        got(app, f"/v4/clusters/local/groups?sort=totallag&limit=4&offset={at}") for at in range(0, 100, 4)
    ]
    assert [line for page in pages for line in page["groups"]] == whole
    assert {page["total"] for page in pages} == {len(whole)}
    assert len(pages[0]["groups"]) == 4


FILTERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "?status=ERR": lambda line: line["status"] == "ERR",
    "?status=WARN,ERR": lambda line: line["status"] != "OK",
    "?name=s*": lambda line: line["group"].startswith("s"),
    "?name=s*&status=OK": lambda line: line["group"].startswith("s") and line["status"] == "OK",
    "?name=dea?": lambda line: line["group"] == "dead",
    "?name=[dy]*": lambda line: line["group"][0] in "dy",
    "?name=DEAD": lambda line: False,
    "?name=*gr%C3%B8up": lambda line: line["group"] == UNICODE,
    "?topic=nosuch": lambda line: False,
}


@pytest.mark.parametrize("query", FILTERS)
def test_filtered(app: App, query: str) -> None:
    expected = [line for line in groups(app) if FILTERS[query](line)]
    assert groups(app, query) == expected
    assert expected != groups(app)


def test_filtered_by_topic(app: App) -> None:
    usual = usual_snapshot()
    readers = {
        name
        for name, group in usual.statuses.items()
        if any(part.topic == "clicks.raw" for part in group.partitions)
    }
    assert {line["group"] for line in groups(app, "?topic=clicks.raw")} == readers
    assert 0 < len(readers) < len(usual.statuses)


WRONG = {
    "?status=": "status: no status ",
    "?status=STOP": "status: no status STOP; there are: OK, WARN, ERR",
    "?status=ok": "status: no status ok",
    "?sort=lag": "sort: must be one of group, -group",
    "?limit=0": "limit: must be a number from 1 to 100000",
    "?limit=1e3": "limit: must be a number",
    "?limit=%D9%A3": "limit: must be a number",
    "?offset=-1": "offset: must be a number from 0",
    "?offset=99999999999999999999": "offset: must be a number",
    "?name=": "name: must have 1 to 256 characters",
    "?name=" + "a" * 257: "name: must have 1 to 256 characters",
    "?stauts=OK": "unknown parameter stauts; there are: status, name, topic, sort, offset, limit",
    "?limit=1&limit=2": "limit is given twice",
    "?name=%ff": "the query is not UTF-8",
    "?" + "&".join("a=1" for _ in range(30)): "the query has too many parameters",
}


@pytest.mark.parametrize("query", WRONG)
def test_a_wrong_parameter_is_named(app: App, query: str) -> None:
    body = got(app, f"/v4/clusters/local/groups{query}", 400)
    assert body["error"] is True
    assert body["result"] == {}
    assert body["message"].startswith(WRONG[query])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v4/clusters/nosuch/groups", 404),
        ("/v4/clusters/nosuch/changes", 404),
        ("/v4/clusters/local/groups/nosuch", 404),
        ("/v4/clusters/local/groups/nosuch/topics/orders", 404),
        ("/v4/clusters/local/groups/stuck/topics/nosuch", 404),
        ("/v4/clusters/silent/groups", 503),
        ("/v4/clusters/silent/changes", 503),
        ("/v4/health?all=1", 400),
        ("/v4/clusters/local/changes?since=now", 400),
        ("/v4/clusters/local/changes?since=-1", 400),
        ("/v4/clusters/local/changes?wait=61", 400),
        ("/v4/clusters/local/changes?only=lag", 400),
    ],
)
def test_refusals(app: App, path: str, status: int) -> None:
    body = got(app, path, status)
    assert (body["error"], body["result"]) == (True, {})


def test_one_group_with_heads_and_tails(answers: MemoryAnswers, app: App) -> None:
    snapshot = answers.snapshots["local"]
    assert isinstance(snapshot, MemorySnapshot)
    group = snapshot.statuses["stuck"]
    parts = tuple(
        replace_part(part, head=part.partition * 100 + 7, tail=part.partition) for part in group.partitions
    )
    changed = {**snapshot.statuses, "stuck": msgspec.structs.replace(group, partitions=parts)}
    answers.snapshots["local"] = replace(snapshot, statuses=changed)
    page = got(app, "/v4/clusters/local/groups/stuck")
    assert page["summary"] == next(line for line in groups(app) if line["group"] == "stuck")
    for shown, part in zip(page["partitions"], parts, strict=True):
        assert (shown["head"], shown["tail"]) == (part.head, part.tail)
        assert shown["status"] == part.status.name
        assert part.end is not None
        assert shown["end"]["observedAt"] == part.end.observed_at
    bad = got(app, "/v4/clusters/local/groups/stuck?status=STOP,STALL,REWIND,WARN")["partitions"]
    assert bad == [part for part in page["partitions"] if part["status"] != "OK"]


def test_partitions_that_are_not_ok_say_why(app: App) -> None:
    partitions = got(app, "/v4/clusters/local/groups/stuck")["partitions"]
    topics = {part["topic"] for part in partitions}
    of_topics = [
        part
        for topic in sorted(topics)
        for part in got(app, f"/v4/clusters/local/groups/stuck/topics/{topic}")["partitions"]
    ]
    for shown in (partitions, of_topics):
        assert "OK" not in {part["status"] for part in shown}
        for part in shown:
            why = ("stopped", f"{part['topic']}/{part['partition']} is silent.")
            assert (part["rule"], part["because"]) == why
    for part in got(app, "/v4/clusters/local/groups/healthy")["partitions"]:
        assert (part["rule"], part["because"]) == (None, None)


def test_windows_come_worst_first_with_what_decided_and_what_would_change_it(app: App) -> None:
    page = got(app, "/v4/clusters/local/groups/stuck/windows")
    shown = page["partitions"]
    order = [(part["status"], part["current_lag"]) for part in shown]
    assert order == sorted(order, key=lambda each: (Status[each[0]], each[1]), reverse=True)
    assert (page["total"], page["offset"]) == (len(shown), 0)
    of_group = got(app, "/v4/clusters/local/groups/stuck")["partitions"]
    assert len(shown) == len(of_group)
    for part in shown:
        assert part["would_change"] == "One commit."
        assert part["decided_by"] == [0]
        assert part["window"][0]["offset"] == part["start"]["offset"]
        assert part["window"][-1]["offset"] == part["end"]["offset"]
        del part["window"]
    assert sorted(shown, key=_where) == sorted(of_group, key=_where)


def test_windows_of_partitions_that_are_ok_are_explained_too(app: App) -> None:
    for part in got(app, "/v4/clusters/local/groups/healthy/windows")["partitions"]:
        assert (part["status"], part["rule"]) == ("OK", "stopped")


def test_windows_come_in_pages_and_by_status(app: App) -> None:
    whole = got(app, "/v4/clusters/local/groups/stuck/windows")
    second = got(app, "/v4/clusters/local/groups/stuck/windows?offset=1&limit=1")
    assert second["partitions"] == whole["partitions"][1:2]
    assert second["total"] == whole["total"]
    assert got(app, "/v4/clusters/local/groups/stuck/windows?status=OK")["partitions"] == []


def _where(part: dict[str, Any]) -> tuple[str, int]:
    return part["topic"], part["partition"]


def replace_part(part: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(part, **changes)


@pytest.mark.parametrize(
    "escaped", ["pay.ments-gr%C3%B8up", "pay.ments-gr%25C3%25B8up"], ids=["once", "twice"]
)
def test_names_that_are_not_ascii(app: App, escaped: str) -> None:
    assert got(app, f"/v4/clusters/local/groups/{escaped}")["summary"]["group"] == UNICODE
    assert got(app, f"/v4/clusters/LOCAL/groups/{escaped}")["cluster"] == "local"


def test_one_topic_of_a_group_with_its_windows(app: App) -> None:
    detail = usual_snapshot().details["two-topics"]
    for topic, windows in detail.items():
        page = got(app, f"/v4/clusters/local/groups/two-topics/topics/{topic}")
        assert {part["topic"] for part in page["partitions"]} == {topic}
        assert page["totallag"] == sum(part["current_lag"] for part in page["partitions"])
        for shown, window in zip(page["partitions"], windows, strict=True):
            assert [entry["offset"] for entry in shown["window"]] == [e.offset for e in window.offsets if e]


def test_changes_after_a_page_begin_at_its_cursor(answers: MemoryAnswers, app: App) -> None:
    cursor = got(app, "/v4/clusters/local/groups")["snapshot"]["cursor"]
    nothing = got(app, f"/v4/clusters/local/changes?since={cursor}")
    assert (nothing["groups"], nothing["removed"], nothing["complete"]) == ([], [], False)
    snapshot = answers.snapshots["local"]
    assert isinstance(snapshot, MemorySnapshot)
    answers.snapshots["local"] = replace(snapshot.without("dead"), number=8)
    changes = got(app, f"/v4/clusters/local/changes?since={cursor}&wait=1&only=status")
    assert (changes["groups"], changes["removed"], changes["snapshot"]["cursor"]) == ([], ["dead"], "8")


def test_the_first_changes_are_all_groups(app: App) -> None:
    changes = got(app, "/v4/clusters/local/changes")
    assert changes["complete"]
    assert len(changes["groups"]) == len(usual_snapshot().statuses)


def test_health_says_how_far_the_catching_up_is(answers: MemoryAnswers) -> None:
    app = App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")
    answers.is_ready = False
    answers.queries = {
        "local": MemoryProgress(triggers=9, trigger_ms=120, records=50, seen_ms=1_700_000_000_000),
        "silent": MemoryProgress(
            running=False,
            caught_up=False,
            blind=True,
            records=250,
            left=750,
            rate=40,
            restarts=2,
            error="no brokers",
        ),
    }
    health = got(app, "/v4/health", 503)
    local, silent = health["clusters"]
    assert health["ready"] is False
    assert (local["ready"], silent["ready"]) == (True, False)
    assert (silent["read_share"], silent["left"], silent["records"]) == (0.25, 750, 250)
    assert (silent["records_per_second"], silent["restarts"], silent["error"]) == (40, 2, "no brokers")
    assert silent["snapshot"] is None
    assert [(each["blind"], each["seen_at"]) for each in (local, silent)] == [
        (False, 1_700_000_000_000),
        (True, 0),
    ]
    assert (local["triggers"], local["trigger_ms"], local["read_share"]) == (9, 120, 1)
    assert local["snapshot"]["number"] == 7
    assert local["snapshot"]["age_ms"] > 0
    assert sum(local["groups"].values()) == len(usual_snapshot().statuses)
    answers.is_ready = True
    assert got(app, "/v4/health")["ready"] is True


def test_head_of_the_changes_does_not_stream(app: App) -> None:
    answered = ask(app, "/v4/clusters/local/changes", method="HEAD", headers={"Accept": "text/event-stream"})
    assert answered.status == 200
    assert answered.headers["content-type"] == "application/json"


def test_an_empty_cluster(answers: MemoryAnswers, app: App) -> None:
    answers.snapshots["local"] = MemorySnapshot(heads={"t": (TopicPartitionHead(1, 0),)})
    assert groups(app) == []
    assert groups(app, "?sort=group&status=OK&topic=t") == []
