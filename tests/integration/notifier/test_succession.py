"""Several instances on a real ZooKeeper, in the middle of an incident: a killed leader, a frozen one, and none."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from tests.integration.notifier.stage import Stage, incidents, words
from tests.processes import eventually
from tests.receivers.http import HttpReceiver, Reply
from tests.unit.notifier.scenes import Scene
from tests.zookeeper import ZooKeeperServer

from warren.common.status import Status
from warren.notifier.coordinator import Coordinator
from warren.notifier.record import Leadership

OK, ERR = Status.OK, Status.ERR
# a busy machine is slow to start processes and sessions
PATIENCE_S = 40.0


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as running:
        yield running


@pytest.fixture
def stage(tmp_path: Path, receiver: HttpReceiver, zookeeper: ZooKeeperServer, client: KazooClient) -> Stage:
    return Stage(tmp_path, {"hook": receiver}, zookeeper=zookeeper.address)


@contextmanager
def child(stage: Stage, name: str) -> Iterator[subprocess.Popen[bytes]]:
    process = stage.child(name)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


@contextmanager
def second(stage: Stage, scene: Scene) -> Iterator[Coordinator]:
    """Another instance, in this process."""
    made = Coordinator(stage.settings(), scene, lambda *_: "", name="second")
    made.start()
    try:
        yield made
    finally:
        made.stop()


def queue(client: KazooClient) -> list[str]:
    """Who holds the lock, and who waits for it."""
    try:
        nodes = sorted(client.get_children("/w/notifier"), key=lambda name: name.rpartition("-")[2])
        return [client.get(f"/w/notifier/{node}")[0].decode() for node in nodes]
    except NoNodeError:
        return []


def nothing_owed(client: KazooClient) -> bool:
    return not client.get_children("/w/warren/owed")


def test_a_leader_is_killed_and_the_next_one_goes_on(
    stage: Stage, receiver: HttpReceiver, client: KazooClient
) -> None:
    stage.show(payments=ERR)
    scene = Scene(payments=ERR)
    with child(stage, "first") as first:
        receiver.wait_for(1, PATIENCE_S)
        assert eventually(lambda: nothing_owed(client), PATIENCE_S)
        with second(stage, scene) as running:
            assert eventually(lambda: running.leadership() == Leadership("following", "first"), PATIENCE_S)
            # what it sees of the leader's work
            assert eventually(
                lambda: [each.group for each in running.incidents()] == ["payments"], PATIENCE_S
            )
            first.kill()
            assert eventually(lambda: running.leadership().state == "leading", PATIENCE_S)
            scene.show(payments=OK)
            requests = receiver.wait_for(2, PATIENCE_S)
            assert words(requests) == ["open payments ERR", "close payments OK"]
            assert len(incidents(requests)) == 1
            assert eventually(lambda: running.counts()["hook"].owed == 0, PATIENCE_S)
            assert [[one.state for one in each.messages] for each in running.incidents()] == [
                ["sent", "sent"]
            ]
    assert len(receiver.received) == 2


def test_a_frozen_leader_sends_nothing_when_it_thaws(
    stage: Stage, receiver: HttpReceiver, client: KazooClient
) -> None:
    """It owed a message when it was frozen, and would send it and decide on more if it still thought it led."""
    receiver.answer(Reply(503))
    stage.show(payments=ERR)
    scene = Scene(payments=ERR)
    with child(stage, "first") as first:
        (refused,) = receiver.wait_for(1, PATIENCE_S)[:1]
        with second(stage, scene) as running:
            assert eventually(lambda: running.leadership() == Leadership("following", "first"), PATIENCE_S)
            first.send_signal(signal.SIGSTOP)
            receiver.forget()
            receiver.answer(Reply(200))
            (accepted,) = receiver.wait_for(1, PATIENCE_S)
            assert accepted.header("Idempotency-Key") == refused.header("Idempotency-Key")
            assert eventually(lambda: running.counts()["hook"].sent == 1, PATIENCE_S)
            # the frozen one sees another world, in which much would have to be said
            stage.show(payments=OK, orders=ERR)
            first.send_signal(signal.SIGCONT)
            assert eventually(lambda: queue(client) == ["second", "first"], PATIENCE_S)
            scene.show(payments=OK)
            assert words(receiver.wait_for(2, PATIENCE_S)) == ["open payments ERR", "close payments OK"]
            assert eventually(lambda: running.counts()["hook"].sent == 2, PATIENCE_S)
        # the lock is given back, and the first goes on
        assert words(receiver.wait_for(3, PATIENCE_S))[2] == "open orders ERR"
        assert eventually(lambda: nothing_owed(client), PATIENCE_S)
    assert len(receiver.received) == 3


def test_zookeeper_goes_and_comes_back(receiver: HttpReceiver, tmp_path: Path) -> None:
    scene = Scene(payments=ERR)
    with ZooKeeperServer(tmp_path, tick_ms=500) as server:
        stage = Stage(tmp_path / "stage", {"hook": receiver}, zookeeper=server.address)
        with second(stage, scene) as running:
            receiver.wait_for(1, PATIENCE_S)
            assert eventually(lambda: running.counts()["hook"].owed == 0, PATIENCE_S)
            server.stop()
            assert eventually(lambda: running.leadership() == Leadership("disconnected", ""), PATIENCE_S)
            scene.show(payments=OK, orders=ERR)
            # it cannot be written, and so it is not sent
            assert not eventually(lambda: len(receiver.received) > 1, 2.5)
            assert [each.group for each in running.incidents()] == ["payments"]
            server.start()
            requests = receiver.wait_for(3, PATIENCE_S)
            assert sorted(words(requests)[1:]) == ["close payments OK", "open orders ERR"]
            assert len(incidents(requests)) == 2
            assert eventually(lambda: running.counts()["hook"].owed == 0, PATIENCE_S)
    assert len(receiver.received) == 3
