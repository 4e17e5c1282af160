"""Probe of a kafka sink: is the topic there, and may Warren write to it?"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AdminClient,
    ConfigResource,
    ResourceType,
)

from warren.cli.attempts import UnreachableError
from warren.config import Settings
from warren.config.modules import KafkaSink
from warren.kafka.brokers import SILENT
from warren.kafka.client import client_properties
from warren.kafka.login import with_login
from warren.sinks.kafka_errors import missing, told
from warren.sinks.writer import TryAgainError

# of the producer that only tries whether it may have one
_TRANSACTIONAL_ID = "warren-check"


def kafka_sink(settings: Settings, sink: KafkaSink, limit_s: float) -> str:
    """Nothing is written."""
    reasons: list[KafkaError] = []
    servers = ",".join(sink.servers)
    properties: dict[str, Any] = with_login(client_properties(settings, sink.client_profile, sink.servers))
    properties |= {"error_cb": reasons.append, "log_level": 2}
    try:
        admin = AdminClient(properties, logger=SILENT)
        try:
            found = _topic(admin, sink, servers, limit_s)
        except KafkaException:
            admin.poll(0)  # the reason comes through the error callback
            raise
        if sink.transactions:
            tried = Producer(properties | {"transactional.id": _TRANSACTIONAL_ID}, logger=SILENT)
            tried.init_transactions(limit_s)
    except KafkaException as error:
        raise UnreachableError(str(told(error, servers, sink.topic, reasons))) from None
    except TryAgainError as error:
        raise UnreachableError(str(error)) from None
    return found


def _topic(admin: AdminClient, sink: KafkaSink, servers: str, limit_s: float) -> str:
    asked = admin.describe_topics(
        TopicCollection([sink.topic]), include_authorized_operations=True, request_timeout=limit_s
    )
    try:
        found = _answer(asked, limit_s)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise
        if not sink.create_topic:
            raise missing(servers, sink.topic, "", compacted=sink.level == "changes") from None
        return f"{sink.topic} does not exist yet and will be created"
    if found.authorized_operations and AclOperation.WRITE not in found.authorized_operations:
        raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    count = len(found.partitions)
    told_policy = _policy(admin, sink, limit_s)
    return f"may write to {sink.topic}, {count} partition{'' if count == 1 else 's'}{told_policy}"


def _policy(admin: AdminClient, sink: KafkaSink, limit_s: float) -> str:
    """What compaction would do to the records, where it is not as it should be."""
    resource = ConfigResource(ResourceType.TOPIC, sink.topic)
    try:
        found = _answer(admin.describe_configs([resource], request_timeout=limit_s), limit_s)
    except KafkaException:
        # to write it is no need to see its settings
        return ""
    compacted = "compact" in found["cleanup.policy"].value
    if compacted and sink.level != "changes":
        return (
            "; it is compacted, and keeps only the last record of a group: set its cleanup.policy to delete"
        )
    if not compacted and sink.level == "changes":
        return "; it is not compacted, and forgets verdicts that do not change: set its cleanup.policy to compact"
    return ""


def _answer(asked: Mapping[Any, Future[Any]], limit_s: float) -> Any:
    (future,) = asked.values()
    try:
        return future.result(limit_s)
    except TimeoutError as error:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from error
