"""Clusters that cannot be seen, are being read, or are not watched any more: no false word about their groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.processes import eventually
from tests.unit.notifier.scenes import Scene
from tests.unit.notifier.test_coordinator_rounds import running

from warren.common.status import Status
from warren.config import Settings
from warren.config.modules import NullNotifier
from warren.config.sections import Cluster, KafkaConsumer, Spark, Storage
from warren.notifier.coordinator import Coordinator
from warren.notifier.message import Message

OK, WARN, ERR = Status.OK, Status.WARN, Status.ERR


class Told:
    """Implements `MessageSender`."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def send(self, message: Message, timeout_s: float) -> str:
        self.messages.append(
            f"{message.kind} {message.result.status.name} {message.result.group or 'CLUSTER'}"
        )
        return "taken"

    def close(self) -> None: ...


def looked(scene: Scene, times: int = 3) -> bool:
    """Some looks later."""
    seen: list[int] = []
    progress = scene.progress
    scene.progress = lambda cluster: seen.append(1) or progress(cluster)  # type: ignore[method-assign,func-returns-value]
    try:
        return eventually(lambda: len(seen) >= times, 20)
    finally:
        scene.progress = progress  # type: ignore[method-assign]


@pytest.mark.parametrize("state", ["brokers do not answer", "reading again"])
def test_groups_were_alarmed_of_while_their_cluster_could_not_be_seen(tmp_path: Path, state: str) -> None:
    scene, sent = Scene(stuck=ERR, fine=OK), Told()
    with running(tmp_path, scene, sent, send_close=True) as coordinator:
        assert eventually(lambda: sent.messages == ["open ERR stuck"], 20)
        scene.caught_up = state != "reading again"
        scene.error = "No broker answers" if state == "brokers do not answer" else ""
        scene.show(stuck=OK, fine=ERR)
        assert looked(scene)
        assert sent.messages == ["open ERR stuck"]
        assert [(each.group, each.is_open) for each in coordinator.incidents()] == [("stuck", True)]
        scene.caught_up, scene.error = True, ""
        assert eventually(lambda: sorted(sent.messages[1:]) == ["close OK stuck", "open ERR fine"], 20)


def test_a_group_whose_topic_was_hidden_was_called_healthy_again(tmp_path: Path) -> None:
    """Its consumer goes on committing beyond the last head that was seen; the others are told of as always."""
    scene, sent = Scene(stuck=ERR, fine=OK), Told()
    with running(tmp_path, scene, sent, send_close=True):
        assert eventually(lambda: sent.messages == ["open ERR stuck"], 20)
        scene.show(stuck=OK, fine=ERR)
        assert scene.current is not None
        scene.current = replace(scene.current, hidden=frozenset({"stuck"}))
        assert eventually(lambda: sent.messages == ["open ERR stuck", "open ERR fine"], 20)
        assert looked(scene)
        assert len(sent.messages) == 2
        scene.current = replace(scene.current, hidden=frozenset())
        assert eventually(lambda: sent.messages[2:] == ["close OK stuck"], 20)


def test_a_cluster_that_cannot_be_seen_is_told_of_once_to_those_who_asked(tmp_path: Path) -> None:
    scene, sent = Scene(stuck=OK), Told()
    asked = {
        "cluster_incidents": True,
        "cluster_incident_after": 1,
        "send_close": True,
        "topic_denylist": "^x$",
        "group_allowlist": "^other$",
    }
    with running(tmp_path, scene, sent, **asked) as coordinator:
        assert looked(scene)
        scene.error = "No broker answers"
        assert eventually(lambda: sent.messages == ["open ERR CLUSTER"], 20)
        (incident,) = coordinator.incidents()
        assert (incident.cluster, incident.group, incident.reason) == ("local", "", "No broker answers")
        assert looked(scene)
        assert sent.messages == ["open ERR CLUSTER"]
    # the process after this one does not close it before the cluster is seen again
    scene.error, scene.caught_up = "", False
    with running(tmp_path, scene, sent, **asked) as coordinator:
        assert looked(scene)
        assert [each.is_open for each in coordinator.incidents()] == [True]
        scene.caught_up = True
        assert eventually(lambda: sent.messages == ["open ERR CLUSTER", "close OK CLUSTER"], 20)
        (incident,) = coordinator.incidents()
        assert (incident.ending, incident.status) == ("ok", OK)
        assert looked(scene)
        assert len(sent.messages) == 2


def test_burrows_modules_hear_nothing_of_clusters_unless_asked(tmp_path: Path) -> None:
    scene, sent = Scene(fine=OK), Told()
    scene.error = "No broker answers"
    with running(tmp_path, scene, sent, cluster_incident_after=1) as coordinator:
        assert looked(scene, 4)
        assert coordinator.incidents() == []
        assert sent.messages == []


def test_a_cluster_is_not_told_of_before_its_time(tmp_path: Path) -> None:
    scene, sent = Scene(fine=OK), Told()
    scene.error = "The clock jumped"
    asked = {"cluster_incidents": True, "cluster_incident_after": 3600}
    with running(tmp_path, scene, sent, **asked) as coordinator:
        assert looked(scene, 4)
        assert coordinator.incidents() == []


def denying(folder: Path, scene: Scene, sent: Told, lists: dict[str, object], where: str) -> Coordinator:
    consumer = {"servers": ["h:9092"], "cluster": "local"} | (lists if where == "consumer" else {})
    settings = Settings(
        cluster={"local": Cluster(servers=("h:9092",))},
        consumer={"c": KafkaConsumer.model_validate(consumer)},
        storage={"s": Storage.model_validate(lists if where == "storage" else {})},
        notifier={"it": NullNotifier(interval=1, send_interval=3600, send_close=True)},
        spark=Spark(checkpoint_dir=str(folder)),
    )
    return Coordinator(settings, scene, lambda *_: "", make_sender=lambda *_: sent)


@pytest.mark.parametrize("where", ["consumer", "storage"])
@pytest.mark.parametrize("lists", [{"group-denylist": "^noisy$"}, {"group-allowlist": "^fine$"}])
@pytest.mark.parametrize("still_there", [True, False])
def test_a_group_that_was_denied_kept_its_incident(
    tmp_path: Path, where: str, lists: dict[str, object], still_there: bool
) -> None:
    scene, sent = Scene(noisy=ERR, fine=OK), Told()
    before = denying(tmp_path, scene, sent, {}, where)
    before.start()
    assert eventually(lambda: sent.messages == ["open ERR noisy"], 20)
    before.stop()
    if not still_there:
        scene.show(fine=OK)
    after = denying(tmp_path, scene, sent, lists, where)
    after.start()
    try:
        assert eventually(lambda: [each.ending for each in after.incidents()] == ["unwatched"], 20)
        # who was told of it hears that it is over, and nothing more
        assert looked(scene)
        assert sent.messages == ["open ERR noisy", "close NOTFOUND noisy"]
    finally:
        after.stop()
