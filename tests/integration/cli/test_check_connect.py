"""`warren check --connect` against a real Kafka and a real ZooKeeper, and against nobody."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.security import ACL, Id, Permissions
from tests.processes import eventually
from tests.zookeeper import HOST, ZooKeeperServer
from typer.testing import CliRunner

from warren.cli import probes
from warren.cli.main import app
from warren.demo.broker import Broker
from warren.demo.ports import free_port


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A ZooKeeper with an old Kafka's /kafka/consumers in it, as host:port."""
    users = {"warren": "secret"}
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"), users=users) as server:
        client = server.client()
        client.ensure_path("/kafka/consumers")
        client.ensure_path("/guarded/consumers")
        client.set_acls("/guarded/consumers", [ACL(Permissions.READ, Id("sasl", "warren"))])
        client.stop()
        client.close()
        yield server.address


def checked(tmp_path: Path, text: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    (tmp_path / "burrow.toml").write_text(text)
    answer = CliRunner().invoke(
        app, ["check", "--config-dir", str(tmp_path), "--connect", "--json", *arguments]
    )
    return answer.exit_code, json.loads(answer.stdout)


def configuration(kafka: str, zookeeper: str, tmp_path: Path) -> str:
    return f"""
[zookeeper]
servers = ["{zookeeper}"]
[cluster.local]
servers = ["{kafka}"]
[consumer.local]
class-name = "kafka"
cluster = "local"
servers = ["{kafka}"]
[consumer.old]
class-name = "kafka_zk"
cluster = "local"
servers = ["{zookeeper}"]
zookeeper-path = "/kafka"
[sink.lake]
class-name = "parquet"
path = "{tmp_path}/lake"
[sink.stream]
class-name = "kafka"
servers = ["{kafka}"]
topic = "never-made"
create-topic = true
"""


def test_everything_answers(broker: Broker, zookeeper: str, tmp_path: Path) -> None:
    kafka = str(broker.client_settings["bootstrap.servers"])
    code, answer = checked(tmp_path, configuration(kafka, zookeeper, tmp_path))
    tries = {one["key"]: one for one in answer["connections"]}
    assert {key: one["reached"] for key, one in tries.items()} == dict.fromkeys(
        ("cluster.local", "consumer.local", "consumer.old", "zookeeper", "sink.lake", "sink.stream"), True
    )
    assert tries["cluster.local"]["detail"].startswith("1 broker, ")
    assert "__consumer_offsets" in tries["consumer.local"]["detail"]
    assert tries["consumer.old"]["detail"] == "/kafka/consumers exists"
    assert tries["zookeeper"]["detail"] == "session opened"
    assert tries["sink.lake"]["detail"] == f"can be created in {tmp_path}"
    assert tries["sink.stream"]["detail"] == "never-made does not exist yet and will be created"
    assert all(0 < one["seconds"] < 10 for one in tries.values())
    assert (code, answer["ok"], answer["problems"]) == (0, True, [])


def test_consumers_in_a_zookeeper_that_wants_a_login(broker: Broker, zookeeper: str, tmp_path: Path) -> None:
    text = f'[cluster.local]\nservers = ["{broker.bootstrap_servers}"]\n'
    for name, password in (("right", "secret"), ("wrong", "guessed"), ("without", "")):
        text += f"""
[consumer.{name}]
class-name = "kafka_zk"
cluster = "local"
servers = ["{zookeeper}/guarded"]
"""
        if password:
            text += f'auth-type = "sasl"\nusername = "warren"\npassword = "{password}"\n'
    _, answer = checked(tmp_path, text)
    tries = {one["key"]: (one["reached"], one["detail"]) for one in answer["connections"]}
    del tries["cluster.local"]
    assert tries == {
        "consumer.right": (True, "/consumers exists"),
        "consumer.wrong": (False, "the login is refused: check username, password and auth-type"),
        "consumer.without": (
            False,
            "no permission: the user needs READ on the path and on all nodes below",
        ),
    }


@pytest.mark.parametrize("late", ["when it starts", "after the start"])
def test_a_refused_login_is_told_however_late_it_is_asked_for(
    zookeeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """On a busy machine kazoo's own thread has closed the client before we go on."""

    class Late(KazooClient):  # type: ignore[misc]
        def start_async(self) -> Any:
            lost = threading.Event()
            self.add_listener(lambda state: lost.set() if state == KazooState.LOST else None)
            connected = super().start_async()
            self.ended = lambda: lost.is_set() and self.client_state == KeeperState.CLOSED
            assert late == "after the start" or eventually(self.ended, 20)
            return connected

        def start(self, timeout: float = 15) -> None:
            super().start(timeout)
            assert eventually(self.ended, 20)

    monkeypatch.setattr(probes, "KazooClient", Late)
    text = f"""
[zookeeper]
servers = ["{zookeeper}"]
auth-type = "sasl"
username = "warren"
password = "guessed"
"""
    _, answer = checked(tmp_path, text)
    (one,) = answer["connections"]
    assert one["detail"] == "the login is refused: check username, password and auth-type"


def test_nobody_answers_and_each_has_its_time_limit(tmp_path: Path) -> None:
    nobody = f"{HOST}:{free_port(HOST)}"
    begun = time.monotonic()
    code, answer = checked(tmp_path, configuration(nobody, nobody, tmp_path), "--timeout", "3")
    took_s = time.monotonic() - begun
    tries = {one["key"]: one for one in answer["connections"]}
    assert code == 1
    assert not answer["ok"]
    assert [key for key, one in tries.items() if one["reached"]] == ["sink.lake"]
    assert "Connection refused" in tries["cluster.local"]["detail"]
    assert tries["zookeeper"]["detail"] == "Connection time-out"
    # all at once: five tries that each take their whole limit would be 15 s one after the other
    assert took_s < 12


def test_a_person_sees_what_was_not_reached(tmp_path: Path) -> None:
    nobody = f"{HOST}:{free_port(HOST)}"
    (tmp_path / "burrow.toml").write_text(
        f'[cluster.local]\nservers = ["{nobody}"]\n'
        f'[consumer.local]\nclass-name = "kafka"\ncluster = "local"\nservers = ["{nobody}"]\n'
    )
    answer = CliRunner().invoke(app, ["check", "--config-dir", str(tmp_path), "--connect", "--timeout", "1"])
    first, second, closing = answer.stdout.splitlines()
    assert first.startswith(f"✗ cluster.local  Kafka {nobody}  ")
    assert first.endswith(" ms")
    assert second.startswith(f"✗ consumer.local  Kafka {nobody}  ")
    assert closing == f"{tmp_path / 'burrow.toml'}: 0 problems, 0 warnings; 2 of 2 not reached"
    assert answer.exit_code == 1


def test_a_wrong_configuration_is_not_tried(tmp_path: Path) -> None:
    code, answer = checked(tmp_path, '[cluster.local]\nservers = ["kafka01"]\n')
    assert code == 2
    assert answer["connections"] == []
