"""One broker that demands every kind of login, on a port for each, and grants nobody anything until it is told to."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.group_offsets import set_offset
from tests.receivers.tokens import AUDIENCE, ISSUER, TokenEndpoint

from warren.demo.broker import Broker
from warren.demo.certificates import Certificates, ensure_certificates
from warren.demo.ports import free_port

HOST = "127.0.0.1"
# users of PLAIN, all with the same password; those of SCRAM are made by `GuardedBroker.scram_user`
PLAIN_USERS = ("warren", "stranger", "no-read", "no-topics")
PASSWORD = "s3cret, with a comma"
SECRET = "s3cret-of-the-client"

_JAAS = "org.apache.kafka.common.security"


@dataclass
class GuardedBroker:
    """Where it listens, and what an administrator does to it."""

    broker: Broker
    certificates: Certificates
    tokens: TokenEndpoint
    # listener: its port. MUTUAL: TLS with a client certificate; STRANGE: TLS with the certificate of an unknown CA;
    # SLOW and FRAIL: no login
    ports: Mapping[str, int]
    # STRANGE, SLOW and FRAIL: where they say that they are; a forwarder may listen there
    advertised: Mapping[str, int]
    # everything is allowed here
    admin: AdminClient

    def address(self, listener: str) -> str:
        return f"{HOST}:{self.ports[listener]}"

    def scram_user(self, mechanism: str, password: str, user: str = "warren") -> None:
        kind = ScramMechanism.SCRAM_SHA_256 if mechanism.endswith("256") else ScramMechanism.SCRAM_SHA_512
        made = UserScramCredentialUpsertion(user, ScramCredentialInfo(kind, 4096), password.encode())
        for done in self.admin.alter_user_scram_credentials([made]).values():
            done.result(30)

    def commit(self, group: str, topic: str, offset: int) -> None:
        set_offset(self.admin, group, topic, offset)

    def grant(self, command: str) -> None:
        """What kafka-acls.sh would do; the command comes from a message or from the docs."""
        for done in self.admin.create_acls(list(bindings(command))).values():
            done.result(30)

    def revoke(self, principal: str) -> None:
        """Every right of this user."""
        nothing: Any = None
        everything = AclBindingFilter(
            ResourceType.ANY,
            nothing,
            ResourcePatternType.ANY,
            principal,
            nothing,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        for done in self.admin.delete_acls([everything]).values():
            done.result(30)


@contextmanager
def guarded_broker(directory: Path) -> Iterator[GuardedBroker]:
    """A broker with all of these listeners."""
    protocols = {"CLIENT": "PLAINTEXT", "SLOW": "PLAINTEXT", "FRAIL": "PLAINTEXT", "TLS": "SSL"}
    protocols |= {"MUTUAL": "SSL", "STRANGE": "SSL", "SASL": "SASL_PLAINTEXT", "TOKEN": "SASL_SSL"}
    ports = {name: free_port(HOST) for name in protocols}
    advertised = {name: free_port(HOST) for name in ("STRANGE", "SLOW", "FRAIL")}
    controller = free_port(HOST)
    data = directory / "guarded"
    certificates = ensure_certificates(data / "tls", HOST)
    strange = ensure_certificates(directory / "strange", HOST)
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in PLAIN_USERS)
    with ExitStack() as stack:
        tokens = stack.enter_context(TokenEndpoint({"warren": SECRET}))
        settings = {
            "listeners": _listed(ports | {"CONTROLLER": controller}),
            "advertised.listeners": _listed(ports | advertised),
            "listener.security.protocol.map": ",".join(
                f"{name}:{each}" for name, each in {**protocols, "CONTROLLER": "PLAINTEXT"}.items()
            ),
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.ca),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.strange.ssl.keystore.type": "PEM",
            "listener.name.strange.ssl.keystore.location": str(strange.server),
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl.plain.sasl.jaas.config": f"{_JAAS}.plain.PlainLoginModule required {users};",
            "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.token.oauthbearer.sasl.jaas.config": (
                f"{_JAAS}.oauthbearer.OAuthBearerLoginModule required;"
            ),
            "listener.name.token.oauthbearer.sasl.server.callback.handler.class": (
                f"{_JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            "sasl.oauthbearer.jwks.endpoint.url": tokens.jwks_url,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        } | {
            f"listener.name.sasl.{mechanism}.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;"
            for mechanism in ("scram-sha-256", "scram-sha-512")
        }
        broker = stack.enter_context(
            Broker(
                ports["CLIENT"],
                data,
                offsets_partitions=4,
                settings=settings,
                java_options=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.jwks_url}"],
            )
        )
        admin = AdminClient({"bootstrap.servers": f"{HOST}:{ports['CLIENT']}", "log_level": 0})
        yield GuardedBroker(broker, certificates, tokens, ports, advertised, admin)


def bindings(command: str) -> Iterator[AclBinding]:
    """The rights that a kafka-acls.sh command adds."""
    words = shlex.split(command)
    assert words.pop(0) == "kafka-acls.sh", command
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    for option in ("--bootstrap-server", "--command-config", "--allow-principal", "--topic", "--group"):
        parser.add_argument(option)
    parser.add_argument("--transactional-id")
    parser.add_argument("--resource-pattern-type", default="literal")
    parser.add_argument("--operation", action="append")
    parser.add_argument("--add", action="store_true", required=True)
    parser.add_argument("--cluster", action="store_true")
    given = parser.parse_args(words)
    kinds = {
        ResourceType.TOPIC: given.topic,
        ResourceType.GROUP: given.group,
        ResourceType.TRANSACTIONAL_ID: given.transactional_id,
        ResourceType.BROKER: "kafka-cluster" if given.cluster else None,
    }
    ((kind, name),) = [(kind, name) for kind, name in kinds.items() if name]
    for operation in given.operation:
        yield AclBinding(
            kind,
            name,
            ResourcePatternType[given.resource_pattern_type.upper()],
            given.allow_principal,
            "*",
            AclOperation[_constant(operation)],
            AclPermissionType.ALLOW,
        )


def _constant(operation: str) -> str:
    """IdempotentWrite: IDEMPOTENT_WRITE."""
    return "".join(
        f"_{char}" if char.isupper() and place else char for place, char in enumerate(operation)
    ).upper()


def _listed(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


@dataclass(frozen=True)
class Access:
    """How one cluster of a configuration is reached."""

    address: str
    tls: Mapping[str, str] | None = None
    sasl: Mapping[str, str] | None = None
    # further lines of its sections
    cluster: str = ""
    consumer: str = ""

    def sections(self, name: str) -> str:
        """In TOML: the cluster, its consumer and its login, all under one name."""
        parts = [f'[client-profile.{name}]\nclient-id = "warren-test"']
        for section, keys in (("tls", self.tls), ("sasl", self.sasl)):
            if keys is not None:
                parts[0] += f'\n{section} = "{name}"'
                parts.append(f"[{section}.{name}]\n" + "\n".join(f'{key} = "{keys[key]}"' for key in keys))
        shared = f'servers = ["{self.address}"]\nclient-profile = "{name}"'
        parts.append(f"[cluster.{name}]\n{shared}\n{self.cluster}")
        parts.append(
            f'[consumer.{name}]\nclass-name = "kafka"\ncluster = "{name}"\n{shared}\n{self.consumer}'
        )
        return "\n".join(parts) + "\n"


def good_logins(guarded: GuardedBroker) -> dict[str, Access]:
    """Every login that docs/configuration.md names and that a broker of this machine can demand."""
    trust = {"cafile": str(guarded.certificates.ca)}
    own = {"certfile": str(guarded.certificates.client), "keyfile": str(guarded.certificates.client_key)}
    user = {"username": "warren", "password": PASSWORD}
    tokens = {"username": "warren", "password": SECRET, "mechanism": "OAUTHBEARER"}
    return {
        "certificate": Access(guarded.address("MUTUAL"), trust | own),
        "plain": Access(guarded.address("SASL"), sasl=user | {"mechanism": "PLAIN"}),
        "scram-256": Access(guarded.address("SASL"), sasl=user | {"mechanism": "SCRAM-SHA-256"}),
        "scram-512": Access(guarded.address("SASL"), sasl=user | {"mechanism": "SCRAM-SHA-512"}),
        "oauth": Access(
            guarded.address("TOKEN"),
            trust,
            tokens | {"token-url": guarded.tokens.token_url, "scope": "lag"},
        ),
    }
