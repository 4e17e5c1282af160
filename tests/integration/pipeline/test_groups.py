"""Groups as real consumers make them: who owns what, and how a group or a part of it goes away."""

from __future__ import annotations

import threading
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.group_offsets import set_offset
from tests.integration.pipeline.conftest import RAW
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    commit_key,
    group_tombstone,
    later,
    now_ms,
    offsets,
    windows,
)
from tests.old_broker import OldBroker

from warren.demo.broker import Broker
from warren.pipeline.engine import Engine
from warren.snapshot.view import ClusterView

WEEK_MS = 604_800_000


class Member(threading.Thread):
    """A consumer that polls in a thread of its own, so that it does not hold up its group; nobody else touches it."""

    def __init__(
        self,
        broker: Broker | OldBroker,
        name: str,
        client_id: str,
        protocol: str,
        commits: dict[int, int],
    ) -> None:
        """`name`: of group and topic; `commits`: partition: offset, once the member was given all of them."""
        super().__init__(daemon=True)
        self._settings: dict[str, Any] = {
            **broker.client_settings,
            "group.id": name,
            "client.id": client_id,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "log_level": 0,
        }
        self._topic = name
        self._commits = commits
        self._leaving = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self.join(30)

    def run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([self._topic])
        while not self._leaving.is_set():
            consumer.poll(0.1)
            if self._commits and {each.partition for each in consumer.assignment()} >= self._commits.keys():
                places = [TopicPartition(self._topic, *each) for each in self._commits.items()]
                consumer.commit(offsets=places, asynchronous=False)
                self._commits = {}
        consumer.close()


def owners(view: ClusterView, group: str, topic: str) -> list[tuple[str, str]]:
    """Owner and client id of each partition."""
    return [(each.owner, each.client_id) for each in (view.detail(group) or {}).get(topic, ())]


def lags(view: ClusterView, group: str) -> list[int]:
    status = view.group(group)
    return [] if status is None else [each.current_lag for each in status.partitions]


def committed(hands: Hands, group: str, topic: str, offset: int, partition: int = 0) -> None:
    """A commit by the broker itself, of a group without members."""
    set_offset(hands.admin, group, topic, offset, partition)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_owners_come_and_go_with_the_members_and_the_group_with_its_deletion(
    engine: Engine, hands: Hands, broker: Broker, protocol: str
) -> None:
    topic = group = f"groups-owned-{protocol}"
    hands.make(topic, 2)
    hands.fill(topic, 3, 0)
    hands.fill(topic, 3, 1)
    mine = ("/127.0.0.1", "first-client")
    with Member(broker, group, "first-client", protocol, {0: 1, 1: 2}):
        view = await_view(
            engine,
            "live",
            # heads of a topic that was just made can come a trigger later
            lambda view: owners(view, group, topic) == [mine] * 2 and lags(view, group) == [2, 1],
        )
        status = view.group(group)
        assert status is not None
        assert [(each.owner, each.client_id) for each in status.partitions] == [mine] * 2
        both = {"first-client", "second-client"}
        with Member(broker, group, "second-client", protocol, {}):
            await_view(
                engine, "live", lambda view: {client for _, client in owners(view, group, topic)} == both
            )
        # the first takes over what the second gave up
        await_view(engine, "live", lambda view: owners(view, group, topic) == [mine] * 2)
    # both have left, their commits stay
    view = await_view(engine, "live", lambda view: owners(view, group, topic) == [("", "")] * 2)
    assert len(windows(view, group)) == 2
    hands.admin.delete_consumer_groups([group])[group].result()
    await_view(engine, "live", lambda view: group not in view.groups())


def test_a_group_that_only_commits_has_no_owner_and_goes_with_its_deletion(
    engine: Engine, hands: Hands
) -> None:
    hands.make("groups-simple", 2)
    committed(hands, "groups-simple-group", "groups-simple", 0)
    committed(hands, "groups-simple-group", "groups-simple", 0, partition=1)
    view = await_view(engine, "live", lambda view: len(windows(view, "groups-simple-group")) == 2)
    assert owners(view, "groups-simple-group", "groups-simple") == [("", "")] * 2
    hands.admin.delete_consumer_groups(["groups-simple-group"])["groups-simple-group"].result()
    await_view(engine, "live", lambda view: "groups-simple-group" not in view.groups())


def test_a_groups_tombstone_buries_what_is_before_it_only(engine: Engine, hands: Hands) -> None:
    topic = hands.make("groups-buried", 2)
    hands.write(
        RAW, [commit("groups-buried-group", topic, 1), commit("groups-buried-group", topic, 1, partition=1)]
    )
    await_view(engine, "live", lambda view: len(windows(view, "groups-buried-group")) == 2)
    hands.write(RAW, [group_tombstone("groups-buried-group"), commit("groups-buried-group", topic, 7)])
    view = await_view(engine, "live", lambda view: 7 in offsets(view, "groups-buried-group", topic))
    assert offsets(view, "groups-buried-group", topic) == [7]
    assert list(windows(view, "groups-buried-group")) == [(topic, 0)]


def test_a_commits_tombstone_takes_that_partition_alone(engine: Engine, hands: Hands) -> None:
    topic = hands.make("groups-parted", 2)
    group = "groups-parted-group"
    hands.write(RAW, [commit(group, topic, 1), commit(group, topic, 1, partition=1)])
    await_view(engine, "live", lambda view: len(windows(view, group)) == 2)
    hands.write(RAW, [(commit_key(group, topic, 1), None)])
    view = await_view(engine, "live", lambda view: len(windows(view, group)) == 1)
    assert offsets(view, group, topic) == [1]
    hands.write(RAW, [(commit_key(group, topic, 0), None)])
    await_view(engine, "live", lambda view: group not in view.groups())


def test_a_deleted_group_is_gone_at_once_and_comes_back_with_its_next_commit(
    engine: Engine, hands: Hands
) -> None:
    topic = hands.make("groups-deleted")
    for group in ("groups-deleted-group", "groups-bystander-group"):
        hands.write(RAW, [commit(group, topic, offset) for offset in (1, 2)])
    await_view(
        engine,
        "live",
        lambda view: all(
            offsets(view, each, topic) == [1, 2]
            for each in ("groups-deleted-group", "groups-bystander-group")
        ),
    )
    engine.delete_group("live", "groups-deleted-group")
    view = engine.snapshot("live")
    assert view is not None
    assert "groups-deleted-group" not in view.groups()
    view = later(engine, "live", 3)
    assert "groups-deleted-group" not in view.groups()
    assert offsets(view, "groups-bystander-group", topic) == [1, 2]
    hands.write(RAW, [commit("groups-deleted-group", topic, 3)])
    view = await_view(engine, "live", lambda view: windows(view, "groups-deleted-group"))
    assert offsets(view, "groups-deleted-group", topic) == [3]


def test_one_topic_of_a_group_can_be_deleted(engine: Engine, hands: Hands) -> None:
    kept, dropped = hands.make("groups-topic-kept"), hands.make("groups-topic-dropped")
    group = "groups-two-topics"
    hands.write(RAW, [commit(group, kept, 1), commit(group, dropped, 1)])
    await_view(engine, "live", lambda view: len(windows(view, group)) == 2)
    engine.delete_topic("live", group, dropped)
    view = engine.snapshot("live")
    assert view is not None
    assert list(windows(view, group)) == [(kept, 0)]
    assert list(windows(later(engine, "live", 3), group)) == [(kept, 0)]


def test_a_group_that_is_not_known_can_be_deleted(engine: Engine) -> None:
    engine.delete_group("live", "groups-nobody")
    engine.delete_topic("live", "groups-nobody", "nothing")
    engine.delete_group("nowhere", "groups-nobody")
    assert engine.progress("live").error == ""


def test_a_group_without_commits_for_long_expires(engine: Engine, hands: Hands) -> None:
    topic = hands.make("groups-expiring")
    # a week is over in a few seconds from now
    almost = now_ms() - WEEK_MS + 12_000
    hands.write(
        RAW, [commit("groups-expiring-group", topic, 1, almost), commit("groups-lasting-group", topic, 1)]
    )
    await_view(engine, "live", lambda view: windows(view, "groups-expiring-group"))
    view = await_view(engine, "live", lambda view: "groups-expiring-group" not in view.groups())
    assert view.taken_at_ms >= almost + WEEK_MS
    assert "groups-lasting-group" in view.groups()
