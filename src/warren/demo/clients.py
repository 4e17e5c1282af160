"""Shared by all clients of the demo: connection settings, creation of topics, heads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]
from tenacity import Retrying, retry_if_exception, retry_if_result, stop_after_delay, wait_fixed

from warren.errors import ConfigError, WarrenError

# a command that cannot reach a broker must fail within ten seconds, its own start included
REACH_S: Final = 6.0
REQUEST_S: Final = 10.0
# a new topic has a leader within this time, also on a busy machine
LEADER_S: Final = 30.0
# the client requests the leader only once within its time limit: short limits make it retry
_ATTEMPT_S: Final = 2.0
# librdkafka logs to stderr, into any table on the screen, and many times a second while a broker is unavailable;
# callers report what fails because of it
_QUIET: Final[dict[str, Any]] = {"log_level": 0, "error_cb": lambda _error: None, "reconnect.backoff.ms": 500}
# temporary errors while topics and groups are created or change
_TEMPORARY: Final = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        # metadata of client and broker differ for a new topic
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.NON_EMPTY_GROUP,
        # "no leaders found", for a new topic
        KafkaError._NOENT,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._WAIT_COORD,
        KafkaError._NO_OFFSET,
    }
)


@dataclass(frozen=True)
class Connection:
    """How to reach the brokers."""

    bootstrap_servers: str
    # any librdkafka property, such as those of TLS and SASL
    properties: Mapping[str, str] = field(default_factory=dict)

    def admin(self) -> AdminClient:
        """An admin client; ConfigError if librdkafka does not accept the properties."""
        try:
            return AdminClient(self.config({}))
        except KafkaException as error:
            raise ConfigError([f"client properties: {_sentence(error)}"]) from error

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """A consumer with these settings."""
        return Consumer(self.config(settings))

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        """A producer with these settings."""
        return Producer(self.config(settings))

    def config(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A client's settings; the user's take precedence."""
        return {
            **_QUIET,
            "bootstrap.servers": self.bootstrap_servers,
            **settings,
            **self.properties,
        }


@dataclass(frozen=True)
class TopicSpec:
    """A topic that must exist."""

    name: str
    partitions: int
    settings: Mapping[str, str] = field(default_factory=dict)


def passes(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    return isinstance(error, KafkaException) and error.args[0].code() in _TEMPORARY


def _timed_out(error: BaseException) -> bool:
    codes = (KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT)
    return isinstance(error, KafkaException) and error.args[0].code() in codes


def _sentence(error: KafkaException) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, KafkaError) else str(cause)


def reach(connection: Connection) -> AdminClient:
    """An admin client of brokers that respond."""
    admin = connection.admin()
    try:
        admin.list_topics(timeout=REACH_S)
    except KafkaException as error:
        raise WarrenError(
            f"no Kafka broker responds at {connection.bootstrap_servers} ({_sentence(error)}): check the "
            "address and the client properties, or start a broker with `warren broker`"
        ) from error
    return admin


def ensure_topics(admin: AdminClient, topics: tuple[TopicSpec, ...]) -> None:
    """Create missing topics; WarrenError for an existing one with another number of partitions."""
    there = admin.list_topics(timeout=REQUEST_S).topics
    missing = {topic.name: topic for topic in topics if topic.name not in there}
    for topic in topics:
        if topic.name in there:
            _expect_partitions(topic, len(there[topic.name].partitions))
    if not missing:
        return
    wanted = [
        NewTopic(topic.name, num_partitions=topic.partitions, config=dict(topic.settings))
        for topic in missing.values()
    ]
    for name, future in admin.create_topics(wanted, request_timeout=REQUEST_S).items():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise WarrenError(f"topic {name} cannot be created: {_sentence(error)}") from error
            # the list was older than the topic
            _expect_partitions(missing[name], _partitions_of(admin, name))


def _expect_partitions(topic: TopicSpec, found: int) -> None:
    if found != topic.partitions:
        raise WarrenError(
            f"topic {topic.name} has {found} partitions instead of {topic.partitions}: it is not a "
            "topic of this command; delete it or use another broker"
        )


def _partitions_of(admin: AdminClient, name: str) -> int:
    """Of a topic that exists; 0 if the brokers do not list it within some seconds."""
    retrying = Retrying(
        retry=retry_if_result(lambda count: count == 0),
        stop=stop_after_delay(LEADER_S),
        wait=wait_fixed(0.1),
        retry_error_callback=lambda _: 0,
    )
    return int(retrying(lambda: len(admin.list_topics(name, timeout=REQUEST_S).topics[name].partitions)))


def heads_of(admin: AdminClient, topics: Mapping[str, int]) -> dict[tuple[str, int], int]:
    """(topic, partition) -> head, for topics given as name -> partitions."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {
        TopicPartition(name, partition): latest
        for name, partitions in topics.items()
        for partition in range(partitions)
    }
    # a new topic may have no leader yet
    retrying = Retrying(
        retry=retry_if_exception(lambda error: passes(error) or _timed_out(error)),
        stop=stop_after_delay(LEADER_S),
        wait=wait_fixed(0.1),
        # the client's metadata of a recreated topic may be that of the old one
        before_sleep=lambda _: _refresh_metadata(admin, topics),
        reraise=True,
    )
    try:
        return retrying(_heads, admin, wanted)
    except KafkaException as error:
        raise WarrenError(
            f"the brokers did not return the end offsets of the topics: {_sentence(error)}"
        ) from error


def _refresh_metadata(admin: AdminClient, topics: Iterable[str]) -> None:
    for name in topics:
        with suppress(KafkaException):
            admin.list_topics(name, timeout=_ATTEMPT_S)


def _heads(admin: AdminClient, wanted: dict[TopicPartition, OffsetSpec]) -> dict[tuple[str, int], int]:
    found = admin.list_offsets(wanted, request_timeout=_ATTEMPT_S)
    return {(at.topic, at.partition): future.result().offset for at, future in found.items()}
