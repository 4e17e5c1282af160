"""How far a read has come: gaps, ends and strangers among the messages."""

from __future__ import annotations

from confluent_kafka import KafkaError, Message

from warren.consumer.drain import _Reading
from warren.consumer.plan import Range
from warren.kafka.batch import RawRecords


def message(offset: int, partition: int = 0) -> Message:
    return Message(topic="offsets", partition=partition, offset=offset, key=b"k%d" % offset, value=b"v")


def end(offset: int, partition: int = 0) -> Message:
    """What the client gives at the end of a partition: an error with the next offset."""
    error = KafkaError(KafkaError._PARTITION_EOF)
    return Message(topic="offsets", partition=partition, offset=offset, error=error)


def failure() -> Message:
    return Message(topic="offsets", partition=7, offset=-1001, error=KafkaError(KafkaError._ALL_BROKERS_DOWN))


def orders(records: RawRecords) -> list[int]:
    return list(records.order.tolist())


def test_a_range_is_read_when_its_last_record_has_come() -> None:
    reading = _Reading([Range(0, 5, 8, 0)])
    assert orders(reading.take([message(5), message(6)])) == [5, 6]
    assert (reading.done, reading.left(), reading.unfinished()) == (False, 1, [(0, 7)])
    reading.take([message(7)])
    assert (reading.done, reading.left(), reading.unfinished()) == (True, 0, [])


def test_what_comes_after_a_range_or_before_it_does_not_belong_to_it() -> None:
    reading = _Reading([Range(0, 5, 8, 0), Range(2, 0, 1, 0)])
    records = reading.take([message(4), message(6), message(8), message(9), message(0, 2), message(3, 2)])
    assert orders(records) == [6, 0]
    assert [key.as_py() for key in records.keys] == [b"k6", b"k0"]
    assert reading.done


def test_a_gap_at_the_end_is_closed_by_the_next_record() -> None:
    # compaction or a transaction's marker took 6 and 7
    reading = _Reading([Range(0, 5, 8, 0)])
    assert orders(reading.take([message(5), message(12)])) == [5]
    assert reading.done


def test_a_gap_at_the_end_is_closed_by_the_end_of_the_partition() -> None:
    reading = _Reading([Range(0, 5, 8, 0)])
    assert orders(reading.take([message(5), end(8)])) == [5]
    assert reading.done


def test_an_end_before_the_range_is_read_leaves_it_open() -> None:
    # a new leader may not know yet how far its log is committed
    reading = _Reading([Range(0, 5, 8, 0)])
    reading.take([message(5), end(6)])
    assert reading.unfinished() == [(0, 6)]


def test_an_empty_partition_ends_at_zero() -> None:
    reading = _Reading([Range(0, 0, 3, 0)])
    assert orders(reading.take([end(0)])) == []
    assert reading.unfinished() == [(0, 0)]


def test_other_errors_change_nothing() -> None:
    reading = _Reading([Range(0, 5, 8, 0)])
    assert orders(reading.take([failure(), message(5)])) == [5]
    assert reading.unfinished() == [(0, 6)]


def test_orders_are_offsets_moved_by_the_shift_of_their_partition() -> None:
    reading = _Reading([Range(0, 0, 9, 0), Range(1, 0, 9, 1_000)])
    assert orders(reading.take([message(3), message(3, 1), message(4)])) == [3, 1_003, 4]


def test_records_that_are_no_more_are_not_waited_for() -> None:
    reading = _Reading([Range(0, 5, 8, 0), Range(1, 5, 8, 0)])
    reading.cut(0, 2)
    reading.cut(1, 100)
    assert reading.unfinished() == [(1, 5)]
