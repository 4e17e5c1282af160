"""Which groups are looked at one by one: with many of them, only those that can matter."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.processes import eventually
from tests.unit.httpserver.memory import MemorySnapshot
from tests.unit.notifier.scenes import Scene, group_of, partition

from warren.common.status import Status
from warren.config.modules import NullNotifier
from warren.config.sections import Spark
from warren.config.settings import Settings
from warren.notifier import coordinator as coordinator_module
from warren.notifier.coordinator import Coordinator
from warren.notifier.deliveries import MessageSender
from warren.notifier.message import Message
from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.sqlite_store import FILE, SqliteStore
from warren.notifier.store import Case, Change, StoreError, unpacked
from warren.snapshot.model import GroupStatus

OK, ERR = Status.OK, Status.ERR


class Counting(MemorySnapshot):
    """Notes whose partitions are asked for."""

    asked: list[str]

    def group(self, group: str) -> GroupStatus | None:
        self.asked.append(group)
        return super().group(group)


class Watched(Scene):
    """Counts the looks, and whom they are at."""

    def __init__(self, **statuses: Status) -> None:
        self.looks = 0
        self.asked: list[str] = []
        super().__init__(**statuses)

    def show(self, **statuses: Status) -> None:
        super().show(**statuses)
        assert self.current is not None
        counting = Counting(statuses=self.current.statuses)
        object.__setattr__(counting, "asked", self.asked)
        self.current = counting

    def snapshot(self, cluster: str) -> MemorySnapshot | None:
        self.looks += 1
        return super().snapshot(cluster)

    def looked(self, times: int) -> bool:
        until = self.looks + times
        return eventually(lambda: self.looks >= until, 20)


class Sent:
    """Implements `MessageSender`."""

    def __init__(self) -> None:
        self.groups: list[str] = []
        self.links: list[str] = []

    def send(self, message: Message, timeout_s: float) -> str:
        self.groups.append(message.result.group)
        self.links.append(message.link)
        return "taken"

    def close(self) -> None: ...


@contextmanager
def running(folder: Path, scene: Scene, sent: MessageSender, **settings: object) -> Iterator[Coordinator]:
    module = NullNotifier.model_validate({"interval": 1, "send_interval": 3600} | settings)
    made = Coordinator(
        Settings(notifier={"it": module}, spark=Spark(checkpoint_dir=str(folder))),
        scene,
        lambda cluster, group, incident="": f"{cluster}/{group}/{incident}",
        make_sender=lambda *_: sent,
    )
    made.start()
    try:
        yield made
    finally:
        made.stop()


def test_only_groups_that_are_not_ok_are_looked_at_and_only_when_something_is_due(tmp_path: Path) -> None:
    scene, sent = Watched(fine=OK, good=OK, bad=ERR, ugly=ERR), Sent()
    with running(tmp_path, scene, sent):
        assert eventually(lambda: sorted(sent.groups) == ["bad", "ugly"], 20)
        assert scene.looked(2)
        assert sorted(scene.asked) == ["bad", "ugly"]
        scene.show(fine=OK, good=OK, bad=OK, ugly=ERR)
        assert scene.looked(2)
        assert sorted(scene.asked) == ["bad", "bad", "ugly"]


def test_an_incident_keeps_its_evidence_over_a_restart_and_its_messages_link_to_it(tmp_path: Path) -> None:
    scene, sent = Scene(bad=ERR), Sent()

    def lag(of: str) -> int | None:
        """None: not known, or not yet."""
        moments = [getattr(coordinator.evidence(each), of) for each in coordinator.incidents()]
        return moments[0].totallag if moments and moments[0] else None

    with running(tmp_path, scene, sent, send_close=True) as coordinator:
        assert eventually(lambda: sent.groups == ["bad"], 20)
        (incident,) = coordinator.incidents()
        assert scene.current is not None
        scene.current = replace(
            scene.current, statuses={"bad": group_of("bad", partition("orders", 0, Status.STOP, 500))}
        )
        # nothing is sent, and all the same it is noted
        assert eventually(lambda: lag("worst") == 500, 20)
    with running(tmp_path, scene, sent, send_close=True) as coordinator:
        assert eventually(lambda: lag("worst") == 500, 20)
        scene.show(bad=OK)
        assert eventually(lambda: lag("end") == 0, 20)
        assert (lag("opening"), lag("worst")) == (100, 500)
        assert eventually(lambda: sent.links == [f"local/bad/{incident.id}"] * 2, 20)


def test_a_write_that_failed_once_was_never_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = threading.Event()
    full.set()
    write = SqliteStore.write

    def written(store: SqliteStore, changes: Sequence[Change]) -> None:
        if full.is_set():
            raise StoreError("no space left")
        write(store, changes)

    monkeypatch.setattr(SqliteStore, "write", written)
    scene, sent = Scene(bad=ERR), Sent()

    def stored() -> list[Case]:
        with sqlite3.connect(tmp_path / "notifier" / FILE) as connection:
            rows = connection.execute("SELECT content FROM cases").fetchall()
        connection.close()
        return [unpacked(row[0], Case) for row in rows]

    with running(tmp_path, scene, sent) as coordinator:
        assert eventually(lambda: coordinator.counts()["it"].sent == 1, 20)
        assert stored() == []
        full.clear()
        # nothing else happens
        assert eventually(lambda: [case.incident for case in stored()] == coordinator.incidents(), 20)


def test_many_incidents_at_once_get_their_evidence_in_several_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_module, "MOST_EVIDENCE", 3)
    scene, sent = Scene(**{f"g{number}": ERR for number in range(8)}), Sent()
    with running(tmp_path, scene, sent) as coordinator:
        assert eventually(lambda: len(sent.groups) == 8, 20)

        def openings() -> int:
            found = [coordinator.evidence(each) for each in coordinator.incidents()]
            return sum(each.opening is not None for each in found)

        assert openings() == 3
        assert eventually(
            lambda: all(coordinator.evidence(each).worst for each in coordinator.incidents()), 20
        )
        assert openings() == 3


def test_a_module_that_hears_of_ok_groups_makes_all_be_looked_at(tmp_path: Path) -> None:
    scene, sent = Watched(fine=OK, bad=ERR), Sent()
    with running(tmp_path, scene, sent, threshold=1):
        assert eventually(lambda: sorted(sent.groups) == ["bad", "fine"], 20)


@pytest.mark.parametrize("state", ["no snapshot yet", "not caught up"])
def test_nothing_is_decided_before_the_windows_are_filled(tmp_path: Path, state: str) -> None:
    scene, sent = Watched(bad=ERR), Sent()
    with running(tmp_path, scene, sent) as coordinator:
        assert eventually(lambda: sent.groups == ["bad"], 20)
        (before,) = coordinator.incidents()
    scene.caught_up = state != "not caught up"
    scene.show()
    if state == "no snapshot yet":
        scene.current = None
    rounds = []
    clusters = scene.clusters
    scene.clusters = lambda: rounds.append(1) or clusters()  # type: ignore[method-assign,func-returns-value]
    with running(tmp_path, scene, sent) as coordinator:
        assert eventually(lambda: len(rounds) > 4, 20)
        (after,) = coordinator.incidents()
    assert after.is_open
    assert after.id == before.id
    assert sent.groups == ["bad"]


def test_the_incidents_of_a_cluster_that_is_not_configured_any_more_end(tmp_path: Path) -> None:
    scene, sent = Scene(bad=ERR), Sent()
    with running(tmp_path, scene, sent):
        assert eventually(lambda: sent.groups == ["bad"], 20)
    scene.clusters = list  # type: ignore[method-assign]
    with running(tmp_path, scene, sent, send_close=True) as coordinator:
        assert eventually(lambda: [each.ending for each in coordinator.incidents()] == ["unwatched"], 20)
        assert eventually(lambda: sent.groups == ["bad", "bad"], 20)


def test_what_was_owed_to_a_module_that_is_gone_is_abandoned(tmp_path: Path) -> None:
    class Refusing(Sent):
        def send(self, message: Message, timeout_s: float) -> str:
            self.groups.append("refused")
            raise DeliveryError("busy", retriable=True, wait_s=600)

    refusing = Refusing()
    with running(tmp_path, Scene(bad=ERR), refusing) as coordinator:
        assert eventually(lambda: refusing.groups == ["refused"], 20)
        assert coordinator.counts()["it"].owed == 1
    settings = Settings(
        notifier={"other": NullNotifier(interval=1)}, spark=Spark(checkpoint_dir=str(tmp_path))
    )
    made = Coordinator(settings, Scene(bad=ERR), lambda *_: "", make_sender=lambda *_: Sent())
    made.start()

    def states() -> list[str]:
        return [each.state for incident in made.incidents() for each in incident.messages]

    try:
        assert eventually(lambda: states()[:1] == ["abandoned"], 20)
    finally:
        made.stop()


def test_a_message_says_why_its_partitions_are_not_ok(tmp_path: Path) -> None:
    class Keeping(Sent):
        def __init__(self) -> None:
            super().__init__()
            self.messages: list[Message] = []

        def send(self, message: Message, timeout_s: float) -> str:
            self.messages.append(message)
            return super().send(message, timeout_s)

    sent = Keeping()
    with running(tmp_path, Scene(bad=ERR), sent):
        assert eventually(lambda: bool(sent.messages), 20)
    assert [(each.rule, each.because) for each in sent.messages[0].result.partitions] == [
        ("stopped", "orders/0 is silent.")
    ]
