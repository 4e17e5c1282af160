"""Rights that are taken away for a while, by a broker that enforces them: nothing that is known goes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from pydantic import SecretStr
from tests.conftest import BrokerFactory
from tests.group_offsets import set_offset
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    later,
    pipeline_settings,
    reading,
    running,
    windows,
)

from warren.config import Settings
from warren.config.sections import ClientProfile, Cluster, KafkaAdminConsumer, KafkaConsumer, Sasl
from warren.demo.broker import Broker
from warren.demo.credentials import Credentials

TOPICS = ("rights-orders", "rights-clicks", "rights-views")
# as `topic-refresh` is set below
REFRESH_S = 2


def enforcing(broker_factory: BrokerFactory) -> Broker:
    """A broker with two users: `admin` may do everything, `warren` what nobody forbids."""
    users = {"admin": "admin-secret", "warren": "warren-secret"}
    passwords = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return broker_factory(
        sasl=Credentials("PLAIN", "admin", users["admin"]),
        settings={
            "listener.name.client.plain.sasl.jaas.config": (
                f'{module} required username="admin" password="{users["admin"]}" {passwords};'
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin;User:ANONYMOUS",
            "allow.everyone.if.no.acl.found": "true",
        },
    )


def watching(directory: Path, broker: Broker, consumer: KafkaConsumer | KafkaAdminConsumer) -> Settings:
    """Cluster `c`, as the user `warren` sees it."""
    cluster = Cluster(
        servers=(broker.bootstrap_servers,), topic_refresh=REFRESH_S, offset_refresh=1, client_profile="w"
    )
    return pipeline_settings(
        directory,
        {"c": cluster},
        {"c": consumer},
        client_profile={"w": ClientProfile(sasl="w")},
        sasl={"w": Sasl(username="warren", password=SecretStr("warren-secret"), mechanism="PLAIN")},
    )


def forbidden(name: str, kind: ResourceType) -> AclBinding:
    """What takes the right to describe a topic or a group away from Warren."""
    return AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        "User:warren",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.DENY,
    )


def forbid(hands: Hands, name: str, kind: ResourceType = ResourceType.TOPIC) -> None:
    for done in hands.admin.create_acls([forbidden(name, kind)]).values():
        done.result()


def allow_again(hands: Hands) -> None:
    anything: Any = None
    everything = AclBindingFilter(
        ResourceType.ANY,
        anything,
        ResourcePatternType.ANY,
        anything,
        anything,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    for done in hands.admin.delete_acls([everything]).values():
        done.result()


@pytest.mark.timeout(600)
def test_rights_that_were_taken_away_for_a_minute_deleted_windows_for_good(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    broker = enforcing(broker_factory)
    hands = Hands(broker)
    for topic in TOPICS:
        hands.make(topic, 2)
        hands.fill(topic, 10)
        for offset in (3, 5, 7):
            set_offset(hands.admin, f"group-of-{topic}", topic, offset)
    settings = watching(tmp_path, broker, reading("c", broker, client_profile="w"))
    groups = [f"group-of-{topic}" for topic in sorted(TOPICS)]
    with running(settings) as engine:
        view = await_view(engine, "c", lambda each: each.groups() == groups)
        known = {group: windows(view, group) for group in groups}
        for taken in (TOPICS[0], "*"):
            forbid(hands, taken)
            await_view(engine, "c", lambda _: "kafka-acls.sh" in engine.progress("c").error)
            until = time.monotonic() + 3 * REFRESH_S
            while time.monotonic() < until:
                view = later(engine, "c", 1)
                assert {group: windows(view, group) for group in view.groups()} == known
            allow_again(hands)
            await_view(engine, "c", lambda _: not engine.progress("c").error)
        # and the heads are seen again
        hands.fill(TOPICS[0], 5)
        await_view(engine, "c", lambda each: each.topic(TOPICS[0])[0].head == 15)  # type: ignore[index]
        view = later(engine, "c")
        assert {group: windows(view, group) for group in view.groups()} == known
        # a topic that was deleted is gone, as soon as the brokers say so
        hands.drop(TOPICS[1])
        await_view(engine, "c", lambda each: TOPICS[1] not in each.topics())
        await_view(engine, "c", lambda each: f"group-of-{TOPICS[1]}" not in each.groups())


@pytest.mark.timeout(600)
def test_rights_that_were_missing_during_a_start_deleted_windows_of_polled_groups(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    broker = enforcing(broker_factory)
    hands = Hands(broker)
    for topic in TOPICS:
        hands.make(topic)
        hands.fill(topic, 10)
        set_offset(hands.admin, f"group-of-{topic}", topic, 3)
    consumer = KafkaAdminConsumer(
        cluster="c", servers=(broker.bootstrap_servers,), client_profile="w", poll_interval=1
    )
    settings = watching(tmp_path, broker, consumer)
    groups = [f"group-of-{topic}" for topic in sorted(TOPICS)]
    with running(settings) as engine:
        view = await_view(engine, "c", lambda each: each.groups() == groups)
        known = {group: windows(view, group) for group in groups}
        # it is in the checkpoint a moment later than in the view
        later(engine, "c")
    forbid(hands, f"group-of-{TOPICS[0]}", ResourceType.GROUP)
    forbid(hands, TOPICS[1])
    with running(settings) as engine:
        await_view(engine, "c", lambda _: "groups may not be seen" in engine.progress("c").error)
        until = time.monotonic() + 3 * REFRESH_S
        while time.monotonic() < until:
            view = later(engine, "c", 1)
            assert {group: windows(view, group) for group in view.groups()} == known
        allow_again(hands)
        await_view(engine, "c", lambda _: not engine.progress("c").error)
        view = later(engine, "c")
        assert {group: windows(view, group) for group in view.groups()} == known
