"""How far a read has come: gaps, ends and strangers among the messages."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from confluent_kafka import OFFSET_END, KafkaError, KafkaException, Message, TopicPartition

from warren.consumer import drain
from warren.consumer.drain import Drain, StalledError, _Reading
from warren.consumer.plan import Range
from warren.kafka.batch import RawRecords


def message(offset: int, partition: int = 0) -> Message:
    return Message(topic="offsets", partition=partition, offset=offset, key=b"k%d" % offset, value=b"v")


def end_of(offset: int, partition: int = 0) -> Message:
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
    assert orders(reading.take([message(5), end_of(8)])) == [5]
    assert reading.done


def test_an_end_before_the_range_is_read_leaves_it_open() -> None:
    # a new leader may not know yet how far its log is committed
    reading = _Reading([Range(0, 5, 8, 0)])
    reading.take([message(5), end_of(6)])
    assert reading.unfinished() == [(0, 6)]


def test_an_empty_partition_ends_at_zero() -> None:
    reading = _Reading([Range(0, 0, 3, 0)])
    assert orders(reading.take([end_of(0)])) == []
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


class Partitions:
    """Librdkafka's side: what each fetch brings, from the offsets that were assigned."""

    def __init__(self, fetch: Callable[[int, int], list[Message]], *, answers: bool = True) -> None:
        self._fetch = fetch
        self._answers = answers
        # partition: next offset
        self._at: dict[int, int] = {}
        self.assigned: list[dict[int, int]] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._at = {each.partition: each.offset for each in partitions}
        self.assigned.append(dict(self._at))

    def unassign(self) -> None:
        self._at = {}

    def get_watermark_offsets(self, *_: Any, **__: Any) -> tuple[int, int]:
        if not self._answers:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return 0, 1_000_000

    def consume(self, _count: int, timeout: float) -> list[Message]:
        time.sleep(min(timeout, 0.002))
        found = [message for partition, at in self._at.items() for message in self._fetch(partition, at)]
        for each in found:
            if each.error() is None:
                self._at[each.partition() or 0] = (each.offset() or 0) + 1
        return found


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("STALL_S", 0.4), ("ASK_AGAIN_S", 0.1), ("UNREADABLE_S", 0.15)):
        monkeypatch.setattr(drain, name, seconds)


def drain_of(partitions: Partitions) -> Drain:
    made = Drain({"bootstrap.servers": "127.0.0.1:1"}, "offsets")
    made._consumer = cast("Any", partitions)
    return made


def one_each(partition: int, at: int) -> list[Message]:
    return [message(at, partition)]


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize(
    "instead",
    [
        pytest.param(list, id="silence"),
        pytest.param(lambda: [failure()], id="errors"),
    ],
)
def test_a_read_hung_for_ever_while_other_partitions_brought_records(
    instead: Callable[[], list[Message]],
) -> None:
    # partition 0 is not served; partition 1 goes on after the end of its range
    partitions = Partitions(
        lambda partition, at: one_each(partition, at) if partition else instead(), answers=False
    )
    with pytest.raises(StalledError, match="though 5 are to be read"):
        list(drain_of(partitions).records([Range(0, 5, 10, 0), Range(1, 5, 8, 0)]))
    # what is read already was not asked for again
    assert partitions.assigned[0] == {0: 5, 1: 5}
    assert partitions.assigned[1:] == [{0: 5}] * (len(partitions.assigned) - 2) + [{0: OFFSET_END}]


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize(("begin", "end"), [(7, 8), (7, 30), (5, 6), (20, 40), (30, 50)])
def test_damaged_records_stopped_the_cluster_for_as_long_as_the_topic_kept_them(begin: int, end: int) -> None:
    """Records in a batch whose bytes are damaged: fetches bring nothing, or an error, and no more."""
    errors = itertools.cycle([[], [failure()]])

    def fetch(partition: int, at: int) -> list[Message]:
        if begin <= at < end:
            return next(errors)
        return one_each(partition, at) if 0 <= at < 60 else [end_of(60)]

    drain = drain_of(Partitions(fetch))
    found = [order for chunk in drain.records([Range(0, 5, 40, 0)]) for order in orders(chunk)]
    assert found == [each for each in range(5, 40) if not begin <= each < end]
    assert drain.damaged == min(end, 40) - begin


@pytest.mark.usefixtures("hurry")
def test_nothing_is_skipped_where_nothing_at_all_can_be_read() -> None:
    drain = drain_of(Partitions(lambda *_: []))
    with pytest.raises(StalledError):
        list(drain.records([Range(0, 5, 40, 0)]))
    assert drain.damaged == 0


@pytest.mark.usefixtures("hurry")
def test_nothing_is_skipped_when_the_brokers_begin_to_respond() -> None:
    began = time.monotonic()

    def fetch(partition: int, at: int) -> list[Message]:
        if at == OFFSET_END:
            return [end_of(60)]
        return one_each(partition, at) if time.monotonic() - began > 0.6 else []

    drain = drain_of(Partitions(fetch))
    # the ranges are read again, from their beginning
    with pytest.raises(StalledError):
        list(drain.records([Range(0, 5, 10, 0)]))
    assert drain.damaged == 0


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("responses", [1, 2])
def test_nothing_is_skipped_when_the_brokers_cease_to_respond(responses: int) -> None:
    left = itertools.count(-responses)

    def fetch(partition: int, at: int) -> list[Message]:
        if at == OFFSET_END:
            return [end_of(60)]
        # a few records after the first ones, then silence
        return one_each(partition, at) if at > 6 and next(left) < 0 else []

    drain = drain_of(Partitions(fetch))
    with pytest.raises(StalledError):
        list(drain.records([Range(0, 5, 40, 0)]))
    assert drain.damaged == 0


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("end", [40, 6, 3])
def test_nothing_is_skipped_without_a_record_behind_it(end: int) -> None:
    # leaders that respond, and send no record at all
    drain = drain_of(Partitions(lambda _, at: [end_of(end)] if at == OFFSET_END else []))
    with pytest.raises(StalledError):
        list(drain.records([Range(0, 5, 40, 0)]))
    assert drain.damaged == 0
