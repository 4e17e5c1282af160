"""A producer that writes each sample once: one transaction for each, and a note of it before it is committed.

After a crash the brokers have committed or aborted the last transaction, and the note says where one of its records is:
a reader of committed records sees it there, or does not.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]

from warren.kafka.brokers import LATEST, SILENT, Brokers, Limit, UnreachableError
from warren.kafka.login import with_login
from warren.sinks.kafka_errors import missing, told
from warren.sinks.kafka_position import Position, PositionFile
from warren.sinks.kafka_records import Record
from warren.sinks.kafka_target import Target
from warren.sinks.writer import TryAgainError

# Kafka's default for a topic, and the least that librdkafka takes
_MAX_MESSAGE_BYTES: Final = 1_048_588
_LEAST_MESSAGE_BYTES: Final = 1000
# records that wait in the client: a worker's memory is bounded
_QUEUE_KB: Final = 64 * 1024
# brokers abort a transaction of a Warren that is gone after so long; readers of committed records wait for that
_TRANSACTION_TIMEOUT_MS: Final = 60_000
# characters of the key of a record that was refused
_SHOWN: Final = 200
# on top of the time limit for a record
_GRACE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Sent:
    """How it went."""

    rows: int
    rejected: int
    reason: str


class SampleProducer:
    """Called by one thread. Several processes may have one each: the one that begins last ends the others'."""

    def __init__(self, target: Target, positions: PositionFile) -> None:
        self._target = target
        self._positions = positions
        self._producer: Producer | None = None
        self._owner = ""
        # what the client reported since the last success
        self._reasons: list[KafkaError] = []
        # records that were not delivered
        self._failed: list[KafkaError] = []
        # the sample that this process has committed last
        self._committed = 0
        # grows with every new producer: others may have written in between
        self.starts = 0

    @property
    def alone(self) -> bool:
        """Whether nobody else writes as long as this producer is not replaced."""
        return self._target.transactions

    def begin(self, number: int, time_ms: int) -> bool:
        """Make sure that we are the only producer; returns whether the sample is to be written."""
        self._reasons.clear()
        position = self._positions.read()
        with self._cleared_on_failure():
            if self._producer is None or (self._target.transactions and position.owner != self._owner):
                position = self._begun(position)
            return not (self._target.transactions and self._has(position, number, time_ms))

    def send(self, number: int, time_ms: int, records: Iterable[Record]) -> Sent:
        """Write a sample for which `begin` was true. TryAgainError: it may be there or not, `begin` will find out."""
        producer = self._producer
        if producer is None:
            raise ValueError("begin comes before send")
        with self._cleared_on_failure():
            return self._sent(producer, number, time_ms, records)

    @contextlib.contextmanager
    def _cleared_on_failure(self) -> Any:
        """A producer that failed is thrown away: the next one starts from what the brokers know."""
        try:
            yield
        except KafkaException as error:
            if self._producer is not None:
                # for reasons; a fatal one is raised, too
                with contextlib.suppress(KafkaException):
                    self._producer.poll(0)
            self._discard()
            raise told(error, self._target.servers, self._target.topic, self._reasons) from error
        except UnreachableError as error:
            self._discard()
            raise TryAgainError(str(error)) from error
        except BaseException:
            self._discard()
            raise

    def _begun(self, position: Position) -> Position:
        target = self._target
        self._discard()
        largest = self._prepared()
        conf: dict[str, Any] = with_login(target.properties) | {
            "enable.idempotence": True,
            "compression.type": target.compression,
            "batch.size": min(target.batch_bytes, largest),
            "message.max.bytes": largest,
            "message.timeout.ms": target.timeout_s * 1000,
            "queue.buffering.max.kbytes": _QUEUE_KB,
            "queue.buffering.max.messages": 1_000_000,
            # the same partition as Java's producers choose
            "partitioner": "murmur2_random",
            "error_cb": self._reasons.append,
            "log_level": 2,
        }
        if target.transactions:
            conf |= {
                "transactional.id": position.transactional_id,
                "transaction.timeout.ms": max(_TRANSACTION_TIMEOUT_MS, target.timeout_s * 1000),
            }
        else:
            conf |= {"on_delivery": self._note_failure, "delivery.report.only.error": True}
        self.starts += 1
        self._owner = uuid.uuid4().hex
        if target.transactions:
            # the id is ours for good before brokers hear of it
            position = msgspec.structs.replace(position, owner=self._owner)
            self._positions.write(position)
        self._producer = Producer(conf, logger=SILENT)
        if target.transactions:
            # ends the transaction of a former process, one way or the other
            self._producer.init_transactions(target.timeout_s)
        return position

    def _prepared(self) -> int:
        """Make sure that there is a topic; returns the largest record that it takes."""
        target = self._target
        admin = AdminClient(
            with_login(target.properties) | {"error_cb": self._reasons.append, "log_level": 2}, logger=SILENT
        )
        limit = {"request_timeout": target.timeout_s}
        try:
            self._answer(admin.describe_topics(TopicCollection([target.topic]), **limit))
        except KafkaException as error:
            # reasons come through the error callback, and that only when it is asked for
            admin.poll(0)
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            self._create(admin)
        try:
            resource = ConfigResource(ResourceType.TOPIC, target.topic)
            found = int(self._answer(admin.describe_configs([resource], **limit))["max.message.bytes"].value)
        except (KafkaException, KeyError, ValueError, TypeError):
            # to write it is no need to see its settings
            found = _MAX_MESSAGE_BYTES
        return max(found, _LEAST_MESSAGE_BYTES)

    def _create(self, admin: AdminClient) -> None:
        target = self._target
        if not target.create_topic:
            raise missing(target.servers, target.topic, "", compacted=target.compacted)
        config = {"cleanup.policy": "compact"} if target.compacted else {}
        # as many partitions and replicas as the brokers have as their default
        new = NewTopic(target.topic, num_partitions=-1, replication_factor=-1, config=config)
        try:
            self._answer(admin.create_topics([new], request_timeout=target.timeout_s))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                why = f", and does not create it ({error.args[0].str()})"
                raise missing(target.servers, target.topic, why, compacted=target.compacted) from error

    def _answer(self, asked: Mapping[Any, Future[Any]]) -> Any:
        """The answer to a request for one thing."""
        (future,) = asked.values()
        try:
            return future.result(self._target.timeout_s + _GRACE_S)
        except TimeoutError as error:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from error

    def _sent(self, producer: Producer, number: int, time_ms: int, records: Iterable[Record]) -> Sent:
        rows = rejected = 0
        reason = ""
        first: list[Message] = []
        self._failed.clear()
        if self._target.transactions:
            producer.begin_transaction()
        for record in records:
            # where one record of the sample is will be noted
            error = self._produce(producer, record, None if rows else lambda _, sent: first.append(sent))
            if error is None:
                rows += 1
            else:
                rejected += 1
                reason = reason or f"{record.key.decode()[:_SHOWN]}: {error.str()}"
        self._flush(producer)
        if self._target.transactions:
            if first:
                self._note(number, time_ms, first[0])
            producer.commit_transaction(self._target.timeout_s)
        elif self._failed:
            raise KafkaException(self._failed[0])
        self._committed = number
        if rejected:
            # the next producer asks how large a record may be: somebody may change that now
            self._discard()
        return Sent(rows, rejected, reason)

    def _produce(
        self, producer: Producer, record: Record, report: Callable[[Any, Message], None] | None
    ) -> KafkaError | None:
        """Returns why the record can never be written, None when it is on its way."""
        options: dict[str, Any] = {} if report is None else {"on_delivery": report}
        if record.headers:
            options["headers"] = list(record.headers)
        deadline = 0.0
        while True:
            try:
                producer.produce(
                    self._target.topic, record.value, record.key, timestamp=record.time_ms, **options
                )
            except BufferError as full:
                now = time.monotonic()
                deadline = deadline or now + self._target.timeout_s
                if now > deadline:
                    raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT)) from full
                producer.poll(0.1)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                return error.args[0]  # type: ignore[no-any-return]
            else:
                return None

    def _flush(self, producer: Producer) -> None:
        # every record is delivered or given up within the time limit for a record
        deadline = time.monotonic() + self._target.timeout_s + _GRACE_S
        while producer.flush(1.0):
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT))

    def _note(self, number: int, time_ms: int, sent: Message) -> None:
        found = self._positions.read()
        if found.owner != self._owner:
            raise TryAgainError("Another process has begun to write this sample.")
        self._positions.write(
            msgspec.structs.replace(
                found,
                servers=self._target.servers,
                topic=self._target.topic,
                sample=number,
                time_ms=time_ms,
                partition=sent.partition(),
                offset=sent.offset(),
            )
        )

    def _has(self, position: Position, number: int, time_ms: int) -> bool:
        """Whether the topic has this sample, committed."""
        target = self._target
        elsewhere = (position.servers, position.topic) != (target.servers, target.topic)
        # a later one with a lower number: somebody has deleted the samples, and numbers began anew
        if elsewhere or number > position.sample or time_ms > position.time_ms:
            return False
        # samples are written in order
        return number < position.sample or number == self._committed or self._is_committed(position)

    def _is_committed(self, position: Position) -> bool:
        """Look at the record that was noted before the commit."""
        target, place = self._target, (position.topic, position.partition)
        limit = Limit(target.timeout_s)
        # what comes after an open transaction is not shown yet; ours is ended, but there may be those of others
        stable = Brokers(target.properties).offsets([place], LATEST, limit, committed=True).get(place)
        if stable is None or stable <= position.offset:
            raise TryAgainError(
                f"Whether Kafka at {target.servers} has sample {position.sample} can be seen when an open transaction "
                f"on {place[0]}-{place[1]} has ended."
            )
        reader = Consumer(
            with_login(target.properties)
            | {
                # never joined, and no offset is committed
                "group.id": position.transactional_id,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "error_cb": self._reasons.append,
                "log_level": 2,
            },
            logger=SILENT,
        )
        try:
            reader.assign([TopicPartition(*place, position.offset)])
            while True:
                found = reader.poll(min(limit.left(), 1.0))
                if found is None:
                    continue
                error = found.error()
                if error is None:
                    # of what retention has removed nobody has seen a first copy
                    return found.offset() == position.offset
                if error.code() == KafkaError._PARTITION_EOF:
                    return False
                raise KafkaException(error)
        finally:
            reader.close()

    def _note_failure(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def _discard(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            # what it still has is not wanted any more: the next producer's start ends its transaction
            producer.purge()
