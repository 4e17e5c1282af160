"""A team's configuration with a Kafka and a ZooKeeper consumer, under a chroot, as they published it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from tests.group_offsets import set_offset
from tests.integration.pipeline.hands import PATIENCE_S, Hands
from tests.processes import eventually
from tests.zookeeper import ZooKeeperServer

from warren.config import Settings, load
from warren.demo.broker import Broker
from warren.service import Service

ARTICLE = Path(__file__).parents[2] / "data" / "config" / "seeds" / "003" / "burrow.toml"
CLUSTER, TOPIC = "logis-dev", "infra.logis.metrics"
HEAD = 100


class Team:
    """What runs at the team: Kafka, ZooKeeper, consumers old and new, and Warren with the team's file."""

    def __init__(
        self, admin: AdminClient, server: ZooKeeperServer, client: KazooClient, settings: Settings
    ) -> None:
        self.server, self._settings = server, settings
        self._admin, self._client = admin, client
        self.start()

    def start(self) -> None:
        self.service = Service(self._settings)
        self.service.__enter__()
        self.http = httpx.Client(base_url=next(iter(self.service.urls.values())), timeout=30)

    def stop(self) -> None:
        self.http.close()
        self.service.__exit__(None, None, None)

    def commit_to_kafka(self, group: str, offset: int) -> None:
        set_offset(self._admin, group, TOPIC, offset)

    def commit_to_zookeeper(self, group: str, offset: int) -> None:
        path = f"/kafka10/consumers/{group}/offsets/{TOPIC}/0"
        self._client.ensure_path(path)
        self._client.set(path, str(offset).encode())

    def remove_from_zookeeper(self, group: str) -> None:
        self._client.delete(f"/kafka10/consumers/{group}", recursive=True)

    def own(self, group: str, owner: str) -> None:
        path = f"/kafka10/consumers/{group}/owners/{TOPIC}/0"
        self._client.ensure_path(path)
        self._client.set(path, owner.encode())

    def disown(self, group: str) -> None:
        self._client.delete(f"/kafka10/consumers/{group}/owners", recursive=True)

    def groups(self) -> list[str]:
        return list(self.http.get(f"/v3/kafka/{CLUSTER}/consumer").json().get("consumers", ()))

    def offsets(self, group: str) -> list[int]:
        partitions = (
            self.http.get(f"/v3/kafka/{CLUSTER}/consumer/{group}").json().get("topics", {}).get(TOPIC)
        )
        return [each["offset"] for each in partitions[0]["offsets"] if each] if partitions else []

    def owner(self, group: str) -> str:
        topics = self.http.get(f"/v3/kafka/{CLUSTER}/consumer/{group}").json()["topics"]
        return str(topics[TOPIC][0]["owner"])

    def health(self) -> dict[str, Any]:
        (cluster,) = self.http.get("/v4/health").json()["clusters"]
        return dict(cluster)

    def awaits(self, group: str, offset: int) -> None:
        assert eventually(lambda: self.offsets(group)[-1:] == [offset], PATIENCE_S, 0.1), (
            self.offsets(group),
            self.health(),
        )


@pytest.fixture(scope="module")
def team(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    hands, directory = Hands(broker), tmp_path_factory.mktemp("team")
    hands.make(TOPIC)
    hands.fill(TOPIC, HEAD)
    with ZooKeeperServer(directory / "zookeeper") as server:
        client = server.client()
        client.ensure_path("/kafka10/consumers")
        text = ARTICLE.read_text()
        # the file as it is, with our addresses
        for port, address in ((9092, broker.bootstrap_servers), (2181, server.address)):
            text, count = re.subn(rf'servers=\[ "logis-dp-01:{port}".*?\]', f'servers=[ "{address}" ]', text)
            assert count == 2
        text = text.replace('address=":8002"', 'address="127.0.0.1:0"')
        (directory / "burrow.toml").write_text(text)
        environment = {
            "BURROW_SPARK_TRIGGER_INTERVAL": "0.2",
            "BURROW_SPARK_CHECKPOINT_DIR": str(directory / "checkpoint"),
            "BURROW_SPARK_MASTER": "local[2]",
            # each commit has a slot of its own
            "BURROW_STORAGE_DEFAULT_MIN_DISTANCE": "0",
        }
        team = Team(hands.admin, server, client, load(directory, environment))
        yield team
        team.stop()
        client.stop()
        client.close()


def test_groups_of_both_places_show(team: Team) -> None:
    team.commit_to_kafka("new", 90)
    team.commit_to_kafka("quick-1", 90)
    team.commit_to_zookeeper("old", 80)
    team.own("old", "old_host-1534905460-abcdef-0")
    team.commit_to_zookeeper("quick-2", 80)
    team.awaits("new", 90)
    team.awaits("old", 80)
    # the broker has groups of other tests, too; the file's list denies quick-*
    assert {"new", "old", "quick-1", "quick-2"} & set(team.groups()) == {"new", "old"}
    lag = team.http.get(f"/v3/kafka/{CLUSTER}/consumer/old/lag").json()["status"]
    assert (lag["totallag"], lag["partitions"][0]["current_lag"]) == (HEAD - 80, HEAD - 80)
    assert eventually(lambda: team.owner("old") == "old_host-1534905460-abcdef-0", PATIENCE_S, 0.1)
    assert eventually(lambda: bool(team.health()["ready"]), PATIENCE_S, 0.1), team.health()
    assert team.health()["error"] == ""
    consumers = team.http.get(f"/v4/clusters/{CLUSTER}/groups/old").json()["consumers"]
    assert [(each["name"], each["class_name"]) for each in consumers] == [("logis-dev-zk", "kafka_zk")]


def test_the_same_group_in_both_places_is_one_and_later_commits_win(team: Team) -> None:
    team.commit_to_zookeeper("moving", 10)
    team.awaits("moving", 10)
    team.commit_to_kafka("moving", 11)
    team.awaits("moving", 11)
    team.commit_to_zookeeper("moving", 12)
    team.awaits("moving", 12)
    assert team.offsets("moving") == [10, 11, 12]
    assert team.groups().count("moving") == 1


def test_a_deleted_group_is_back_with_its_next_commit(team: Team) -> None:
    team.commit_to_zookeeper("deleted", 10)
    team.awaits("deleted", 10)
    assert team.http.delete(f"/v3/kafka/{CLUSTER}/consumer/deleted").status_code == 200
    assert eventually(lambda: "deleted" not in team.groups(), PATIENCE_S, 0.1)
    number = team.health()["triggers"]
    assert eventually(lambda: team.health()["triggers"] > number + 3, PATIENCE_S, 0.1)
    assert "deleted" not in team.groups()
    team.commit_to_zookeeper("deleted", 11)
    team.awaits("deleted", 11)
    assert team.offsets("deleted") == [11]


def test_while_zookeeper_is_away_groups_in_kafka_go_on(team: Team) -> None:
    team.commit_to_zookeeper("old", 81)
    team.awaits("old", 81)
    team.server.stop()
    try:
        assert eventually(lambda: "ZooKeeper" in team.health()["error"], PATIENCE_S, 0.1)
        team.commit_to_kafka("new", 91)
        team.awaits("new", 91)
        health = team.health()
        assert (health["blind"], health["caught_up"]) == (False, True)
        view = team.service.engine.snapshot(CLUSTER)
        assert view is not None
        assert "old" in view.unseen()
        assert "new" not in view.unseen()
        assert health["seen_at"] > (time.time() - 60) * 1000
    finally:
        team.server.start()
    assert eventually(lambda: team.health()["error"] == "", PATIENCE_S, 0.1), team.health()
    team.commit_to_zookeeper("old", 82)
    team.awaits("old", 82)
    assert team.offsets("old")[-2:] == [81, 82]


def test_after_a_restart_nothing_is_repeated_and_what_went_meanwhile_is_gone(team: Team) -> None:
    team.commit_to_zookeeper("stays", 10)
    team.commit_to_zookeeper("stays", 11)
    team.awaits("stays", 11)
    team.commit_to_zookeeper("goes", 10)
    team.awaits("goes", 10)
    team.own("stays", "stays_host-1")
    assert eventually(lambda: team.owner("stays") == "stays_host-1", PATIENCE_S, 0.1)
    before = team.offsets("stays")
    team.stop()
    team.remove_from_zookeeper("goes")
    team.disown("stays")
    team.commit_to_zookeeper("comes", 10)
    team.start()
    team.awaits("comes", 10)
    assert team.offsets("stays") == before
    assert "goes" not in team.groups()
    assert team.owner("stays") == ""
    team.commit_to_zookeeper("stays", 12)
    team.awaits("stays", 12)
    assert team.offsets("stays") == [*before, 12]
