"""`[client-profile.N.properties]`: librdkafka's properties, but for those that Warren sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import SecretStr

from warren.spelling import nearest

_SASL: Final = "use {} of [sasl.N]"
_TLS: Final = "use {} of [tls.N]"
_READING: Final = "remove it: how Warren reads depends on it"
_WRITING: Final = "remove it: how the kafka sink writes depends on it"
_CALLBACK: Final = "remove it: it takes a function"

# property: what to do instead
SET_BY_WARREN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bootstrap.servers": "use servers of the cluster, the consumer or the sink",
        "metadata.broker.list": "use servers of the cluster, the consumer or the sink",
        "client.id": "use client-id of this profile",
        "security.protocol": "it follows from tls, sasl and iam of this profile",
        "socket.connection.setup.timeout.ms": "use dial-timeout of this profile",
        "socket.timeout.ms": "use read-timeout of this profile",
        "sasl.mechanisms": _SASL.format("mechanism"),
        "sasl.mechanism": _SASL.format("mechanism"),
        "sasl.username": _SASL.format("username"),
        "sasl.password": _SASL.format("password"),
        "sasl.oauthbearer.method": "it follows from mechanism of [sasl.N]",
        "sasl.oauthbearer.client.id": _SASL.format("username"),
        "sasl.oauthbearer.client.secret": _SASL.format("password"),
        "sasl.oauthbearer.token.endpoint.url": _SASL.format("token-url"),
        "sasl.oauthbearer.scope": _SASL.format("scope"),
        "sasl.kerberos.service.name": _SASL.format("service-name"),
        "sasl.kerberos.principal": _SASL.format("username"),
        "sasl.kerberos.keytab": _SASL.format("keytab"),
        "ssl.ca.location": _TLS.format("cafile"),
        "ssl.certificate.location": _TLS.format("certfile"),
        "ssl.key.location": _TLS.format("keyfile"),
        "enable.ssl.certificate.verification": _TLS.format("noverify"),
    }
    | dict.fromkeys(
        (
            *("group.id", "enable.auto.commit", "enable.partition.eof", "auto.offset.reset", "check.crcs"),
            *("fetch.wait.max.ms", "fetch.max.bytes", "max.partition.fetch.bytes", "fetch.queue.backoff.ms"),
            *("queued.max.messages.kbytes", "isolation.level", "reconnect.backoff.max.ms"),
        ),
        _READING,
    )
    | dict.fromkeys(
        (
            *("enable.idempotence", "compression.type", "compression.codec", "batch.size"),
            *("message.max.bytes", "message.timeout.ms", "delivery.timeout.ms", "queue.buffering.max.kbytes"),
            *("queue.buffering.max.messages", "partitioner", "transactional.id", "transaction.timeout.ms"),
            "delivery.report.only.error",
        ),
        _WRITING,
    )
    | dict.fromkeys(("log_level", "debug"), "remove it: what is wrong is in Warren's own log")
    | dict.fromkeys(
        (
            *("error_cb", "stats_cb", "throttle_cb", "oauth_cb", "logger", "on_commit", "on_delivery"),
            *("ssl_certificate_verify_cb", "default.topic.config"),
        ),
        _CALLBACK,
    )
)


def flattened(value: object) -> object:
    """`a.b = 1` without quotes is a table in a table in TOML; numbers and booleans as librdkafka writes them."""
    return dict(_flat("", value)) if isinstance(value, Mapping) else value


def _flat(prefix: str, table: Mapping[Any, Any]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(f"{name}.", value)
        elif isinstance(value, bool):
            yield name, str(value).lower()
        else:
            yield name, str(value) if isinstance(value, int | float) else value


def faults(properties: Mapping[str, SecretStr]) -> Iterator[tuple[str, str, str]]:
    """Property, what is wrong with it and what to do; never its value, which may be a secret."""
    if not properties:
        return
    # the client takes time to import, and few need it here
    from confluent_kafka import KafkaException  # noqa: PLC0415
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    for name, value in properties.items():
        if name in SET_BY_WARREN:
            yield name, "Warren sets this property itself", SET_BY_WARREN[name]
            continue
        try:
            # each alone: what belongs together is tried when Warren connects
            AdminClient({name: value.get_secret_value(), "log_level": 0})
        except KafkaException as error:
            text = error.args[0].str()
            if "No such configuration property" in text:
                meant = nearest(name, SET_BY_WARREN)
                remedy = f"did you mean {meant}? If so, {SET_BY_WARREN[meant]}" if meant else _LIST
                yield name, "librdkafka has no such property", remedy
            else:
                yield name, "librdkafka does not take this value", _LIST
        except (TypeError, ValueError):
            yield name, "librdkafka does not take this value", _LIST


_LIST: Final = "see CONFIGURATION.md of librdkafka"
