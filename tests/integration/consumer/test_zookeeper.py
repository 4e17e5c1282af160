"""Commits in a real ZooKeeper: found, followed, and found again after whatever happens to the ensemble."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import ACL, Id, Permissions, make_digest_acl
from tests.processes import eventually
from tests.zookeeper import ZooKeeperServer

from warren.common.group_filter import GroupFilter
from warren.common.owner import Holder
from warren.consumer import zookeeper
from warren.consumer.polling import Key, Owners, Poll
from warren.consumer.zookeeper import ZooKeeperPoller, ZooKeeperSettings

PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper, "ROUND_S", 0.1)
    monkeypatch.setattr(zookeeper, "AGAIN_S", (0.1,))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    users = {"warren": "secret"}
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"), users=users) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: ZooKeeperServer) -> Iterator[KazooClient]:
    client = server.client()
    yield client
    client.stop()
    client.close()


class Followed:
    """Everything that a poller has found so far."""

    def __init__(self, settings: ZooKeeperSettings) -> None:
        self.poller = ZooKeeperPoller(settings)
        # key: offset and time of its last commit
        self.commits: dict[Key, tuple[int, int]] = {}
        # key: all its offsets
        self.offsets: dict[Key, list[int]] = {}
        self.owners: dict[str, Owners] = {}
        self.skipped: dict[str, int] = {}
        self.denied = 0
        self.last = Poll()

    def look(self) -> Followed:
        self.last = poll = self.poller.poll()
        for commit in poll.commits:
            key = commit[:3]
            if commit.offset is None:
                del self.commits[key]
            else:
                self.commits[key] = commit.offset, commit.timestamp_ms
                self.offsets.setdefault(key, []).append(commit.offset)
        self.owners.update(poll.owners)
        for reason, count in poll.skipped.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + count
        self.denied += poll.denied
        return self

    def found(self) -> dict[Key, int]:
        return {key: offset for key, (offset, _) in self.look().commits.items()}

    def awaits(self, expected: Mapping[Key, int]) -> None:
        eventually(lambda: self.found() == expected, PATIENCE_S)
        assert self.found() == expected, self.last


@contextlib.contextmanager
def following(address: str, path: str = "", class_name: str = "kafka_zk", **more: Any) -> Iterator[Followed]:
    given: dict[str, Any] = {"login": {}, "groups": GroupFilter(), "requests_per_second": 5_000} | more
    followed = Followed(
        ZooKeeperSettings("zk", class_name, address, path, 6.0, intervals=10, min_distance_ms=0, **given)
    )
    try:
        yield followed
    finally:
        followed.poller.stop()


def put(client: KazooClient, path: str, value: object) -> int:
    """Write a value as a consumer does; returns the time that the node has."""
    client.ensure_path(path)
    return int(client.set(path, str(value).encode()).mtime)


def test_groups_topics_and_partitions_come_and_go(server: ZooKeeperServer, client: KazooClient) -> None:
    root = "/come-and-go"
    moment = put(client, f"{root}/consumers/a/offsets/orders/0", 5)
    with following(server.address, root) as followed:
        followed.awaits({("a", "orders", 0): 5})
        assert followed.commits["a", "orders", 0] == (5, moment)
        assert followed.last.error == ""
        # a group whose first commit comes later than its node, a topic, a partition
        client.ensure_path(f"{root}/consumers/b/ids")
        put(client, f"{root}/consumers/a/offsets/orders/1", 6)
        put(client, f"{root}/consumers/a/offsets/payments/0", 7)
        put(client, f"{root}/consumers/b/offsets/orders/0", 8)
        expected = {
            ("a", "orders", 0): 5,
            ("a", "orders", 1): 6,
            ("a", "payments", 0): 7,
            ("b", "orders", 0): 8,
        }
        followed.awaits(expected)
        for offset in (9, 10, 11):
            put(client, f"{root}/consumers/a/offsets/orders/0", offset)
        followed.awaits(expected | {("a", "orders", 0): 11})
        client.delete(f"{root}/consumers/a/offsets/orders/1")
        client.delete(f"{root}/consumers/b", recursive=True)
        followed.awaits({("a", "orders", 0): 11, ("a", "payments", 0): 7})
        put(client, f"{root}/consumers/b/offsets/orders/0", 1)
        followed.awaits({("a", "orders", 0): 11, ("a", "payments", 0): 7, ("b", "orders", 0): 1})


def test_the_moment_of_a_round_is_before_what_it_has_not_found(
    server: ZooKeeperServer, client: KazooClient
) -> None:
    path = "/moments/consumers/a/offsets/orders/0"
    put(client, path, 0)
    with following(server.address, "/moments") as followed:
        followed.awaits({("a", "orders", 0): 0})
        for offset in range(1, 200):
            committed_ms = put(client, path, offset)
            offset_found = followed.found()["a", "orders", 0]
            # the server's clock is ours
            assert offset_found == offset or followed.last.as_of_ms <= committed_ms + 1


def test_owners(server: ZooKeeperServer, client: KazooClient) -> None:
    root = "/owned/consumers/a"
    put(client, f"{root}/offsets/orders/0", 5)
    put(client, f"{root}/owners/orders/0", "a_host-1")
    with following(server.address, "/owned") as followed:
        eventually(lambda: bool(followed.look().owners), PATIENCE_S)
        assert followed.owners == {"a": {("orders", 0): Holder("a_host-1")}}
        # a rebalance
        client.delete(f"{root}/owners/orders/0")
        put(client, f"{root}/owners/orders/0", "a_host-2")
        put(client, f"{root}/owners/orders/1", "a_host-1")
        both = {"a": {("orders", 0): Holder("a_host-2"), ("orders", 1): Holder("a_host-1")}}
        assert eventually(lambda: followed.look().owners == both, PATIENCE_S), followed.owners
        client.delete(f"{root}/owners", recursive=True)
        assert eventually(lambda: followed.look().owners == {"a": {}}, PATIENCE_S), followed.owners


def test_what_cannot_be_parsed_is_counted_once_and_the_rest_is_read(
    server: ZooKeeperServer, client: KazooClient
) -> None:
    root = "/garbage/consumers/a/offsets/orders"
    put(client, f"{root}/0", "five")
    put(client, f"{root}/1", 5)
    put(client, f"{root}/x", 5)
    with following(server.address, "/garbage") as followed:
        followed.awaits({("a", "orders", 1): 5})
        assert sum(followed.skipped.values()) == 2
        # a value that was good stays
        put(client, f"{root}/1", "?")
        assert eventually(lambda: sum(followed.look().skipped.values()) == 3, PATIENCE_S)
        followed.awaits({("a", "orders", 1): 5})
        put(client, f"{root}/0", 6)
        followed.awaits({("a", "orders", 0): 6, ("a", "orders", 1): 5})
        assert sum(followed.skipped.values()) == 3


def test_groups_that_the_lists_exclude_cost_no_request(server: ZooKeeperServer, client: KazooClient) -> None:
    for number in range(50):
        put(client, f"/denied/consumers/console-{number}/offsets/orders/0", 5)
    put(client, "/denied/consumers/a/offsets/orders/0", 5)
    lists = GroupFilter(deny=(re.compile(b"^console-"),))
    with following(server.address, "/denied", groups=lists) as followed:
        followed.awaits({("a", "orders", 0): 5})
        assert followed.denied == 50
        assert followed.poller.requests < 20


@pytest.mark.parametrize("where", ["in servers", "in the path", "in both"])
def test_a_chroot(where: str, server: ZooKeeperServer, client: KazooClient) -> None:
    put(client, "/rooted/kafka10/consumers/a/offsets/orders/0", 5)
    chroot, path = {
        "in servers": ("/rooted/kafka10", ""),
        "in the path": ("", "/rooted/kafka10"),
        "in both": ("/rooted", "/kafka10"),
    }[where]
    with following(f"{server.address}{chroot}", path) as followed:
        followed.awaits({("a", "orders", 0): 5})
        put(client, "/rooted/kafka10/consumers/a/offsets/orders/0", 6)
        followed.awaits({("a", "orders", 0): 6})


def test_a_path_that_is_not_there_yet_is_said_and_read_when_it_comes(
    server: ZooKeeperServer, client: KazooClient
) -> None:
    with following(server.address, "/later") as followed:
        assert eventually(lambda: followed.look().last.error != "", PATIENCE_S)
        assert "/later/consumers does not exist" in followed.last.error
        assert (followed.last.silent, followed.last.as_of_ms) == (True, 0)
        put(client, "/later/consumers/a/offsets/orders/0", 5)
        followed.awaits({("a", "orders", 0): 5})
        assert (followed.last.error, followed.last.silent) == ("", False)


@pytest.fixture(scope="module")
def guarded(client: KazooClient) -> None:
    """Two trees that a user may read, logged in one way or the other."""
    digest = make_digest_acl("warren", "secret", read=True)
    for path, acl in (("/digest", digest), ("/sasl", ACL(Permissions.READ, Id("sasl", "warren")))):
        put(client, f"{path}/consumers/a/offsets/orders/0", 5)
        client.set_acls(f"{path}/consumers", [acl])


@pytest.mark.usefixtures("guarded")
class TestLogins:
    @pytest.mark.parametrize(
        ("path", "login"),
        [
            ("/digest", {"auth_data": [("digest", "warren:secret")]}),
            (
                "/sasl",
                {"sasl_options": {"mechanism": "DIGEST-MD5", "username": "warren", "password": "secret"}},
            ),
        ],
        ids=["digest", "sasl"],
    )
    def test_with_the_login_it_is_read_and_without_it_the_remedy_is_said(
        self, path: str, login: dict[str, Any], server: ZooKeeperServer
    ) -> None:
        with following(server.address, path, login=login) as followed:
            followed.awaits({("a", "orders", 0): 5})
        with following(server.address, path) as followed:
            assert eventually(lambda: followed.look().last.error != "", PATIENCE_S)
            assert f"{path}/consumers" in followed.last.error
            assert "permission READ" in followed.last.error

    def test_a_wrong_password_is_said(self, server: ZooKeeperServer) -> None:
        login = {"sasl_options": {"mechanism": "DIGEST-MD5", "username": "warren", "password": "wrong"}}
        with following(server.address, "/sasl", login=login) as followed:
            assert eventually(lambda: followed.look().last.error != "", PATIENCE_S)
            assert "the login is refused" in followed.last.error

    def test_a_group_that_may_not_be_read_is_named_and_the_others_are_read(
        self, server: ZooKeeperServer, client: KazooClient
    ) -> None:
        put(client, "/partly/consumers/a/offsets/orders/0", 5)
        put(client, "/partly/consumers/b/offsets/orders/0", 5)
        client.set_acls("/partly/consumers/b", [make_digest_acl("warren", "secret", read=True)])
        with following(server.address, "/partly") as followed:
            followed.awaits({("a", "orders", 0): 5})
            assert "/partly/consumers/b" in followed.last.error
            assert not followed.last.silent
            assert followed.last.unanswered == {"b": 0}

    def test_owners_that_may_not_be_read_are_not_taken_for_none_and_none_is_told_later(
        self, server: ZooKeeperServer, client: KazooClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(zookeeper, "_REFUSED_AGAIN_S", 0.1)
        everybody, owners = Id("world", "anyone"), "/hidden/consumers/b/owners"
        put(client, "/hidden/consumers/a/offsets/orders/0", 5)
        put(client, "/hidden/consumers/b/offsets/orders/0", 5)
        client.ensure_path(owners)
        client.set_acls("/hidden/consumers/a/offsets", [ACL(Permissions.ADMIN, everybody)])
        client.set_acls(owners, [ACL(Permissions.ADMIN, everybody)])
        with following(server.address, "/hidden") as followed:
            followed.awaits({("b", "orders", 0): 5})
            assert (followed.owners, followed.last.owners_unseen) == ({}, frozenset({"b"}))
            client.set_acls(owners, [ACL(Permissions.ALL, everybody)])
            assert eventually(lambda: followed.look().owners == {"b": {}}, PATIENCE_S), followed.owners
            assert followed.last.owners_unseen == frozenset()


class TestStorm:
    def node(self, offset: int, topic: str = "orders", partition: int = 0) -> str:
        return json.dumps(
            {
                "topology": {"id": "1", "name": "fraud"},
                "offset": offset,
                "partition": partition,
                "broker": {"host": "kafka1", "port": 9092},
                "topic": topic,
            }
        )

    def test_spouts(self, server: ZooKeeperServer, client: KazooClient) -> None:
        moment = put(client, "/storm/fraud/partition_0", self.node(5))
        put(client, "/storm/many/orders/partition_1", self.node(6, partition=1))
        put(client, "/storm/many/payments/partition_0", self.node(7, "payments"))
        put(client, "/storm/fraud/partition_1", "{")
        with following(server.address, "/storm", "storm") as followed:
            expected = {("fraud", "orders", 0): 5, ("many", "orders", 1): 6, ("many", "payments", 0): 7}
            followed.awaits(expected)
            assert followed.commits["fraud", "orders", 0] == (5, moment)
            assert sum(followed.skipped.values()) == 1
            put(client, "/storm/fraud/partition_0", self.node(8))
            client.delete("/storm/many", recursive=True)
            followed.awaits({("fraud", "orders", 0): 8})
            # the topology reads another topic now
            put(client, "/storm/fraud/partition_0", self.node(1, "returns"))
            followed.awaits({("fraud", "returns", 0): 1})


class Writer:
    """Commits to some nodes, all the time, whatever happens to the server."""

    def __init__(self, server: ZooKeeperServer, nodes: int) -> None:
        self._server = server
        self._nodes = nodes
        self._stop = threading.Event()
        self.written = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        offset = 0
        while not self._stop.is_set():
            with contextlib.suppress(Exception):
                client = self._server.client()
                try:
                    for number in range(self._nodes):
                        client.ensure_path(self.path(number))
                    while not self._stop.is_set():
                        offset += 1
                        for number in range(self._nodes):
                            client.set_async(self.path(number), str(offset).encode())
                        client.set_async(self.path(0), str(offset).encode()).get(timeout=5)
                        self.written = offset
                        time.sleep(0.01)
                finally:
                    client.stop()
                    client.close()

    @staticmethod
    def path(number: int) -> str:
        return f"/consumers/loaded/offsets/orders/{number}"


def test_an_ensemble_that_is_restarted_under_load_and_one_that_is_set_up_anew(tmp_path: Path) -> None:
    nodes = 200
    keys = {("loaded", "orders", number) for number in range(nodes)}
    with (
        ZooKeeperServer(tmp_path / "server") as server,
        Writer(server, nodes) as writer,
        following(server.address) as followed,
    ):
        assert eventually(lambda: followed.found().keys() == keys, PATIENCE_S)
        for empty in (False, True):
            server.stop()
            assert eventually(lambda: followed.look().last.silent, PATIENCE_S)
            assert followed.last.error
            moment = followed.last.as_of_ms
            assert followed.look().last.as_of_ms == moment
            if empty:
                shutil.rmtree(tmp_path / "server" / "data")
            server.start()
            written = writer.written
            assert eventually(
                lambda least=written: (
                    followed.found().keys() == keys  # type: ignore[misc]
                    and min(followed.found().values()) > least
                ),
                PATIENCE_S,
            ), (followed.last, followed.found())
            assert (followed.last.error, followed.last.silent) == ("", False)
            assert followed.last.as_of_ms > moment
        # whatever happened, no offset went back
        assert all(offsets == sorted(offsets) for offsets in followed.offsets.values())


def test_many_nodes_are_read_at_the_configured_rate_and_not_again(
    server: ZooKeeperServer, client: KazooClient
) -> None:
    nodes, rate = 1_000, 500
    client.ensure_path("/many/consumers/a/offsets/orders")
    for begin in range(0, nodes, 250):
        transaction = client.transaction()
        for number in range(begin, begin + 250):
            transaction.create(f"/many/consumers/a/offsets/orders/{number}", b"1")
        transaction.commit()
    with following(server.address, "/many", requests_per_second=rate) as followed:
        begun_s = time.monotonic()
        assert eventually(lambda: len(followed.found()) == nodes, PATIENCE_S)
        seconds = time.monotonic() - begun_s
        first = followed.poller.requests
        assert nodes < first < nodes + 50
        # the last burst need not wait
        assert first / (seconds + 0.1) <= rate
        # a commit costs one request, and so does a round
        put(client, "/many/consumers/a/offsets/orders/7", 2)
        assert eventually(lambda: followed.found()["a", "orders", 7] == 2, PATIENCE_S)
        assert followed.poller.requests < first + 50
