"""Commits in real transactions: those that were committed, aborted, or left open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.conftest import BrokerFactory
from tests.group_offsets import set_offset
from tests.integration.pipeline.hands import Hands, client_of
from tests.processes import eventually

from warren.common import frames
from warren.common.group_filter import GroupFilter
from warren.consumer.plan import Position
from warren.consumer.reader import UNCOMMITTED, read
from warren.consumer.source import OffsetsPlanner, OffsetsSettings
from warren.consumer.transactions import OpenTransactions
from warren.demo.broker import Broker
from warren.kafka.brokers import Brokers
from warren.storage.bucket import CommitsSeen

TOPIC = "orders"


class Reader:
    """A consumer module by hand: plans and reads one trigger after the other."""

    def __init__(self, broker: Broker, patience_s: float) -> None:
        client = client_of(broker)
        self._settings = OffsetsSettings(
            "mine", client, "__consumer_offsets", False, False, 10_000, 1, 5, 0, GroupFilter()
        )
        self._planner = OffsetsPlanner(self._settings, Brokers(client))
        self._planner._open = OpenTransactions(patience_s)
        self.position: Position | None = None
        # group: the offsets that it committed
        self.seen: dict[str, list[int]] = {}
        self.skipped: dict[str, int] = {}

    def trigger(self) -> None:
        end = self._planner.advanced(self.position)
        for task in self._planner.read_tasks(self.position, end, together=True):
            for batch in read(self._settings, task):
                self._take(batch.to_pylist())
        self.position = end

    def _take(self, rows: list[dict[str, object]]) -> None:
        for row in rows:
            payload = row["payload"]
            assert isinstance(payload, bytes)
            if row["kind"] == frames.COMMITS:
                seen = CommitsSeen.read(payload)
                for group, offset in zip(seen.group.to_pylist(), seen.offset.tolist(), strict=True):
                    self.seen.setdefault(group, []).append(offset)
            elif row["kind"] == frames.SKIPPED:
                for reason, count in json.loads(payload)["skipped"].items():
                    self.skipped[reason] = self.skipped.get(reason, 0) + count

    def reads(self, group: str, offset: int) -> bool:
        self.trigger()
        return offset in self.seen.get(group, [])


@pytest.fixture
def broker(broker_factory: BrokerFactory) -> Broker:
    # all groups in one partition: an open transaction of one is in the way of the others
    broker = broker_factory(offsets_partitions=1)
    Hands(broker).make(TOPIC)
    return broker


@contextmanager
def transaction(broker: Broker, group: str, offset: int, timeout_s: int = 60) -> Iterator[Producer]:
    """A transaction that commits an offset of a group, left open."""
    settings = {**broker.client_settings, "log_level": 0}
    producer = Producer(
        settings | {"transactional.id": group, "transaction.timeout.ms": timeout_s * 1_000, "linger.ms": 0}
    )
    consumer = Consumer(settings | {"group.id": group})
    producer.init_transactions(30)
    producer.begin_transaction()
    metadata = consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, offset)], metadata, 30)
    yield producer
    consumer.close()


def commit(broker: Broker, group: str, offset: int) -> None:
    set_offset(Hands(broker).admin, group, TOPIC, offset)


def test_a_group_whose_transactions_are_all_aborted_has_no_commit(broker: Broker) -> None:
    with transaction(broker, "aborts", 7) as producer:
        producer.abort_transaction(30)
    with transaction(broker, "commits", 8) as producer:
        producer.commit_transaction(30)
    commit(broker, "plain", 9)
    reader = Reader(broker, patience_s=60)
    assert eventually(lambda: reader.reads("plain", 9), 30, every_s=0.2)
    assert reader.seen == {"commits": [8], "plain": [9]}


def test_what_comes_after_an_open_transaction_is_read_when_it_ends(broker: Broker) -> None:
    commit(broker, "before", 1)
    reader = Reader(broker, patience_s=60)
    assert eventually(lambda: reader.reads("before", 1), 30, every_s=0.2)
    # nobody ends it: Kafka does, after its time
    with transaction(broker, "hangs", 2, timeout_s=3):
        commit(broker, "after", 3)
        reader.trigger()
        assert reader.seen == {"before": [1]}
        assert reader.position is not None
        assert not reader.position.live
        assert eventually(lambda: reader.reads("after", 3), 60, every_s=0.2)
    assert "hangs" not in reader.seen
    assert reader.skipped.get(UNCOMMITTED) is None
    assert eventually(lambda: reader.trigger() or reader.position.live, 10)  # type: ignore[func-returns-value, union-attr]


def test_an_open_transaction_is_not_waited_for_for_ever(broker: Broker) -> None:
    commit(broker, "before", 1)
    reader = Reader(broker, patience_s=2)
    assert eventually(lambda: reader.reads("before", 1), 30, every_s=0.2)
    with transaction(broker, "hangs", 2) as producer:
        commit(broker, "after", 3)
        assert eventually(lambda: reader.reads("after", 3), 30, every_s=0.2)
        assert reader.skipped[UNCOMMITTED] >= 2
        commit(broker, "after", 4)
        assert eventually(lambda: reader.reads("after", 4), 30, every_s=0.2)
        producer.abort_transaction(30)
    read_past = reader.skipped[UNCOMMITTED]
    # nothing is read twice, and aborted ones are left out again
    with transaction(broker, "aborts", 5) as producer:
        producer.abort_transaction(30)
    commit(broker, "after", 6)
    assert eventually(lambda: reader.reads("after", 6), 30, every_s=0.2)
    assert reader.seen["after"] == [3, 4, 6]
    assert "aborts" not in reader.seen
    assert reader.skipped[UNCOMMITTED] == read_past
