"""Fixed ranges of a real topic: every record of them once, whatever happened to the topic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from tests.conftest import BrokerFactory
from tests.integration.pipeline.hands import Hands, client_of
from tests.processes import eventually

from warren.consumer import drain as module
from warren.consumer.drain import Drain
from warren.consumer.plan import Range
from warren.demo.broker import Broker
from warren.kafka.brokers import LATEST, Brokers, Limit


@pytest.fixture(scope="module")
def hands(broker: Broker) -> Hands:
    return Hands(broker)


def numbered(count: int, first: int = 0) -> list[tuple[bytes | None, bytes | None]]:
    return [(b"%d" % number, b"") for number in range(first, first + count)]


def read(drain: Drain, *ranges: Range) -> list[tuple[int, bytes]]:
    """Order and key of every record."""
    found = list(_read(drain, ranges))
    assert len(found) == len({order for order, _ in found})
    return sorted(found)


def _read(drain: Drain, ranges: tuple[Range, ...]) -> Iterator[tuple[int, bytes]]:
    for records in drain.records(ranges):
        yield from zip(records.order.tolist(), records.keys.to_pylist(), strict=True)


def test_ranges_are_read_to_the_record_again_and_again(broker: Broker, hands: Hands) -> None:
    hands.make("drain-plain", 2)
    hands.write("drain-plain", numbered(10))
    hands.write("drain-plain", numbered(4, 100), partition=1)
    drain = Drain(client_of(broker), "drain-plain")
    expected = [(3, b"3"), (4, b"4"), (1_001, b"101"), (1_002, b"102")]
    for _ in range(3):
        assert read(drain, Range(0, 3, 5, 0), Range(1, 1, 3, 1_000)) == expected
    # history after the present, of the same partition
    assert read(drain, Range(0, 8, 10, 0), Range(0, 0, 2, 0)) == [(0, b"0"), (1, b"1"), (8, b"8"), (9, b"9")]


def test_transactions_leave_gaps(broker: Broker, hands: Hands) -> None:
    hands.make("drain-transactions")
    producer = Producer({**broker.client_settings, "transactional.id": "drain-test", "log_level": 0})
    producer.init_transactions(30)
    for number in range(3):
        producer.begin_transaction()
        producer.produce("drain-transactions", b"", b"%d" % number)
        producer.commit_transaction(30)
    drain = Drain(client_of(broker), "drain-transactions")
    # records at 0, 2 and 4, markers between them and at the end
    assert read(drain, Range(0, 0, 6, 0)) == [(0, b"0"), (2, b"1"), (4, b"2")]
    assert read(drain, Range(0, 1, 2, 0)) == []
    assert read(drain, Range(0, 5, 6, 0)) == []


@pytest.mark.parametrize("committed", [True, False])
def test_what_aborted_transactions_wrote_is_left_out(broker: Broker, hands: Hands, committed: bool) -> None:
    topic = hands.make(f"drain-aborted-{committed}")
    producer = Producer({**broker.client_settings, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    hands.write(topic, numbered(1))
    for number in range(1, 4):
        producer.begin_transaction()
        producer.produce(topic, b"", b"%d" % number)
        producer.flush(30)
        producer.commit_transaction(30) if number == 2 else producer.abort_transaction(30)
    drain = Drain(client_of(broker), topic, committed=committed)
    # records at 0, 1, 3 and 5, a marker after each but the first
    aborted = [] if committed else [(1, b"1"), (5, b"3")]
    assert read(drain, Range(0, 0, 7, 0)) == sorted([(0, b"0"), (3, b"2"), *aborted])
    # a range of nothing else, at the end and before it
    assert read(drain, Range(0, 5, 7, 0)) == aborted[1:]
    assert read(drain, Range(0, 1, 3, 0)) == aborted[:1]


def test_what_an_open_transaction_is_in_the_way_of_can_be_read_all_the_same(
    broker: Broker, hands: Hands
) -> None:
    topic = hands.make("drain-open")
    producer = Producer({**broker.client_settings, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    hands.write(topic, numbered(1))
    producer.begin_transaction()
    producer.produce(topic, b"", b"1")
    producer.flush(30)
    hands.write(topic, numbered(1, 2))
    brokers, limit = Brokers(client_of(broker)), Limit(20)
    assert brokers.offsets([(topic, 0)], LATEST, limit) == {(topic, 0): 3}
    assert brokers.offsets([(topic, 0)], LATEST, limit, committed=True) == {(topic, 0): 1}
    assert read(Drain(client_of(broker), topic), Range(0, 0, 1, 0)) == [(0, b"0")]
    assert read(Drain(client_of(broker), topic, committed=False), Range(0, 1, 3, 0)) == [(1, b"1"), (2, b"2")]
    producer.abort_transaction(30)
    assert eventually(
        lambda: brokers.offsets([(topic, 0)], LATEST, limit, committed=True) == {(topic, 0): 4}, 20
    )
    assert read(Drain(client_of(broker), topic), Range(0, 0, 4, 0)) == [(0, b"0"), (2, b"2")]


def test_compaction_leaves_gaps(broker: Broker, hands: Hands) -> None:
    hands.make(
        "drain-compacted",
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.001",
        delete_retention_ms="0",
        max_compaction_lag_ms="100",
    )
    drain = Drain(client_of(broker), "drain-compacted")

    def compacted() -> bool:
        # the active segment is never compacted, so each write makes the one before ripe
        hands.write("drain-compacted", [(b"same", b"x")] * 3)
        end = hands.heads("drain-compacted")["drain-compacted", 0]
        return len(read(drain, Range(0, 0, end, 0))) < end

    assert eventually(compacted, 60)
    end = hands.heads("drain-compacted")["drain-compacted", 0]
    assert read(drain, Range(0, 0, end, 0))[-1][0] == end - 1


def test_a_chunk_is_bounded_in_bytes_too(
    broker: Broker, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 10_000)
    monkeypatch.setattr(module, "_TAKE", 2)
    hands.make("drain-large")
    hands.write("drain-large", [(b"%d" % number, b"x" * 3_000) for number in range(20)])
    chunks = list(Drain(client_of(broker), "drain-large").records([Range(0, 0, 20, 0)]))
    assert [order for chunk in chunks for order in chunk.order.tolist()] == list(range(20))
    assert all(chunk.nbytes < 10_000 + 2 * 3_100 for chunk in chunks)


def test_what_retention_took_is_not_waited_for(broker: Broker, hands: Hands) -> None:
    hands.make("drain-cut")
    hands.write("drain-cut", numbered(10))
    hands.cut("drain-cut", 6)
    drain = Drain(client_of(broker), "drain-cut")
    assert read(drain, Range(0, 0, 8, 0)) == [(6, b"6"), (7, b"7")]
    assert read(drain, Range(0, 0, 4, 0)) == []
    hands.cut("drain-cut", 10)
    assert read(drain, Range(0, 6, 10, 0)) == []


def test_a_topic_made_again_that_ends_before_the_range_is_not_waited_for(
    broker: Broker, hands: Hands
) -> None:
    hands.make("drain-again")
    hands.write("drain-again", numbered(10))
    drain = Drain(client_of(broker), "drain-again")
    assert len(read(drain, Range(0, 0, 10, 0))) == 10
    hands.drop("drain-again")
    hands.make("drain-again")
    hands.write("drain-again", numbered(3))
    assert read(drain, Range(0, 10, 20, 0)) == []
    assert read(drain, Range(0, 0, 3, 10)) == [(10, b"0"), (11, b"1"), (12, b"2")]


def test_a_topic_that_is_deleted_is_not_waited_for(
    broker: Broker, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GONE_S", 1.0)
    monkeypatch.setattr(module, "ASK_AGAIN_S", 1.0)
    hands.make("drain-gone")
    hands.write("drain-gone", numbered(10))
    drain = Drain(client_of(broker), "drain-gone")
    assert len(read(drain, Range(0, 0, 5, 0))) == 5
    hands.drop("drain-gone")
    assert read(drain, Range(0, 5, 10, 0)) == []


def test_partitions_that_were_added_since_the_last_read(broker: Broker, hands: Hands) -> None:
    hands.make("drain-grown")
    hands.write("drain-grown", numbered(2))
    drain = Drain(client_of(broker), "drain-grown")
    assert read(drain, Range(0, 0, 2, 0)) == [(0, b"0"), (1, b"1")]
    hands.grow("drain-grown", 3)
    hands.write("drain-grown", numbered(2, 50), partition=2)
    assert read(drain, Range(2, 0, 2, 10)) == [(10, b"50"), (11, b"51")]


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_records_that_are_damaged_on_the_brokers_disk_are_skipped_alone(
    broker_factory: BrokerFactory, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    monkeypatch.setattr(module, "STALL_S", 5.0)
    monkeypatch.setattr(module, "UNREADABLE_S", 2.0)
    broker = broker_factory()
    Hands(broker).make("drain-damaged")
    producer = Producer({**broker.client_settings, "compression.type": compression, "log_level": 0})
    for batch in range(3):
        for number in range(4):
            producer.produce("drain-damaged", b"x" * 100, b"%d" % (4 * batch + number))
        producer.flush(30)
    broker.stop()
    (segment,) = broker.data.rglob("drain-damaged-0/00000000000000000000.log")
    log = bytearray(segment.read_bytes())
    # the second batch: its header of 61 bytes says where it begins and ends
    begin = 12 + int.from_bytes(log[8:12])
    assert int.from_bytes(log[begin : begin + 8]) == 4
    end = begin + 12 + int.from_bytes(log[begin + 8 : begin + 12])
    log[begin + 61 : end] = bytes(each ^ 0x5A for each in log[begin + 61 : end])
    segment.write_bytes(log)
    broker.start()
    drain = Drain(client_of(broker), "drain-damaged")
    found = read(drain, Range(0, 0, 12, 0))
    assert found == [(each, b"%d" % each) for each in (*range(4), *range(8, 12))]
    assert drain.damaged == 4
