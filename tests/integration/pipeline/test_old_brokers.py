"""Brokers of older versions: commits, heads, owners and deletions as their own consumers and ours make them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.integration.pipeline.hands import Hands, client_of, windows
from tests.integration.pipeline.test_groups import Member, owners
from tests.integration.pipeline.triggers import Triggers
from tests.old_broker import OldBroker
from tests.zookeeper import ZooKeeperServer

# version: settings. Each writes other versions of records: values of commits 1, 2 and 3, of groups 0, 2 and 3
VERSIONS = {
    "0.10.0.1": {},
    "2.1.1": {"inter_broker_protocol_version": "2.1-IV0"},
    "3.7.2": {},
}
# Kafka's own consumers commit when they end
CONSOLE = "kafka.tools.ConsoleConsumer"


class Cluster(NamedTuple):
    broker: OldBroker
    hands: Hands
    zookeeper: ZooKeeperServer

    def delete(self, topic: str) -> None:
        """As Kafka's own tool does in all of these versions."""
        client = self.zookeeper.client()
        client.create(f"/kafka-{self.broker.version}/admin/delete_topics/{topic}")
        client.stop()
        client.close()

    def consume(self, topic: str, group: str, count: int, directory: Path) -> None:
        """Read so many records with the consumer that came with the broker."""
        settings = directory / "consumer.properties"
        settings.write_text(f"group.id={group}\nclient.id={group}-client\n")
        arguments = ["--bootstrap-server", self.broker.bootstrap_servers, "--topic", topic]
        arguments += ["--consumer.config", str(settings), "--from-beginning", "--max-messages", str(count)]
        if self.broker.version.startswith("0.10.0"):
            arguments.append("--new-consumer")
        done = subprocess.run(
            self.broker.command(CONSOLE, *arguments), capture_output=True, text=True, timeout=60, check=False
        )
        assert f"Processed a total of {count} messages" in done.stdout + done.stderr, done


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Cluster]]:
    with ExitStack() as stack:
        zookeeper = stack.enter_context(ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")))
        brokers = [
            OldBroker(version, tmp_path_factory.mktemp(version), zookeeper.address, **settings)
            for version, settings in VERSIONS.items()
        ]
        for each in brokers:
            stack.enter_context(each)
        for each in brokers:
            each.wait()
        yield {each.version: Cluster(each, Hands(each), zookeeper) for each in brokers}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_groups_and_topics_do_on_an_old_broker(
    clusters: dict[str, Cluster], version: str, tmp_path: Path
) -> None:
    cluster = clusters[version]
    broker, hands, _ = cluster
    topic = "orders"
    hands.fill(topic, 3, 0)
    hands.fill(topic, 4, 1)
    cluster.consume(topic, "java", 7, tmp_path)
    triggers = Triggers(client_of(broker), tmp_path)
    with Member(broker, topic, "client", "classic", {0: 1, 1: 2}):
        view = triggers.until(lambda view: len(windows(view, topic)) == 2 and len(windows(view, "java")) == 2)
        view = triggers.until(lambda view: owners(view, topic, topic) == [("/127.0.0.1", "client")] * 2)
        assert {key: [each[0] for each in found] for key, found in windows(view, "java").items()} == {
            (topic, 0): [3],
            (topic, 1): [4],
        }
        status = view.group(topic)
        assert status is not None
        assert [each.current_lag for each in status.partitions] == [2, 2]
        heads = view.topic(topic)
        assert heads is not None
        assert [each.head for each in heads] == [3, 4]
    triggers.until(lambda view: owners(view, topic, topic) == [("", "")] * 2)
    # the broker's own deletion of a group, which 0.10 does not have
    if not version.startswith("0.10"):
        hands.admin.delete_consumer_groups([topic])[topic].result()
        triggers.until(lambda view: topic not in view.groups())
    cluster.delete(topic)
    triggers.until(lambda view: topic not in view.topics())
    assert triggers.view.groups() == []
    # nor has anything that was asked created it again
    triggers.more(5)
    assert topic not in hands.admin.list_topics(timeout=10).topics
    # the next one of that name begins anew
    hands.fill(topic, 2, 0)
    cluster.consume(topic, "java", 2, tmp_path)
    view = triggers.until(lambda view: (topic, 0) in windows(view, "java"))
    assert [each[0] for each in windows(view, "java")[topic, 0]] == [2]
    assert triggers.error == ""
