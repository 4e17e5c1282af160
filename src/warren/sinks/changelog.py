"""What a changelog says: the last status of every verdict, read from the topic itself."""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from warren.kafka.brokers import EARLIEST, LATEST, SILENT, Brokers, Limit, UnreachableError
from warren.kafka.login import with_login
from warren.sinks.changes import State, applied
from warren.sinks.kafka_errors import told
from warren.sinks.kafka_target import Target
from warren.sinks.writer import TryAgainError

# records at once
_CHUNK: Final = 5_000
# for them to come
_WAIT_S: Final = 0.1


class Changelog:
    """Kept from sample to sample; reads on from where it was when another process may have written."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.state: State = {}
        # partition: the next offset
        self._next: dict[int, int] = {}

    def catch_up(self) -> None:
        """Read what has been committed up to now. TryAgainError when the brokers do not answer."""
        try:
            self._catch_up()
        except UnreachableError as error:
            raise TryAgainError(str(error)) from error

    def _catch_up(self) -> None:
        target = self._target
        brokers = Brokers(target.properties)
        limit = Limit(target.timeout_s)
        found = brokers.topic(target.topic, limit)
        places = [(target.topic, each) for each in (found.partitions if found else ())]
        ends = brokers.offsets(places, LATEST, limit, committed=True)
        starts = brokers.offsets(places, EARLIEST, limit)
        if set(ends) != set(places) or set(starts) != set(places):
            raise TryAgainError(f"Kafka at {target.servers} does not say where {target.topic} ends now.")
        if any(self._next.get(partition, 0) > ends[topic, partition] for topic, partition in places):
            # the topic was deleted and made again
            self.state, self._next = {}, {}
        wanted = {
            partition: max(starts[topic, partition], self._next.get(partition, 0))
            for topic, partition in places
            if ends[topic, partition] > max(starts[topic, partition], self._next.get(partition, 0))
        }
        if wanted:
            self._read(wanted, {partition: end for (_, partition), end in ends.items()})

    def _read(self, wanted: dict[int, int], ends: dict[int, int]) -> None:
        target, reasons = self._target, list[KafkaError]()
        reader = Consumer(
            with_login(target.properties)
            | {
                # never joined, and no offset is committed
                "group.id": "warren-changelog",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "error_cb": reasons.append,
                "log_level": 2,
            },
            logger=SILENT,
        )
        try:
            reader.assign([TopicPartition(target.topic, *each) for each in wanted.items()])
            self._take(reader, wanted, ends)
        except KafkaException as error:
            # the state has a part of it: begin anew
            self.state, self._next = {}, {}
            raise told(error, target.servers, target.topic, reasons) from error
        finally:
            reader.close()

    def _take(self, reader: Consumer, wanted: dict[int, int], ends: dict[int, int]) -> None:
        # a long changelog takes as long as it takes, while records come
        deadline = time.monotonic() + self._target.timeout_s
        while wanted:
            messages = reader.consume(_CHUNK, _WAIT_S)
            if messages:
                deadline = time.monotonic() + self._target.timeout_s
            elif time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            for message in messages:
                partition, error = message.partition() or 0, message.error()
                if error is None:
                    applied(self.state, message.key(), message.value())
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._next[partition] = max(ends[partition], message.offset() or 0)
                    wanted.pop(partition, None)
                else:
                    raise KafkaException(error)
