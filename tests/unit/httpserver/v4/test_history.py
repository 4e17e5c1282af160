"""The pages of the last hours, and what a restart leaves of them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
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
from warren.httpserver.v4 import history, recent_file, shapes

NOON = 1_794_830_400_000
SLASHED = "a/b [x] <y>"


def snapshot(at_ms: int, **changes: tuple[Status, int]) -> MemorySnapshot:
    usual = usual_snapshot()
    statuses = {
        "stuck": msgspec.structs.replace(
            usual.statuses["stuck"], status=Status.ERR, totallag=at_ms % 1_000_000 // 1000
        ),
        SLASHED: msgspec.structs.replace(
            usual.statuses["stuck"], group=SLASHED, status=Status.OK, totallag=0
        ),
    }
    for name, (status, lag) in changes.items():
        statuses[name] = msgspec.structs.replace(
            usual.statuses["stuck"], group=name, status=status, totallag=lag
        )
    return replace(usual, statuses=statuses, details={}, as_of_ms=at_ms)


class Told:
    """An app that has seen two minutes of samples, and whose clock stands."""

    def __init__(self, path: Path | None = None) -> None:
        self.answers = MemoryAnswers(names=["local", "silent"], snapshots={"local": snapshot(NOON)})
        self.app = App(
            Settings(), self.answers, MemoryLogLevel(), CollectorRegistry(), host="here", recent=path
        )
        self.app.history._now_ms = lambda: NOON + 125_000

    def see(self, *seconds: int, **changes: tuple[Status, int]) -> None:
        for each in seconds:
            self.app.history.take("local", snapshot(NOON + each * 1000, **changes))

    def got(self, path: str, status: int = 200) -> Any:
        answered = ask(self.app, path)
        assert answered.status == status, answered.body
        return json.loads(answered.body)


@pytest.fixture
def told() -> Told:
    made = Told()
    made.see(*range(0, 125, 5))
    return made


def test_one_group(told: Told) -> None:
    page = told.got("/v4/clusters/local/groups/stuck/history?since=1h")
    assert page["since"] == NOON + 125_000 - 3_600_000
    assert page["until"] == NOON + 125_000
    assert page["times"] == [NOON + each * 1000 for each in range(0, 125, 10)]
    assert page["totallag"] == [each + 400 for each in range(0, 125, 10)]
    assert page["status"] == ["ERR"] * 13
    assert page["complete"] == [1] * 13
    stepped = told.got("/v4/clusters/local/groups/stuck/history?since=1h&step=60s")
    assert stepped["times"] == [NOON, NOON + 60_000, NOON + 120_000]
    assert stepped["totallag"] == [450, 510, 520]
    assert told.got("/v4/clusters/local/groups/stuck/history?since=30s")["totallag"] == [500, 510, 520]


def test_all_groups(told: Told) -> None:
    told.see(130, new=(Status.WARN, 7))
    page = told.got("/v4/clusters/local/history?since=4m&step=60s")
    assert page["times"] == [NOON + each * 60_000 for each in (-1, 0, 1, 2)]
    assert page["groups"] == [
        {"group": SLASHED, "worst": "OK", "totallag": [None, 0, 0, 0]},
        {"group": "new", "worst": "WARN", "totallag": [None, None, None, 7]},
        {"group": "stuck", "worst": "ERR", "totallag": [None, 450, 510, 530]},
    ]
    assert page["total"] == 3
    paged = told.got("/v4/clusters/local/history?name=*u*&limit=1&offset=0")
    assert [each["group"] for each in paged["groups"]] == ["stuck"]
    assert len(paged["times"]) == 60


def test_the_answer_is_made_once_until_the_next_sample(told: Told) -> None:
    path = "/v4/clusters/local/history?since=4m"
    first = told.got(path)
    held = told.app.history._last["local"][1]
    assert told.got(path) == first
    assert told.app.history._last["local"][1] is held
    told.see(130)
    assert told.got(path)["groups"][-1]["totallag"][-1] == 530


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v4/clusters/local/groups/stuck/history", shapes.GroupHistory),
        ("/v4/clusters/local/groups/a%2Fb%20[x]%20%3Cy%3E/history", shapes.GroupHistory),
        ("/v4/clusters/LOCAL/history", shapes.ClusterHistory),
        ("/v4/clusters/silent/history", shapes.ClusterHistory),
    ],
)
def test_the_answer_has_its_type(told: Told, path: str, shape: Any) -> None:
    body = ask(told.app, path).body
    decoded = msgspec.json.decode(body, type=shape)
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(body)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("since=", "since: must be a duration like 90s, 15m or 1h, from 10s to 24h"),
        ("since=1d", "since: must be a duration"),
        ("since=25h", "since: must be a duration"),
        ("since=-1h", "since: must be a duration"),
        ("since=5s", "since: must be a duration"),
        ("step=1s", "step: must be a duration like 90s, 15m or 1h, from 10s to 1h"),
        ("until=1h", "unknown parameter until"),
        ("since=1h&since=2h", "since is given twice"),
    ],
)
def test_wrong_values_are_refused(told: Told, query: str, sentence: str) -> None:
    for page in ("history", "groups/stuck/history"):
        assert told.got(f"/v4/clusters/local/{page}?{query}", 400)["message"].startswith(sentence)


def test_an_answer_is_not_larger_than_a_server_should_make(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_NUMBERS", 100)
    page = told.got("/v4/clusters/local/history?since=10m&step=10s")
    assert (page["total"], len(page["groups"]), len(page["times"])) == (2, 1, 60)


def test_names_that_are_not_there(told: Told) -> None:
    assert told.got("/v4/clusters/nosuch/history", 404)["message"] == "cluster not found"
    assert (
        told.got("/v4/clusters/local/groups/nobody/history", 404)["message"]
        == "cluster or consumer not found"
    )
    # deleted, but the history has it
    told.answers.snapshots["local"] = snapshot(NOON).without("stuck")
    assert told.got("/v4/clusters/local/groups/stuck/history")["totallag"]


def test_a_restart_does_not_empty_the_charts(tmp_path: Path) -> None:
    path = tmp_path / "recent.samples"
    before = Told(path)
    before.see(*range(0, 120, 10))
    before.see(120, new=(Status.OK, 1))
    before.app.history.store()
    after = Told(path)
    asyncio.run(after.app.history.load())
    for page in ("groups/stuck/history", "groups/new/history", "history"):
        assert after.got(f"/v4/clusters/local/{page}") == before.got(f"/v4/clusters/local/{page}")


@pytest.mark.parametrize("content", [b"", b"no such file", b"\x28\xb5\x2f\xfd" + bytes(20)])
def test_a_file_that_cannot_be_read_leaves_charts_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "recent.samples"
    path.write_bytes(content)
    assert recent_file.read(path) == {}
    assert recent_file.read(tmp_path / "missing") == {}


def test_nothing_is_stored_where_there_is_no_directory(tmp_path: Path) -> None:
    made = Told(tmp_path / "nowhere" / "recent.samples")
    made.see(0)
    made.app.history.store()
    assert not list(tmp_path.iterdir())
