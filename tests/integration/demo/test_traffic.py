"""Traffic on a real broker: the groups are what the cast says, and nothing stays behind."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
)
from confluent_kafka.admin import AdminClient

from warren.demo.clients import TopicSpec, ensure_topics, heads_of
from warren.demo.groups import CAST, Protocol
from warren.demo.topics import AUDIT, CLICKS, ORDERS, TOPICS
from warren.demo.traffic import Traffic
from warren.errors import WarrenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import BrokerFactory

    from warren.demo.broker import Broker

PATIENCE_S = 60.0
SIZES = {topic.name: topic.partitions for topic in TOPICS}


@pytest.fixture(scope="module")
def admin(broker: Broker) -> AdminClient:
    return AdminClient({**broker.client_settings, "log_level": 0})


@pytest.fixture(scope="module")
def running(broker: Broker) -> Iterator[Traffic]:
    """Traffic that has played long enough for every group to have done what it does."""
    with Traffic(broker.bootstrap_servers, seed=7) as traffic:
        wait_for(lambda: all(done.commits >= wanted(done.group) for done in traffic.progress()))
        yield traffic


def wanted(group: str) -> int:
    actor = next(actor for actor in CAST if actor.name == group)
    return actor.commits or 6


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.2)


def described(admin: AdminClient, group: str) -> Any:
    return admin.describe_consumer_groups([group], request_timeout=10)[group].result()


def committed(admin: AdminClient, group: str) -> dict[tuple[str, int], int]:
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked, request_timeout=10)[group].result()
    return {(at.topic, at.partition): at.offset for at in found.topic_partitions}


@pytest.mark.parametrize("actor", CAST, ids=lambda actor: actor.name)
def test_a_group_has_committed_for_every_partition(running: Traffic, admin: AdminClient, actor: Any) -> None:
    assert running.cast == CAST
    wanted_partitions = {(topic.name, p) for topic in actor.topics for p in range(topic.partitions)}
    assert set(committed(admin, actor.name)) == wanted_partitions


@pytest.mark.parametrize("actor", CAST, ids=lambda actor: actor.name)
def test_a_group_has_the_members_it_should(running: Traffic, admin: AdminClient, actor: Any) -> None:
    assert running.cast == CAST
    gone = actor.leaves or actor.protocol is Protocol.ASSIGN
    wait_for(lambda: len(described(admin, actor.name).members) == (0 if gone else actor.members))
    group = described(admin, actor.name)
    assert group.state == (ConsumerGroupState.EMPTY if gone else ConsumerGroupState.STABLE)
    if not gone:
        assert all(member.assignment.topic_partitions for member in group.members)
        assert {member.client_id for member in group.members} == {
            f"{actor.name}-{number + 1}" for number in range(actor.members)
        }


@pytest.mark.parametrize(
    ("group", "kind"),
    [("shipping", ConsumerGroupType.CONSUMER), ("billing", ConsumerGroupType.CLASSIC)],
    ids=["KIP-848", "classic"],
)
def test_a_group_speaks_its_protocol(
    running: Traffic, admin: AdminClient, group: str, kind: ConsumerGroupType
) -> None:
    assert running.cast == CAST
    assert described(admin, group).type == kind


def test_commits_move_as_the_cast_says(running: Traffic, admin: AdminClient) -> None:
    # group -> (topic, partition) -> the offsets it was seen at
    seen: dict[str, dict[tuple[str, int], list[int]]] = defaultdict(lambda: defaultdict(list))
    before = {done.group: done.commits for done in running.progress()}

    def look() -> bool:
        for actor in CAST:
            for at, offset in committed(admin, actor.name).items():
                seen[actor.name][at].append(offset)
        done = {done.group: done.commits for done in running.progress()}
        return all(done[group] >= before[group] + 6 for group in ("replayer", "recommender", "mailer"))

    wait_for(look)
    for name in ("fraud-check", "newcomer", "auditor"):
        assert all(len(set(offsets)) == 1 for offsets in seen[name].values()), name
    assert len(set(seen["mailer"]["payments", 0])) == 1
    assert all(offsets == sorted(offsets) for offsets in seen["recommender"].values())
    assert all(len(set(offsets)) > 1 for offsets in seen["recommender"].values())
    assert all(offsets != sorted(offsets) for offsets in seen["replayer"].values())
    heads = heads_of(admin, SIZES)
    for name in ("fraud-check", "recommender", "replayer"):
        assert all(offsets[-1] < heads[at] - 100 for at, offsets in seen[name].items()), name
    assert seen["mailer"]["payments", 0][-1] < heads["payments", 0] - 100
    assert seen["newcomer"]["audit", 0][-1] == seen["auditor"]["audit", 0][-1] == heads["audit", 0]


def test_topics_grow_by_their_rhythm(running: Traffic, admin: AdminClient) -> None:
    assert running.cast == CAST
    before = heads_of(admin, SIZES)
    wait_for(lambda: heads_of(admin, SIZES)["orders", 0] > before["orders", 0])
    after = heads_of(admin, SIZES)
    assert all(
        after["clicks", partition] > before["clicks", partition] for partition in range(CLICKS.partitions)
    )
    assert after["audit", 0] == before["audit", 0] == AUDIT.backlog
    assert all(before["orders", partition] >= ORDERS.backlog for partition in range(ORDERS.partitions))


def test_progress_is_what_the_broker_says(running: Traffic, admin: AdminClient) -> None:
    done = next(done for done in running.progress() if done.group == "auditor")
    assert (done.offset, done.lag, done.trouble) == (AUDIT.backlog, 0, "")
    assert committed(admin, "auditor") == {("audit", 0): AUDIT.backlog}


def test_a_topic_of_somebody_else_is_left_alone(admin: AdminClient) -> None:
    ensure_topics(admin, (TopicSpec("traffic-test-foreign", 2),))
    with pytest.raises(WarrenError, match="traffic-test-foreign has 2 partitions instead of 3"):
        ensure_topics(admin, (TopicSpec("traffic-test-foreign", 3),))
    # and what is there already is fine
    ensure_topics(admin, (TopicSpec("traffic-test-foreign", 2),))


def test_a_list_that_is_older_than_a_topic_of_somebody_else(broker: Broker) -> None:
    class OldList(AdminClient):
        """Lists no topics, as a broker whose metadata is old, unless it is asked for one by name."""

        def list_topics(self, *args: Any, **settings: Any) -> Any:
            listed = super().list_topics(*args, **settings)
            if not args:
                listed.topics = {}
            return listed

    admin = OldList({**broker.client_settings, "log_level": 0})
    ensure_topics(admin, (TopicSpec("traffic-test-unlisted", 2),))
    with pytest.raises(WarrenError, match="traffic-test-unlisted has 2 partitions instead of 3"):
        ensure_topics(admin, (TopicSpec("traffic-test-unlisted", 3),))
    ensure_topics(admin, (TopicSpec("traffic-test-unlisted", 2),))


def test_a_second_run_on_the_same_broker_goes_on_and_stop_leaves_nothing(
    broker_factory: BrokerFactory,
) -> None:
    broker = broker_factory()
    admin = AdminClient({**broker.client_settings, "log_level": 0})
    others = set(threading.enumerate())
    offsets = []
    for _ in range(2):
        with Traffic(broker.bootstrap_servers) as traffic:
            wait_for(lambda: all(done.commits >= 2 for done in traffic.progress()))
        assert set(threading.enumerate()) <= others
        for actor in CAST:
            group = described(admin, actor.name)
            assert (group.state, group.members) == (ConsumerGroupState.EMPTY, []), actor.name
        offsets.append({actor.name: committed(admin, actor.name) for actor in CAST})
    first, second = offsets
    assert heads_of(admin, SIZES)["audit", 0] == AUDIT.backlog
    assert second["mailer"]["payments", 0] == first["mailer"]["payments", 0]
    assert all(second["recommender"][at] > offset for at, offset in first["recommender"].items())
    assert all(second["replayer"][at] < offset + 40 for at, offset in first["replayer"].items())
