"""One notifier alone: real HTTP, a real file, and restarts in the middle."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.notifier.stage import Stage, incidents, words
from tests.processes import eventually
from tests.receivers.http import HttpReceiver, Reply
from tests.unit.httpserver.memory import MemorySnapshot
from tests.unit.notifier.scenes import Scene

from warren.common.status import Status
from warren.errors import ConfigError
from warren.notifier.coordinator import Coordinator
from warren.notifier.record import Incident, Leadership
from warren.snapshot.model import GroupStatus

OK, WARN, ERR = Status.OK, Status.WARN, Status.ERR


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as running:
        yield running


def notifier(stage: Stage, scene: Scene) -> Coordinator:
    return Coordinator(stage.settings(), scene, lambda *_: "", name="me")


def states(incident: Incident) -> list[str]:
    return [f"{each.module} {each.kind} {each.status.name} {each.state}" for each in incident.messages]


def test_an_incident_from_its_open_to_its_close(receiver: HttpReceiver, tmp_path: Path) -> None:
    scene = Scene(payments=ERR, fine=OK)
    running = notifier(Stage(tmp_path, {"hook": receiver}), scene)
    running.start()
    try:
        receiver.wait_for(1)
        assert eventually(lambda: running.counts()["hook"].sent == 1, 10)
        scene.show(payments=OK, fine=OK)
        requests = receiver.wait_for(2)
        assert eventually(lambda: running.counts()["hook"].owed == 0, 10)
        (incident,) = running.incidents()
        assert words(requests) == ["open payments ERR", "close payments OK"]
        assert incidents(requests) == {f"{incident.id} {incident.start_ms // 1000}"}
        assert states(incident) == ["hook open ERR sent", "hook close OK sent"]
        assert [each.answer for each in incident.messages] == ["HTTP 200", "HTTP 200"]
        assert (incident.ending, incident.worst) == ("ok", ERR)
        assert running.leadership() == Leadership("alone", "me")
    finally:
        running.stop()


def test_a_restart_in_the_middle_goes_on_with_the_same_incident(
    receiver: HttpReceiver, tmp_path: Path
) -> None:
    stage, scene = Stage(tmp_path, {"hook": receiver}), Scene(payments=WARN)
    first = notifier(stage, scene)
    first.start()
    receiver.wait_for(1)
    assert eventually(lambda: first.counts()["hook"].owed == 0, 10)
    first.stop()
    scene.caught_up = False
    scene.show()
    second = notifier(stage, scene)
    second.start()
    try:
        # its windows are being filled: the group that is not there yet is not gone
        assert eventually(lambda: [each.group for each in second.incidents()] == ["payments"], 10)
        scene.show(payments=ERR)
        scene.caught_up = True
        assert eventually(lambda: [each.worst for each in second.incidents()] == [ERR], 10)
        scene.show(payments=OK)
        requests = receiver.wait_for(2)
        assert words(requests) == ["open payments WARN", "close payments OK"]
        assert len(incidents(requests)) == 1
        assert eventually(lambda: second.counts()["hook"].sent == 1, 10)
    finally:
        second.stop()
    assert len(receiver.received) == 2


def test_a_message_that_was_owed_when_the_process_was_killed_is_sent_after(tmp_path: Path) -> None:
    with HttpReceiver() as receiver:
        receiver.answer(Reply(fault="hang"))
        stage = Stage(tmp_path, {"hook": receiver})
        stage.show(payments=ERR)
        child = stage.child("first")
        try:
            receiver.wait_for(1)
            child.send_signal(signal.SIGKILL)
        finally:
            child.kill()
            child.wait(10)
        receiver.answer(Reply())
        running = notifier(stage, Scene(payments=ERR))
        running.start()
        try:
            first, second = receiver.wait_for(2)
            assert first.text == second.text
            assert first.header("Idempotency-Key") == second.header("Idempotency-Key")
            assert eventually(lambda: running.counts()["hook"].owed == 0, 10)
            assert [states(each) for each in running.incidents()] == [["hook open ERR sent"]]
        finally:
            running.stop()


def test_a_module_that_hangs_delays_neither_another_nor_the_end(
    receiver: HttpReceiver, tmp_path: Path
) -> None:
    with HttpReceiver() as deaf:
        deaf.answer(Reply(fault="hang"))
        scene = Scene(payments=ERR)
        running = notifier(
            Stage(tmp_path, {"deaf": deaf, "hook": receiver}, {"deaf": "keepalive = 1"}), scene
        )
        running.start()
        try:
            receiver.wait_for(1)
            scene.show(payments=OK, orders=ERR)
            assert sorted(words(receiver.wait_for(3))[1:]) == ["close payments OK", "open orders ERR"]
            assert eventually(lambda: running.counts()["hook"].sent == 3, 10)
            assert eventually(lambda: running.counts()["deaf"].retried >= 1, 10)
            counts = running.counts()["deaf"]
            assert (counts.sent, counts.owed) == (0, 3)
        finally:
            running.stop()


def test_a_group_that_is_gone_is_closed(receiver: HttpReceiver, tmp_path: Path) -> None:
    scene = Scene(payments=ERR)
    running = notifier(Stage(tmp_path, {"hook": receiver}), scene)
    running.start()
    try:
        receiver.wait_for(1)
        scene.show(others=OK)
        assert words(receiver.wait_for(2)) == ["open payments ERR", "close payments NOTFOUND"]
        assert eventually(lambda: [each.ending for each in running.incidents()] == ["gone"], 10)
    finally:
        running.stop()


def test_repeats_keep_their_pace(receiver: HttpReceiver, tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"hook": receiver})
    stage.file.write_text(stage.file.read_text().replace("send-interval = 3600", ""))
    running = notifier(stage, Scene(payments=ERR))
    running.start()
    try:
        receiver.wait_for(4)
    finally:
        running.stop()
    (incident,) = running.incidents()
    decided = [each.decided_ms for each in incident.messages]
    gaps = [round((after - before) / 1000, 1) for before, after in itertools.pairwise(decided)]
    # one look a second; on a machine that is very busy one may be left out, never one squeezed in
    assert all(gap >= 1 and gap % 1 in {0, 0.1, 0.9} for gap in gaps), gaps


class Broken(MemorySnapshot):
    """One group at which every look fails."""

    def group(self, group: str) -> GroupStatus | None:
        if group == "broken":
            raise ValueError("a fault")
        return super().group(group)


def test_a_fault_at_one_group_leaves_the_others_in_peace(receiver: HttpReceiver, tmp_path: Path) -> None:
    scene = Scene(broken=ERR, payments=ERR)
    scene.current = Broken(statuses=scene.current.statuses if scene.current else {})
    running = notifier(Stage(tmp_path, {"hook": receiver}), scene)
    running.start()
    try:
        assert words(receiver.wait_for(1)) == ["open payments ERR"]
    finally:
        running.stop()


def test_mistakes_in_templates_are_found_before_anything_starts(
    receiver: HttpReceiver, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, {"hook": receiver})
    (tmp_path / "open.tmpl").write_text("{{.Nothing}}")
    (tmp_path / "close.tmpl").write_text("{{nofunction}}")
    with pytest.raises(ConfigError) as caught:
        notifier(stage, Scene())
    assert len(caught.value.problems) == 2


def test_a_notifier_that_was_never_started_has_nothing_to_tell_and_can_be_stopped(
    receiver: HttpReceiver, tmp_path: Path
) -> None:
    made = notifier(Stage(tmp_path, {"hook": receiver}), Scene())
    assert made.incidents() == []
    assert made.counts()["hook"].owed == 0
    made.stop()
