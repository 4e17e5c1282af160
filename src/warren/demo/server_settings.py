"""The settings of a single-node Kafka, and its configuration files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from warren.demo.certificates import Certificates
from warren.demo.credentials import Credentials

# A single node: no replication, no wait for further members, and internal topics that are small enough to be
# created at once.
SINGLE_NODE: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.initial.rebalance.delay.ms": "0",
    # the short sessions of tests and of the simulator
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    # the default of 128 MB is a quarter of our heap
    "log.cleaner.dedupe.buffer.size": "33554432",
    # after a kill the controller waits this long for the old incarnation before it registers the new one (default 9 s)
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


def security_protocol(credentials: Credentials | None, certificates: Certificates | None) -> str:
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    if credentials:
        return "SASL_SSL" if certificates else "SASL_PLAINTEXT"
    return "SSL" if certificates else "PLAINTEXT"


def listener_settings(
    host: str,
    port: int,
    controller_port: int,
    credentials: Credentials | None,
    certificates: Certificates | None,
) -> dict[str, str]:
    """One listener for clients and the broker's own connections, and one for the controller."""
    protocol = security_protocol(credentials, certificates)
    settings = {
        "listeners": f"CLIENT://{host}:{port},CONTROLLER://{host}:{controller_port}",
        "advertised.listeners": f"CLIENT://{host}:{port}",
        "listener.security.protocol.map": f"CLIENT:{protocol},CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "controller.quorum.voters": f"1@{host}:{controller_port}",
    }
    if credentials:
        settings |= {
            "sasl.enabled.mechanisms": credentials.mechanism,
            "sasl.mechanism.inter.broker.protocol": credentials.mechanism,
            f"listener.name.client.{credentials.mechanism.lower()}.sasl.jaas.config": credentials.jaas,
        }
    if certificates:
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.ca),
        }
    return settings


def properties(settings: Mapping[str, str]) -> str:
    """A Java properties file: ASCII, with backslashes and non-ASCII characters escaped."""
    return "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())


def _escaped(value: str) -> str:
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 32 < code < 127 and code != 92 else f"\\u{code:04x}" for code in codes)


def log4j(log: Path) -> str:
    """Log everything to a file of bounded size; the server's start and all errors also to standard output."""
    return properties(
        {
            "appender.file.type": "RollingFile",
            "appender.file.name": "file",
            "appender.file.fileName": str(log),
            "appender.file.filePattern": f"{log}.%i",
            "appender.file.policies.type": "SizeBasedTriggeringPolicy",
            "appender.file.policies.size": "10MB",
            "appender.file.strategy.type": "DefaultRolloverStrategy",
            "appender.file.strategy.max": "2",
            "appender.file.layout.type": "PatternLayout",
            "appender.file.layout.pattern": "%d %p %m (%c)%n",
            "appender.out.type": "Console",
            "appender.out.name": "out",
            "appender.out.layout.type": "PatternLayout",
            "appender.out.layout.pattern": "%p %m%n%ex",
            "rootLogger.level": "info",
            "rootLogger.appenderRef.file.ref": "file",
            "rootLogger.appenderRef.out.ref": "out",
            "rootLogger.appenderRef.out.level": "error",
            "logger.start.name": "kafka.server.KafkaRaftServer",
            "logger.start.level": "info",
            "logger.start.additivity": "false",
            "logger.start.appenderRef.file.ref": "file",
            "logger.start.appenderRef.out.ref": "out",
            # a thousand useless lines at every start
            "logger.config.name": "org.apache.kafka.common.config.AbstractConfig",
            "logger.config.level": "warn",
        }
    )
