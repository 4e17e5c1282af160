"""Committed offsets through the admin API of real brokers: groups come and go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    client_of,
    later,
    offsets,
    pipeline_settings,
    running,
    windows,
)
from tests.integration.pipeline.test_groups import Member, committed, owners
from tests.integration.pipeline.triggers import INTERVALS, Triggers

from warren.cli.kafka_admin_probe import kafka_admin
from warren.common.group_filter import GroupFilter
from warren.config.patterns import compiled
from warren.config.sections import KafkaAdminConsumer
from warren.consumer.admin import AdminPoller, AdminSettings
from warren.demo.broker import Broker
from warren.kafka.login import Property


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


def polling(client: dict[str, Property], allowed: str, tmp_path: Path) -> AdminSettings:
    groups = GroupFilter((re.compile(allowed.encode()),))
    return AdminSettings("cloud", client, 1, 1, 10, groups, INTERVALS, 0, tmp_path / "committed", 604_800_000)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_owners_and_the_end_of_a_group(broker: Broker, tmp_path: Path, protocol: str) -> None:
    hands, client = Hands(broker), client_of(broker)
    topic = group = hands.make(f"admin-{protocol}", 2)
    hands.fill(topic, 9, 0)
    hands.fill(topic, 9, 1)
    committed(hands, "denied", topic, 1)
    with Member(broker, group, "app", protocol, {0: 3, 1: 4}):
        triggers = Triggers(client, tmp_path, polling(client, f"^{topic}$", tmp_path))
        view = triggers.until(lambda view: len(windows(view, group)) == 2)
        assert view.groups() == [group]
        view = triggers.until(lambda view: owners(view, group, topic) == [("/127.0.0.1", "app")] * 2)
        status = view.group(group)
        assert status is not None
        assert [each.current_lag for each in status.partitions] == [6, 5]
    triggers.until(lambda view: owners(view, group, topic) == [("", "")] * 2)
    committed(hands, group, topic, 5)
    triggers.until(lambda view: offsets(view, group, topic) == [3, 5])
    # another process: what it finds again is no commit, and a member that left meanwhile is gone
    with Member(broker, group, "app", protocol, {}):
        triggers.until(lambda view: owners(view, group, topic) == [("/127.0.0.1", "app")] * 2)
    triggers.restart()
    triggers.until(lambda view: triggers.look.caught_up)
    assert offsets(triggers.view, group, topic) == [3, 5]
    triggers.until(lambda view: owners(view, group, topic) == [("", "")] * 2)
    committed(hands, group, topic, 7)
    view = triggers.until(lambda view: offsets(view, group, topic) == [3, 5, 7])
    (consumer,) = view.consumers_reading(group)
    assert (consumer.name, consumer.class_name, consumer.commit_time) == ("cloud", "kafka_admin", "poll")
    assert "of them monitored" in kafka_admin(client, polling(client, topic, tmp_path).groups.accepts, 10.0)
    hands.admin.delete_consumer_groups([group])[group].result()
    triggers.until(lambda view: view.groups() == [])


def test_polled_offsets_go_through_spark_and_survive_a_restart(broker: Broker, tmp_path: Path) -> None:
    hands = Hands(broker)
    topic = group = hands.make("admin-spark")
    hands.fill(topic, 9)
    committed(hands, group, topic, 3)
    consumer = KafkaAdminConsumer(
        cluster="cloud",
        servers=(broker.bootstrap_servers,),
        group_allowlist=compiled(f"^{group}$"),
        poll_interval=1,
    )
    settings = pipeline_settings(tmp_path, {"cloud": broker}, {"cloud": consumer})
    with running(settings) as engine:
        await_view(engine, "cloud", lambda view: offsets(view, group, topic) == [3])
        # it is in the checkpoint a moment later than in the view, and nobody can be asked for it again
        later(engine, "cloud")
    committed(hands, group, topic, 7)
    with running(settings) as engine:
        view = await_view(engine, "cloud", lambda view: offsets(view, group, topic) == [3, 7])
        status = view.group(group)
        assert status is not None
        assert status.totallag == 2
