"""Requests to the brokers with a time limit: partitions, offsets, groups."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource  # type: ignore[attr-defined]
from confluent_kafka.admin._listoffsets import OffsetSpec

from warren.errors import WarrenError
from warren.kafka.failures import Failures, Reports
from warren.kafka.login import Property, with_login

EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]

# a request with less time than this is not sent
_LEAST_S: Final = 0.02
# share of the remaining time for the first request to the controller: librdkafka keeps sending to one that died until
# metadata is refreshed
_FIRST_SHARE: Final = 0.4

# properties of Warren's own in every admin client: a broker that comes back is found within 2 s
OWN: Final = {"log_level": 2, "reconnect.backoff.max.ms": 2000}

# names that Kafka allows for topics; a forged record can hold others, some of which the client library refuses
_TOPIC_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")

# mask of 64 bits
_LOW: Final = (1 << 64) - 1

# errors of the client that tell nothing about the brokers
_NO_ANSWER: Final = {
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError._DESTROY,
}

# topic partition: its offset, where a broker answered
Offsets = dict[tuple[str, int], int]


class UnreachableError(WarrenError):
    """A Kafka cluster that does not respond, or not in time."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as the brokers describe it."""

    # changes when the topic is deleted and created again; "" where the brokers have none
    topic_id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What the brokers say of the cluster."""

    brokers: int
    # topic: its partitions
    partitions: dict[str, list[int]]


class Limit:
    """A time limit that several requests share."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds that the next request may take; UnreachableError when the time is up."""
        left = self._end - self._clock()
        if left <= _LEAST_S:
            raise UnreachableError(
                "The brokers respond too slowly: the time limit of this trigger is reached"
            )
        return left


class Brokers:
    """One admin client, kept open, and the requests that Warren sends with it."""

    def __init__(self, properties: Mapping[str, Property]) -> None:
        self._reports = Reports()
        self.failures = Failures(properties)
        given = with_login(properties) | OWN | {"error_cb": self._reports}
        self._client = AdminClient(given, logger=SILENT)
        self._before_0_11: bool | None = None

    def before_0_11(self, limit: Limit) -> bool:
        """Whether the brokers are older than Kafka 0.11, which are different in two ways:

        - a request for a topic by its name creates the topic, unless `auto.create.topics.enable` is off;
        - Kafka 0.10.0 deletes the metadata of a group when its last member leaves, and its commits stay.
        """
        if self._before_0_11 is None:
            error = self._configs_error(limit.left() * _FIRST_SHARE)
            if error is not None and _code(error) in _NO_ANSWER:
                # the client waits for a controller that may be dead, until it has asked again who it is
                self.listing(limit)
                error = self._configs_error(limit.left() * _FIRST_SHARE)
            if error is not None and _code(error) in _NO_ANSWER:
                raise self._unreachable(error) from error
            self._before_0_11 = _code(error) == KafkaError._UNSUPPORTED_FEATURE
        return self._before_0_11

    def _configs_error(self, seconds: float) -> KafkaException | TimeoutError | None:
        """What comes of a request that Kafka 0.11 introduced; whether we may send it does not matter."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, "__consumer_offsets")
        (asked,) = self._client.describe_configs([resource], request_timeout=seconds).values()
        return _error_of(asked, seconds)

    def partitions(self, limit: Limit) -> dict[str, list[int]]:
        """Topic: its partitions, of all topics."""
        return self.listing(limit).partitions

    def listing(self, limit: Limit) -> Listing:
        """The brokers and all topics."""
        try:
            found = self._client.list_topics(timeout=limit.left())
        except KafkaException as error:
            raise self._unreachable(error) from error
        self._answered()
        partitions = {
            name: sorted(metadata.partitions)
            for name, metadata in found.topics.items()
            if metadata.partitions
        }
        return Listing(len(found.brokers), partitions)

    def topic(self, name: str, limit: Limit) -> Topic | None:
        """One topic that Warren reads, None when it does not exist; the request does not create it."""
        if self.before_0_11(limit):
            partitions = self.partitions(limit).get(name)
            return Topic("", tuple(partitions)) if partitions else None
        try:
            found = self._described(name, limit)
        except (KafkaException, TimeoutError) as error:
            if _unknown(error):
                return None
            raise self._unreachable(error, name) from error
        self._answered()
        # brokers before 2.3 do not say
        if found.authorized_operations and AclOperation.READ not in found.authorized_operations:
            raise UnreachableError(self.failures.denied("Read", "topic", name))
        return Topic(_known_id(found), tuple(sorted(each.id for each in found.partitions)))

    def _described(self, name: str, limit: Limit) -> Any:
        try:
            return self._described_once(name, limit.left() * _FIRST_SHARE)
        except (KafkaException, TimeoutError) as error:
            if _unknown(error):
                raise
        self._client.list_topics(timeout=limit.left() * _FIRST_SHARE)
        return self._described_once(name, limit.left())

    def _described_once(self, name: str, seconds: float) -> Any:
        (asked,) = self._client.describe_topics(
            TopicCollection([name]), include_authorized_operations=True, request_timeout=seconds
        ).values()
        return asked.result(seconds)

    def topic_ids(self, topics: Iterable[str], limit: Limit) -> dict[str, str]:
        """Topic: its id, where the brokers have ids and the controller responds."""
        names = list(topics)
        if not names or self.before_0_11(limit):
            return {}
        seconds = limit.left() * _FIRST_SHARE
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=seconds)
        return {name: _known_id(found) for name, found in _answers(asked, seconds).items()}

    def described(self, topics: Collection[str], limit: Limit) -> dict[str, tuple[int, ...]]:
        """Topic: its partitions as the brokers have them now, none where it does not exist. Topics that we are not
        allowed to see are left out, unless the brokers are older than 0.11: there the list decides."""
        # no broker has a topic of any other name
        found: dict[str, tuple[int, ...]] = {name: () for name in topics if not _TOPIC_NAME.fullmatch(name)}
        names = [name for name in topics if name not in found]
        if not names:
            return found
        if self.before_0_11(limit):
            listed = self.partitions(limit)
            return found | {name: tuple(listed.get(name, ())) for name in names}
        seconds = limit.left() * _FIRST_SHARE
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=seconds)
        done, _ = wait(asked.values(), timeout=seconds)
        for name, future in asked.items():
            if future not in done:
                continue
            error = future.exception()
            if _unknown(error):
                found[name] = ()
            elif error is None and (partitions := future.result().partitions):
                found[name] = tuple(each.id for each in partitions)
        return found

    def offsets(
        self, asked: Iterable[tuple[str, int]], spec: OffsetSpec, limit: Limit, *, committed: bool = False
    ) -> Offsets:
        """The first or end offsets; `committed`: the end is the last stable offset."""
        request = {TopicPartition(topic, partition): spec for topic, partition in asked}
        if not request:
            return {}
        seconds = limit.left()
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers = self._client.list_offsets(request, isolation_level=isolation, request_timeout=seconds)
        found = {
            (partition.topic, partition.partition): answer.offset
            for partition, answer in _answers(answers, seconds).items()
            # a leader that did not respond in time gives no error, but a negative offset
            if answer.offset >= 0
        }
        if found:
            self._answered()
        return found

    def silence(self) -> str:
        """What is wrong when no request for an offset was answered."""
        return str(self._unreachable(TimeoutError()))

    def groups(self, limit: Limit) -> set[str]:
        """All groups that the brokers list; UnreachableError when one of them does not respond."""
        seconds = limit.left()
        try:
            found = self._client.list_consumer_groups(request_timeout=seconds).result(seconds)
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(error) from error
        if found.errors:
            raise self._unreachable(found.errors[0])
        self._answered()
        # without rights the brokers do not refuse, they hide
        if not found.valid and not self._may_describe_cluster(limit):
            raise UnreachableError(self.failures.no_groups())
        return {each.group_id for each in found.valid}

    def _may_describe_cluster(self, limit: Limit) -> bool:
        """Whether we may see every group: then an empty list is the truth. Brokers before 2.3 do not say."""
        seconds = limit.left()
        asked = self._client.describe_cluster(include_authorized_operations=True, request_timeout=seconds)
        try:
            allowed = asked.result(seconds).authorized_operations
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(error) from error
        return AclOperation.DESCRIBE in (allowed or ())

    def has_offsets(self, group: str, limit: Limit) -> bool:
        """Whether the brokers have a committed offset of this group, or may have."""
        if not group:
            # the client library refuses to ask for a group without a name
            return True
        seconds = limit.left()
        asked = self._client.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=seconds
        )
        try:
            found = asked[group].result(seconds)
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(error) from error
        return any(each.error is not None or each.offset >= 0 for each in found.topic_partitions)

    def _answered(self) -> None:
        """Reports that nobody fetches would pile up in the client."""
        self._client.poll(0)
        self._reports.forget()

    def _unreachable(self, error: KafkaException | TimeoutError, topic: str = "") -> UnreachableError:
        self._client.poll(0)
        return UnreachableError(self.failures.told(error, self._reports.last(), topic))


def _unknown(error: BaseException | None) -> bool:
    """Whether the brokers reported that the topic does not exist."""
    return _code(error) == KafkaError.UNKNOWN_TOPIC_OR_PART


def _code(error: BaseException | None) -> int | None:
    """The error code of Kafka or librdkafka; that of no answer in time is librdkafka's."""
    if isinstance(error, TimeoutError):
        return int(KafkaError._TIMED_OUT)
    return int(error.args[0].code()) if isinstance(error, KafkaException) else None


def _error_of(future: Any, seconds: float) -> KafkaException | TimeoutError | None:
    try:
        future.result(seconds)
    except (KafkaException, TimeoutError) as error:
        return error
    return None


def _answers(futures: Mapping[Any, Any], seconds: float) -> dict[Any, Any]:
    """The successful results within the time limit."""
    done, _ = wait(futures.values(), timeout=seconds)
    return {
        key: future.result()
        for key, future in futures.items()
        if future in done and future.exception() is None
    }


def _known_id(description: Any) -> str:
    """The id of a topic in the format of group records; brokers without ids return zeros."""
    found = description.topic_id
    if found is None:
        return ""
    bits = (found.get_most_significant_bits() & _LOW) << 64 | found.get_least_significant_bits() & _LOW
    return str(uuid.UUID(int=bits)) if bits else ""


class _Silent:
    """A logger that drops librdkafka's lines: our own errors report what is wrong."""

    def log(self, *_: object) -> None: ...


SILENT: Final = _Silent()
