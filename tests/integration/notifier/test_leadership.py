"""Who leads, on a real ZooKeeper: taking over, losing a session, and a Burrow in the same queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.protocol.states import KeeperState
from structlog.testing import capture_logs
from tests.processes import eventually
from tests.zookeeper import ZooKeeperServer

from warren.common.status import Status
from warren.config.sections import ZooKeeper
from warren.notifier import leadership
from warren.notifier.leadership import Election, NotLeadingError
from warren.notifier.record import Incident, Leadership
from warren.notifier.store import Case, Change
from warren.notifier.zookeeper_store import ZooKeeperStore

# how a new session is found, an old one lost, or a lock taken; a busy machine is slow
PATIENCE_S = 20.0


@contextmanager
def election(address: str, name: str, **settings: object) -> Iterator[Election]:
    made = Election(
        ZooKeeper.model_validate({"servers": [address], "timeout": 2, "root_path": "/w"} | settings), name
    )
    made.start()
    try:
        yield made
    finally:
        made.stop()


def leads(one: Election) -> bool:
    return eventually(lambda: one.lease() is not None, PATIENCE_S)


def end_session(of: Election, client: KazooClient) -> None:
    """As if ZooKeeper had given up on it: the session is ended by another connection that takes it over."""
    session = of.client.client_id

    def ended() -> bool:
        thief = KazooClient(
            ",".join(f"{host}:{port}" for host, port in client.hosts), timeout=2, client_id=session
        )
        thief.start(timeout=10)
        thief.stop()
        thief.close()
        # the robbed one reconnects, and may be faster than the thief's end
        owners = [client.exists(f"/w/notifier/{node}") for node in client.get_children("/w/notifier")]
        return all(stat is None or stat.ephemeralOwner != session[0] for stat in owners)

    assert eventually(ended, PATIENCE_S)


@pytest.fixture
def server(client: KazooClient, zookeeper: ZooKeeperServer) -> ZooKeeperServer:
    return zookeeper


def test_one_leads_and_the_next_takes_over_when_it_stops(server: ZooKeeperServer) -> None:
    with ExitStack() as first_life, election(server.address, "one") as one:
        assert leads(one)
        assert one.leadership() == Leadership("leading", "one")
        two = first_life.enter_context(election(server.address, "two"))
        assert eventually(lambda: two.leadership().state == "following", PATIENCE_S)
        two.find_leader()
        assert two.leadership() == Leadership("following", "one")
        assert two.lease() is None
        one.stop()
        assert leads(two)
        assert one.lease() is None


def test_a_leader_that_loses_its_session_has_no_leave_to_send(
    server: ZooKeeperServer, client: KazooClient
) -> None:
    with ExitStack() as lives, election(server.address, "one") as one:
        assert leads(one)
        two = lives.enter_context(election(server.address, "two"))
        assert eventually(lambda: two.leadership().state == "following", PATIENCE_S)
        before = one.term
        end_session(one, client)
        assert leads(two)
        assert one.lease() is None
        with pytest.raises(NotLeadingError):
            one.fenced(lambda transaction: transaction.create("/w/written", b""))
        assert two.client.exists("/w/written") is None
        # back in the queue, behind the other
        assert eventually(lambda: one.leadership().state == "following", PATIENCE_S)
        two.stop()
        assert leads(one)
        assert one.term > before


def test_knowledge_of_an_old_term_cannot_be_written(server: ZooKeeperServer) -> None:
    with election(server.address, "one") as one:
        assert leads(one)
        lease = one.lease()
        assert lease is not None
        one.invalidate_term()
        with pytest.raises(NotLeadingError):
            one.fenced(lambda transaction: transaction.create("/w/written", b""), lease.term)
        assert leads(one)


def test_a_lock_that_vanished_is_taken_anew(server: ZooKeeperServer, client: KazooClient) -> None:
    with election(server.address, "one") as one:
        assert leads(one)
        (node,) = client.get_children("/w/notifier")
        client.delete(f"/w/notifier/{node}")
        assert one.lease() is None
        assert leads(one)
        assert client.get_children("/w/notifier") != [node]


def test_a_lease_ends_before_the_session_can(server: ZooKeeperServer) -> None:
    with election(server.address, "one") as one:
        assert leads(one)
        lease = one.lease()
        assert lease is not None
        assert 0 < lease.left_s() < 2


def test_the_lease_counted_on_more_time_than_zookeeper_had_granted(server: ZooKeeperServer) -> None:
    # with its tick of half a second the server grants no more than ten seconds
    with election(server.address, "one", timeout=60) as one:
        assert leads(one)
        assert one.session_s == 10
        lease = one.lease()
        assert lease is not None
        assert 5 < lease.left_s() < 10


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A ZooKeeper that knows a user."""
    folder = tmp_path_factory.mktemp("guarded")
    with ZooKeeperServer(folder, tick_ms=500, users={"warren": "pass"}) as server:
        yield server


@pytest.mark.parametrize("auth_type", ["digest", "sasl"])
def test_with_a_login_nobody_else_can_touch_the_lock_and_the_book(
    guarded: ZooKeeperServer, auth_type: str
) -> None:
    login = {"auth_type": auth_type, "username": "warren", "password": "pass", "root_path": f"/{auth_type}"}
    with ExitStack() as lives:
        one = lives.enter_context(election(guarded.address, "one", **login))
        assert leads(one)
        store = ZooKeeperStore(one, f"/{auth_type}")
        store.load()
        incident = Incident("i", "local", "g", 1, None, "", Status.ERR, Status.ERR)
        store.write([Change(Case("local", "g", incident))])
        stranger = guarded.client()
        lives.callback(stranger.stop)
        (case,) = one.client.get_children(f"/{auth_type}/warren/cases")
        for path in (f"/{auth_type}/warren/cases/{case}", f"/{auth_type}/notifier"):
            (rights, *more), _ = one.client.get_acls(path)
            assert (rights.id.scheme, more) == (auth_type, [])
            with pytest.raises(NoAuthError):
                stranger.set(path, b"")
        # another instance with the same login takes its place in the queue, and reads what this one wrote
        two = lives.enter_context(election(guarded.address, "two", **login))
        assert eventually(lambda: two.leadership().state == "following", PATIENCE_S)
        one.stop()
        assert leads(two)
        assert [each.group for each in ZooKeeperStore(two, f"/{auth_type}").load().cases] == ["g"]


def test_a_refused_login_is_tried_again(guarded: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "_REFUSED_S", 0.2)
    login = {"auth_type": "sasl", "username": "warren", "password": "wrong", "root_path": "/refused"}
    with capture_logs() as lines, election(guarded.address, "one", **login) as one:
        given_up = {KeeperState.AUTH_FAILED, KeeperState.CLOSED}
        # the state is the latter before the first attempt, too
        assert eventually(lambda: one._session_log.granted_s is not None, PATIENCE_S)
        assert eventually(lambda: one.client.client_state in given_up, PATIENCE_S)
        assert one.lease() is None
        # kazoo itself would never try again
        one.client._connection.sasl_options["password"] = "pass"
        assert leads(one)
    assert any(line["event"].startswith("ZooKeeper refused access") for line in lines)
    assert not any(line["event"] == "cannot acquire the notifier's lock" for line in lines)


class TestBurrowInTheSameQueue:
    """Burrow's library makes `_c_GUID-lock-0000000007`, and reads the number after the last dash of every child."""

    def test_we_wait_for_a_burrow(self, server: ZooKeeperServer, client: KazooClient) -> None:
        client.ensure_path("/w/notifier")
        burrow = client.create(
            "/w/notifier/_c_38553bd6d1d57f710ae70ddcc3d24715-lock-", ephemeral=True, sequence=True
        )
        with election(server.address, "one") as one:
            assert eventually(lambda: len(client.get_children("/w/notifier")) == 2, PATIENCE_S)
            one.find_leader()
            assert (one.lease(), one.leadership()) == (None, Leadership("following", ""))
            client.delete(burrow)
            assert leads(one)

    def test_a_burrow_can_read_our_place(self, server: ZooKeeperServer, client: KazooClient) -> None:
        with election(server.address, "one") as one:
            assert leads(one)
            names = client.get_children("/w/notifier")
            assert [int(name.split("-")[-1]) for name in names] == [0]


def test_without_zookeeper_nobody_leads_until_it_is_there(tmp_path: Path) -> None:
    late = ZooKeeperServer(tmp_path, tick_ms=500)
    with election(late.address, "one") as one:
        assert (one.lease(), one.leadership()) == (None, Leadership("disconnected", ""))
        with late:
            assert leads(one)
        assert eventually(lambda: one.leadership().state == "disconnected", PATIENCE_S)
        assert one.lease() is None
