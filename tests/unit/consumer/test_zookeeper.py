"""The poller of ZooKeeper, as far as no server is needed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from kazoo.exceptions import NoAuthError
from kazoo.handlers.threading import SequentialThreadingHandler
from tests.processes import eventually

from warren.common.group_filter import GroupFilter
from warren.consumer import zookeeper
from warren.consumer.polling import Poll
from warren.consumer.znodes import Kind
from warren.consumer.zookeeper import ZooKeeperPoller, ZooKeeperSettings

SETTINGS = ZooKeeperSettings(
    "zk", "kafka_zk", "127.0.0.1:1", "", 2, 1000, {}, GroupFilter((), ()), intervals=10, min_distance_ms=0
)


def test_a_connection_that_could_not_be_set_up_ended_the_polling_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def no_descriptor(_: object) -> None:
        tried.append("")
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(SequentialThreadingHandler, "create_socket_pair", no_descriptor)
    monkeypatch.setattr(zookeeper, "AGAIN_S", (0.01,))
    poller = ZooKeeperPoller(SETTINGS)
    try:
        assert eventually(lambda: len(tried) > 1, 10)
        assert "Too many open files" in poller.poll().error
    finally:
        poller.stop()


class Answer:
    """Implements what is used of kazoo's results."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self, timeout: float | None = None) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


class Stat:
    mtime = 1000


class Nodes:
    """Implements what is used of `Session`: nodes that the test changes."""

    def __init__(self, *_: object) -> None:
        # path: names of the children, or the value
        self.there: dict[str, Any] = {"/consumers": []}
        self.changed: list[str] = []

    def put(self, path: str, value: Any) -> None:
        self.there[path] = value
        self.changed.append(path)

    def commit(self, group: str, folder: str, value: bytes) -> None:
        place = f"/consumers/{group}/{folder}/orders"
        self.put(f"{place}/0", (value, Stat))
        self.put(place, ["0"])
        self.put(f"/consumers/{group}/{folder}", ["orders"])
        self.put(f"/consumers/{group}", [*self.there.get(f"/consumers/{group}", []), folder])
        self.put("/consumers", [*self.there["/consumers"], group])

    def ask(self, path: str, kind: Kind) -> Answer:
        return Answer(self.there[path])

    def events(self, base: str) -> list[str]:
        events, self.changed = self.changed, []
        return events

    def wait(self, seconds: float, stopping: threading.Event) -> None: ...


class Rounds:
    """A poller whose rounds the test begins, a second apart."""

    def __init__(self, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 1_000_000
        monkeypatch.setattr(zookeeper, "now_ms", lambda: self.now_ms)
        monkeypatch.setattr(ZooKeeperPoller, "_run", lambda _: None)
        self._poller = ZooKeeperPoller(SETTINGS)
        self._nodes = nodes
        self.connect()

    def connect(self) -> None:
        self._rounds = self._poller._rounds(self._nodes)  # type: ignore[arg-type]

    def look(self) -> Poll:
        self.now_ms += 1000
        next(self._rounds)
        return self._poller.poll()


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


@pytest.fixture
def rounds(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> Rounds:
    return Rounds(nodes, monkeypatch)


@pytest.mark.parametrize(
    "refused",
    ["/consumers/b", "/consumers/b/offsets", "/consumers/b/offsets/orders", "/consumers/b/offsets/orders/0"],
)
def test_a_group_that_might_not_be_read_any_more_was_judged_as_if_it_had_stopped(
    nodes: Nodes, rounds: Rounds, refused: str
) -> None:
    nodes.commit("a", "offsets", b"1")
    nodes.commit("b", "offsets", b"1")
    assert rounds.look().unanswered == {}
    last_ms = rounds.look().as_of_ms
    before = nodes.there[refused]
    nodes.put(refused, NoAuthError())
    for _ in range(3):
        poll = rounds.look()
        assert (poll.as_of_ms, poll.silent) == (rounds.now_ms, False)
        # judged as of the last round that could read it
        assert poll.unanswered == {"b": last_ms}
    # the connection is lost, and the right is given back
    rounds.connect()
    nodes.there[refused] = before
    assert rounds.look().unanswered == {}


def test_a_group_that_may_not_be_read_from_the_start_on(
    nodes: Nodes, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    # tried again in every round
    monkeypatch.setattr(zookeeper, "_REFUSED_AGAIN_S", -1.0)
    nodes.commit("b", "offsets", b"1")
    nodes.there["/consumers/b"] = NoAuthError()
    for _ in range(2):
        # it may have windows from before
        assert rounds.look().unanswered == {"b": 0}


def test_owners_that_may_not_be_read_hold_nothing_up(nodes: Nodes, rounds: Rounds) -> None:
    nodes.commit("b", "offsets", b"1")
    nodes.commit("b", "owners", b"it")
    nodes.there["/consumers/b/owners"] = NoAuthError()
    poll = rounds.look()
    assert poll.unanswered == {}
    assert "/consumers/b/owners" in poll.error
