"""Reads fixed ranges of a topic with librdkafka, including ranges with gaps."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa
import structlog
from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from warren.clock import now_ms
from warren.consumer.plan import Range
from warren.errors import WarrenError
from warren.kafka.batch import RawRecords
from warren.kafka.brokers import SILENT
from warren.kafka.failures import Failures
from warren.kafka.login import Property, with_login

log = structlog.get_logger("warren.consumer")

# records that are decoded and reduced together: the more, the more of them are superseded by newer commits
CHUNK: Final = 500_000
# and their bytes, keys and values: a column holds 2 GiB, and records of groups with many members are large
CHUNK_BYTES: Final = 128 * 1024 * 1024
# records per call of the client
_TAKE: Final = 10_000
# without a single record for this long the read fails, unless only some records cannot be fetched; the query restarts
# and reads the same ranges
STALL_S: Final = 30.0
# an offset that gives no record for this long while the partition's leader responds cannot be read
UNREADABLE_S: Final = 3.0
# a fetch can get lost when its broker goes away: after this long without a record it is requested again
ASK_AGAIN_S: Final = 3.0

# a topic that the brokers do not list for this long is deleted
GONE_S: Final = 10.0
_NOT_THERE: Final = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
}

_CONSUMER: Final = {
    # never used: partitions are assigned and nothing is committed
    "group.id": "warren",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # records that retention has deleted are skipped
    "auto.offset.reset": "earliest",
    "check.crcs": False,
    "fetch.wait.max.ms": 10,
    "fetch.max.bytes": 52_428_800,
    "max.partition.fetch.bytes": 4_194_304,
    "queued.max.messages.kbytes": 32_768,
    # the queue is full while a chunk is decoded: with the default of 1 s a replay waits for records a fifth of its time
    "fetch.queue.backoff.ms": 20,
    "log_level": 2,
}


class StalledError(WarrenError):
    """Expected records do not arrive."""


class DeniedError(WarrenError):
    """The brokers do not let Warren read the topic."""


class Drain:
    """One consumer, kept open between triggers."""

    def __init__(self, client: Mapping[str, Property], topic: str, *, committed: bool = True) -> None:
        """`committed`: without records of aborted transactions; ranges end before the first open one."""
        isolation = {"isolation.level": "read_committed" if committed else "read_uncommitted"}
        self._consumer = Consumer(with_login(client) | _CONSUMER | isolation, logger=SILENT)
        self._topic = topic
        self._failures = Failures(client)
        # records that were skipped since somebody counted them, because they cannot be fetched
        self.damaged = 0

    def records(self, ranges: Sequence[Range]) -> Iterator[RawRecords]:
        """All records of the ranges in chunks, those of one partition in their order. Returns when all are read."""
        # ranges of one partition (history after the present) are read one after the other
        waiting = list(ranges)
        while waiting:
            now = {each.partition: each for each in reversed(waiting)}
            yield from self._one_per_partition(list(now.values()))
            waiting = [each for each in waiting if now[each.partition] is not each]

    def _one_per_partition(self, ranges: Sequence[Range]) -> Iterator[RawRecords]:
        reading = _Reading(ranges)
        self._assign(reading)
        parts: list[RawRecords] = []
        heard = asked = time.monotonic()
        try:
            while not reading.done:
                with _no_collection():
                    got = self._consumer.consume(_TAKE, 0.1)
                now = time.monotonic()
                before = reading.left()
                taken = reading.take(got)
                if len(taken):
                    parts.append(taken)
                if reading.denied:
                    raise DeniedError(self._failures.denied("Read", "topic", self._topic))
                if reading.left() < before:
                    # neither errors nor records after the end of a range do
                    heard = now
                elif now - heard > STALL_S:
                    left = reading.left()
                    if not self._skip_damaged(reading):
                        raise StalledError(
                            f"{self._topic}: no record for {STALL_S:.0f} s though {left} are to be read"
                        )
                    self._assign(reading)
                    heard = time.monotonic()
                elif now - max(heard, asked) > ASK_AGAIN_S:
                    self._drop_deleted(reading, now - heard)
                    self._assign(reading)
                    asked = now
                if sum(map(len, parts)) >= CHUNK or sum(each.nbytes for each in parts) >= CHUNK_BYTES:
                    # nothing is in memory twice while the chunk is decoded
                    chunk, parts = _joined(parts), []
                    yield chunk
                    del chunk
            if parts:
                chunk, parts = _joined(parts), []
                yield chunk
        finally:
            self._consumer.unassign()

    def _drop_deleted(self, reading: _Reading, silent_s: float) -> None:
        """Do not wait for deleted records: the topic was deleted, or recreated and ends earlier now."""
        for partition, _ in reading.unfinished():
            index = TopicPartition(self._topic, partition)
            try:
                _, end = self._consumer.get_watermark_offsets(index, timeout=ASK_AGAIN_S, cached=False)
            except KafkaException as error:
                # brokers that have just started may not list their topics yet
                if error.args[0].code() in _NOT_THERE and silent_s > GONE_S:
                    reading.cut(partition, 0)
            else:
                reading.cut(partition, end)

    def _skip_damaged(self, reading: _Reading) -> bool:
        """Go on after records that are damaged on the brokers' disks; False: there are none.

        Their ranges are fixed, and stay in the topic for as long as it keeps them: the cluster would stand still.
        """
        skipped = 0
        unfinished = dict(reading.unfinished())
        for partition, end in self._ends(unfinished).items():
            at = unfinished[partition]
            after = self._readable_from(partition, at, end)
            if after is not None:
                to = min(after, reading.end(partition))
                reading.skip(partition, to)
                skipped += to - at
                log.warning(
                    "records are damaged and skipped",
                    topic=self._topic,
                    partition=partition,
                    begin=at,
                    end=to,
                )
        self.damaged += skipped
        return skipped > 0

    def _readable_from(self, partition: int, at: int, end: int) -> int | None:
        """The offset from which on a partition can be read, while it cannot before; None: that cannot be shown."""
        if at >= end - 1:
            # nothing is behind it
            return None
        damaged, step = at, 1
        while not self._is_readable(partition, after := min(damaged + step, end - 1)):
            if after == end - 1:
                return None
            damaged, step = after, 2 * step
        while after - damaged > 1:
            middle = (damaged + after) // 2
            if self._is_readable(partition, middle):
                after = middle
            else:
                damaged = middle
        # once more, one after the other: the brokers may have begun or ceased to respond meanwhile
        shown = [self._is_readable(partition, each) for each in (at, damaged, after)]
        return after if shown == [False, False, True] else None

    def _is_readable(self, partition: int, offset: int) -> bool:
        """Whether there is a record at this offset, or after it."""
        return any(
            each.error() is None and (each.offset() or 0) >= offset
            for each in self._probed({partition: offset})
        )

    def _ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Partition: where it ends; of those whose leader responds."""
        found: dict[int, int] = {}
        for each in self._probed(dict.fromkeys(partitions, OFFSET_END)):
            error, partition, offset = each.error(), each.partition(), each.offset()
            is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
            if is_end and partition is not None and offset is not None:
                found[partition] = offset
        return found

    def _probed(self, offsets: Mapping[int, int]) -> Iterator[Message]:
        """What comes when partitions are read from these offsets on, until all have said something or time is up."""
        self._consumer.assign([TopicPartition(self._topic, *each) for each in offsets.items()])
        silent = set(offsets)
        until = time.monotonic() + UNREADABLE_S
        while silent and (left_s := until - time.monotonic()) > 0:
            for each in self._consumer.consume(len(offsets), min(left_s, 0.1)):
                error = each.error()
                if error is None or error.code() == KafkaError._PARTITION_EOF:
                    silent.discard(each.partition())
                    yield each

    def _assign(self, reading: _Reading) -> None:
        self._consumer.assign(
            [TopicPartition(self._topic, partition, at) for partition, at in reading.unfinished()]
        )


class _Reading:
    """The progress of each range of a read."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        size = max(each.partition for each in ranges) + 1
        # by partition; those that are not read are finished from the start
        self._begin = np.zeros(size, dtype=np.int64)
        self._next = np.zeros(size, dtype=np.int64)
        self._end = np.zeros(size, dtype=np.int64)
        self._shift = np.zeros(size, dtype=np.int64)
        # the brokers do not let us read
        self.denied = False
        for each in ranges:
            self._begin[each.partition] = self._next[each.partition] = each.begin
            self._end[each.partition] = each.end
            self._shift[each.partition] = each.shift

    @property
    def done(self) -> bool:
        return bool((self._next >= self._end).all())

    def left(self) -> int:
        return int(np.maximum(self._end - self._next, 0).sum())

    def unfinished(self) -> list[tuple[int, int]]:
        """Partitions that are still to be read, and where to go on."""
        rest = np.flatnonzero(self._next < self._end)
        return list(zip(rest.tolist(), self._next[rest].tolist(), strict=True))

    def end(self, partition: int) -> int:
        return int(self._end[partition])

    def skip(self, partition: int, to: int) -> None:
        """What is before this offset is not waited for any more."""
        self._next[partition] = max(self._next[partition], to)

    def cut(self, partition: int, end: int) -> None:
        """The partition ends here now."""
        self._end[partition] = min(self._end[partition], end)

    def take(self, messages: Sequence[Message]) -> RawRecords:
        """The records among these messages that belong to the ranges; updates the progress."""
        if any(map(Message.error, messages)):
            messages = self._without_errors(messages)
        # a map over the methods costs a third of a loop over the messages
        count = len(messages)
        partition = np.fromiter(map(Message.partition, messages), dtype=np.int64, count=count)
        offset = np.fromiter(map(Message.offset, messages), dtype=np.int64, count=count)
        keys = pa.array(list(map(Message.key, messages)), pa.binary())
        values = pa.array(list(map(Message.value, messages)), pa.binary())
        np.maximum.at(self._next, partition, offset + 1)
        # a recreated topic is read from its beginning by the client
        wanted = (offset >= self._begin[partition]) & (offset < self._end[partition])
        if not wanted.all():
            mask = pa.array(wanted)
            keys, values = keys.filter(mask), values.filter(mask)
            partition, offset = partition[wanted], offset[wanted]
        return RawRecords(keys, values, offset + self._shift[partition], np.full(len(offset), now_ms()))

    def _without_errors(self, messages: Sequence[Message]) -> list[Message]:
        """The records alone. The end of a partition comes as an error whose offset is the next one; other errors,
        which have no offset and perhaps no partition, are either temporary or end in StalledError."""
        records = []
        for each in messages:
            error = each.error()
            if error is None:
                records.append(each)
            elif error.code() == KafkaError._PARTITION_EOF:
                partition, offset = each.partition() or 0, each.offset() or 0
                self._next[partition] = max(self._next[partition], offset)
            elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                self.denied = True
        return records


@contextmanager
def _no_collection() -> Iterator[None]:
    """Thousands of messages come at once, without reference cycles: garbage collection would cost a quarter."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _joined(parts: Sequence[RawRecords]) -> RawRecords:
    if len(parts) == 1:
        return parts[0]
    return RawRecords(
        pa.concat_arrays([each.keys for each in parts]),
        pa.concat_arrays([each.values for each in parts]),
        np.concatenate([each.order for each in parts]),
        np.concatenate([each.observed_at for each in parts]),
    )
