"""What librdkafka's errors mean to the person who has to do something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from warren.sinks.writer import TryAgainError

# the client gave up waiting
_SILENCE: Final = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
    }
)
_SILENT: Final = "Kafka at {servers} does not answer ({why}): is it up, and is the address right?"
_OTHER: Final = "Kafka at {servers} does not take records for {topic} now: {why}"
_LOGIN: Final = "Kafka at {servers} refuses the login ({why}): see client-profile."
# code: what to do
_SENTENCES: Final[Mapping[int, str]] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "Kafka at {servers} does not let Warren use the topic {topic}: grant its "
    "user the ACL operations Describe, Write and Read on it.",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Kafka at {servers} does not let Warren use transactions: grant "
    "its user the ACL operations Describe and Write on transactional ids that begin with warren-, or set "
    "transactions = false.",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "Kafka at {servers} refuses an idempotent producer ({why}): grant "
    "Warren's user the ACL operation IdempotentWrite on the cluster.",
    KafkaError._AUTHENTICATION: _LOGIN,
    KafkaError.SASL_AUTHENTICATION_FAILED: _LOGIN,
    KafkaError.INVALID_TIMESTAMP: "The topic {topic} refuses the time of the records ({why}): does the clock of "
    "Warren's machine differ from the brokers'? See the topic's message.timestamp settings.",
    KafkaError.MSG_SIZE_TOO_LARGE: "The topic {topic} refuses batches of this size: lower batch-size, or raise the "
    "topic's max.message.bytes.",
} | dict.fromkeys(_SILENCE, _SILENT)


def told(
    error: KafkaException | KafkaError, servers: str, topic: str, reasons: Sequence[KafkaError] = ()
) -> TryAgainError:
    """`reasons`: what the client reported meanwhile; the last one says more than a time-out."""
    found: KafkaError = error.args[0] if isinstance(error, KafkaException) else error
    if reasons and found.code() in _SILENCE:
        found = next((each for each in reversed(reasons) if each.code() not in _SILENCE), reasons[-1])
    sentence = _SENTENCES.get(found.code(), _OTHER)
    return TryAgainError(sentence.format(servers=servers, topic=topic, why=found.str()))


def missing(servers: str, topic: str, why: str, *, compacted: bool) -> TryAgainError:
    """The topic does not exist."""
    option = " --config cleanup.policy=compact" if compacted else ""
    command = f"kafka-topics.sh --bootstrap-server {servers} --create --topic {topic}{option}"
    return TryAgainError(
        f"Kafka at {servers} has no topic {topic}{why}: create it ({command}), or set create-topic."
    )
