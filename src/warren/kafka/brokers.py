"""Questions to the brokers with a time limit: which partitions there are, where they begin and end."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
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
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from warren.errors import WarrenError
from warren.kafka.login import Property, with_login

EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]

# with less time than this there is no use in asking
_LEAST_S: Final = 0.02
# of the time that is left, what the first question to the controller may take: the client goes on asking one that
# died until somebody makes it look who the controller is now
_FIRST_SHARE: Final = 0.4

# 64 bits without a sign
_LOW: Final = (1 << 64) - 1

# topic partition: its offset; one that nobody could answer for is not in it
Offsets = dict[tuple[str, int], int]


class UnreachableError(WarrenError):
    """A Kafka cluster that does not answer, or not in time."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as the brokers describe it."""

    # another one when the topic was deleted and made again; "" where the brokers have none
    topic_id: str
    partitions: tuple[int, ...]


class Limit:
    """A time limit that several questions share."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds that the next question may take; UnreachableError when the time is up."""
        left = self._end - self._clock()
        if left <= _LEAST_S:
            raise UnreachableError("The brokers answer too slowly: the time of this look is up")
        return left


class Brokers:
    """One admin client, kept open, and the few questions that Warren asks with it."""

    def __init__(self, properties: Mapping[str, Property]) -> None:
        quiet = {"log_level": 2, "reconnect.backoff.max.ms": 2000}
        self._client = AdminClient(with_login(properties) | quiet, logger=SILENT)
        self._servers = properties["bootstrap.servers"]

    def partitions(self, limit: Limit) -> dict[str, list[int]]:
        """Topic: its partitions, of all topics."""
        try:
            found = self._client.list_topics(timeout=limit.left())
        except KafkaException as error:
            raise self._unreachable(error) from error
        return {
            name: sorted(metadata.partitions)
            for name, metadata in found.topics.items()
            if metadata.partitions
        }

    def topic(self, name: str, limit: Limit) -> Topic | None:
        """One topic, None when it is not there; asking does not make it."""
        try:
            found = self._described(name, limit)
        except (KafkaException, TimeoutError) as error:
            if _unknown(error):
                return None
            raise self._unreachable(error) from error
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
        (asked,) = self._client.describe_topics(TopicCollection([name]), request_timeout=seconds).values()
        return asked.result(seconds)

    def topic_ids(self, topics: Iterable[str], limit: Limit) -> dict[str, str]:
        """Topic: its id, where the brokers have ids and the controller answers."""
        names = list(topics)
        if not names:
            return {}
        seconds = limit.left() * _FIRST_SHARE
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=seconds)
        return {name: _known_id(found) for name, found in _answers(asked, seconds).items()}

    def unknown(self, topics: Iterable[str], limit: Limit) -> set[str]:
        """Those of the topics that the brokers say do not exist; one that we may not see is not among them."""
        names = list(topics)
        if not names:
            return set()
        seconds = limit.left() * _FIRST_SHARE
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=seconds)
        done, _ = wait(asked.values(), timeout=seconds)
        return {name for name, future in asked.items() if future in done and _unknown(future.exception())}

    def offsets(
        self, asked: Iterable[tuple[str, int]], spec: OffsetSpec, limit: Limit, *, committed: bool = False
    ) -> Offsets:
        """Where these topic partitions begin or end; `committed`: they end where the first open transaction begins."""
        request = {TopicPartition(topic, partition): spec for topic, partition in asked}
        if not request:
            return {}
        seconds = limit.left()
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers = self._client.list_offsets(request, isolation_level=isolation, request_timeout=seconds)
        return {
            (place.topic, place.partition): answer.offset
            for place, answer in _answers(answers, seconds).items()
            # a leader that did not answer in time is no error, but an offset that no log has
            if answer.offset >= 0
        }

    def groups(self, limit: Limit) -> set[str]:
        """All groups that the brokers list; UnreachableError when one of them does not answer."""
        seconds = limit.left()
        try:
            found = self._client.list_consumer_groups(request_timeout=seconds).result(seconds)
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(error) from error
        if found.errors:
            raise self._unreachable(found.errors[0])
        return {each.group_id for each in found.valid}

    def has_offsets(self, group: str, limit: Limit) -> bool:
        """Whether the brokers have an offset that this group has committed."""
        seconds = limit.left()
        asked = self._client.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=seconds
        )
        try:
            found = asked[group].result(seconds)
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(error) from error
        return any(place.error is not None or place.offset >= 0 for place in found.topic_partitions)

    def _unreachable(self, error: KafkaException | TimeoutError) -> UnreachableError:
        why = error.args[0].str() if isinstance(error, KafkaException) else "no answer in time"
        if (
            isinstance(error, KafkaException)
            and error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        ):
            return UnreachableError(
                f"Kafka at {self._servers} does not let Warren see the topic ({why}): grant its user the ACL operation "
                "Describe, and Read for the offsets topic, on resource type Topic."
            )
        return UnreachableError(
            f"Kafka at {self._servers} does not answer ({why}): is it up, and is the address right?"
        )


def _unknown(error: BaseException | None) -> bool:
    """Whether the brokers said that there is no such topic."""
    return isinstance(error, KafkaException) and error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def _answers(futures: Mapping[Any, Any], seconds: float) -> dict[Any, Any]:
    """What came in time and is no error."""
    done, _ = wait(futures.values(), timeout=seconds)
    return {
        key: future.result()
        for key, future in futures.items()
        if future in done and future.exception() is None
    }


def _known_id(description: Any) -> str:
    """The id of a topic, written as group records have it; brokers that have none give zeros."""
    found = description.topic_id
    if found is None:
        return ""
    bits = (found.get_most_significant_bits() & _LOW) << 64 | found.get_least_significant_bits() & _LOW
    return str(uuid.UUID(int=bits)) if bits else ""


class _Silent:
    """A logger that takes librdkafka's lines and says nothing: our own words tell what is wrong."""

    def log(self, *_: object) -> None: ...


SILENT: Final = _Silent()
