"""Committed offsets through the admin API of real brokers: groups come and go, rights and brokers too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import ResourceType  # type: ignore[attr-defined]
from tests.conftest import BrokerFactory
from tests.integration.pipeline.hands import Hands, client_of, offsets, windows
from tests.integration.pipeline.test_groups import Member, committed, owners
from tests.integration.pipeline.test_rights import allow_again, commit, enforcing, forbid
from tests.integration.pipeline.triggers import INTERVALS, Triggers

from warren.cli.attempts import UnreachableError
from warren.cli.kafka_admin_probe import kafka_admin
from warren.common.group_filter import GroupFilter
from warren.consumer.admin import AdminPoller, AdminSettings
from warren.demo.broker import Broker
from warren.kafka.login import Property
from warren.snapshot.view import ClusterView


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pollers end with the test."""
    pollers: list[AdminPoller] = []
    start = AdminPoller.start

    def started(poller: AdminPoller) -> None:
        pollers.append(poller)
        start(poller)

    monkeypatch.setattr(AdminPoller, "start", started)
    yield
    for each in pollers:
        each.stop()


def polling(client: dict[str, Property], allowed: str) -> AdminSettings:
    groups = GroupFilter((re.compile(allowed.encode()),))
    return AdminSettings("cloud", client, 1, 1, 10, groups, INTERVALS, 0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_owners_and_the_end_of_a_group(broker: Broker, tmp_path: Path, protocol: str) -> None:
    hands, client = Hands(broker), client_of(broker)
    topic = group = hands.make(f"admin-{protocol}", 2)
    hands.fill(topic, 9, 0)
    hands.fill(topic, 9, 1)
    committed(hands, "denied", topic, 1)
    with Member(broker, group, "app", protocol, {0: 3, 1: 4}):
        triggers = Triggers(client, tmp_path, polling(client, f"^{topic}$"))
        view = triggers.until(lambda view: len(windows(view, group)) == 2)
        assert view.groups() == [group]
        view = triggers.until(lambda view: owners(view, group, topic) == [("/127.0.0.1", "app")] * 2)
        status = view.group(group)
        assert status is not None
        assert [each.current_lag for each in status.partitions] == [6, 5]
    triggers.until(lambda view: owners(view, group, topic) == [("", "")] * 2)
    committed(hands, group, topic, 5)
    triggers.until(lambda view: offsets(view, group, topic) == [3, 5])
    # another process: what it finds again is no commit
    triggers.restart()
    triggers.until(lambda view: triggers.look.caught_up)
    assert offsets(triggers.view, group, topic) == [3, 5]
    committed(hands, group, topic, 7)
    view = triggers.until(lambda view: offsets(view, group, topic) == [3, 5, 7])
    (consumer,) = view.consumers_reading(group)
    assert (consumer.name, consumer.class_name, consumer.commit_time) == ("cloud", "kafka_admin", "poll")
    assert "of them monitored" in kafka_admin(client, polling(client, topic).groups.accepts, 10.0)
    hands.admin.delete_consumer_groups([group])[group].result()
    triggers.until(lambda view: view.groups() == [])


def test_a_group_that_may_not_be_seen_and_a_broker_that_is_away(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    broker = enforcing(broker_factory)
    hands = Hands(broker)
    topic = hands.make("admin-rights")
    hands.fill(topic, 9)
    for group in ("open", "secret"):
        commit(hands, group, topic, 3)
    client = client_of(broker) | {"sasl.username": "warren", "sasl.password": "warren-secret"}
    settings = polling(client, "")
    triggers = Triggers(client, tmp_path, settings)
    triggers.until(lambda view: view.groups() == ["open", "secret"])
    forbid(hands, "secret", ResourceType.GROUP)
    triggers.until(lambda _: "secret" in triggers.error and "Describe" in triggers.error)
    with pytest.raises(UnreachableError, match="Describe"):
        kafka_admin(client, settings.groups.accepts, 10.0)
    for offset in (4, 5):
        commit(hands, "open", topic, offset)
        triggers.until(partial(_is_at, topic, offset))
    # nobody judges it meanwhile
    assert triggers.view.unseen() == {"secret"}
    assert offsets(triggers.view, "secret", topic) == [3]
    allow_again(hands)
    triggers.until(lambda view: not triggers.error and not view.unseen())
    broker.stop()
    triggers.until(lambda _: triggers.look.blind and triggers.error)
    assert triggers.view.groups() == ["open", "secret"]
    broker.start()
    triggers.until(lambda _: not triggers.look.blind and not triggers.error)
    commit(hands, "secret", topic, 6)
    triggers.until(lambda view: offsets(view, "secret", topic) == [3, 6])


def _is_at(topic: str, offset: int, view: ClusterView) -> bool:
    return offsets(view, "open", topic)[-1] == offset
