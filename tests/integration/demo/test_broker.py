"""The broker in the box is a real one: it serves, survives being killed, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.processes import alive, eventually

from warren.demo import broker as broker_module
from warren.demo.broker import Broker, BrokerError, ClientSettings, PortTakenError
from warren.demo.claim import ClaimedError
from warren.demo.credentials import Credentials
from warren.demo.ports import free_port

BrokerFactory = Callable[..., Broker]

WAIT_S = 60.0


def make_topic(settings: ClientSettings) -> str:
    """A topic of the test's own with one partition."""
    topic = f"topic-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(settings)
    for made in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        made.result(WAIT_S)
    return topic


def produce(settings: ClientSettings, topic: str, *values: bytes) -> None:
    """Write the values, and be sure of it."""
    producer = Producer(settings)
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(WAIT_S) == 0


def consume(settings: ClientSettings, topic: str, count: int, **more: str) -> list[bytes]:
    """Read with a group, and commit."""
    consumer = Consumer(
        {**settings, "group.id": f"group-{uuid.uuid4().hex[:8]}", "auto.offset.reset": "earliest", **more}
    )
    try:
        consumer.subscribe([topic])
        values: list[bytes] = []

        def complete() -> bool:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                values.append(message.value() or b"")
            return len(values) == count

        assert eventually(complete, WAIT_S)
        committed = consumer.commit(asynchronous=False)
        assert [(place.topic, place.partition, place.offset) for place in committed] == [(topic, 0, count)]
        return values
    finally:
        consumer.close()


def topics(settings: ClientSettings, timeout_s: float = WAIT_S) -> set[str]:
    """What a client gets to see; raises when it is not let in."""
    return set(AdminClient(settings).list_topics(timeout=timeout_s).topics)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_commit(broker: Broker, protocol: str) -> None:
    topic = make_topic(broker.client_settings)
    produce(broker.client_settings, topic, b"one", b"two")
    read = consume(broker.client_settings, topic, 2, **{"group.protocol": protocol})
    assert read == [b"one", b"two"]


def test_the_offsets_topic_has_as_many_partitions_as_asked(broker: Broker) -> None:
    consumer = Consumer({**broker.client_settings, "group.id": "any"})
    try:
        # asking for a commit makes the topic
        consumer.committed([TopicPartition("none", 0)], timeout=WAIT_S)
        metadata = consumer.list_topics("__consumer_offsets", timeout=WAIT_S)
        assert len(metadata.topics["__consumer_offsets"].partitions) == 4
    finally:
        consumer.close()


def test_a_killed_broker_starts_again_on_the_same_data(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    killed = broker_factory(data=tmp_path / "data")
    settings = killed.client_settings
    topic = make_topic(settings)
    produce(settings, topic, b"before")
    assert killed.pid is not None
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(WAIT_S)
    assert not killed.running

    killed.start()
    assert killed.client_settings == settings
    produce(settings, topic, b"after")
    assert consume(settings, topic, 2) == [b"before", b"after"]


def test_a_start_takes_little_work_and_a_stop_leaves_nothing(broker_factory: BrokerFactory) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    short = broker_factory()
    pid, data = short.pid, short.data
    assert pid is not None
    # by the clock it is 3 to 4 s on two idle cores; this is what the machine's other work cannot stretch
    spent = psutil.Process(pid).cpu_times()
    assert spent.user + spent.system < 15
    short.close()
    assert not alive(pid)
    assert not data.exists()
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_a_taken_port_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(PortTakenError, match=rf"^Port {port} on 127\.0\.0\.1 is taken .* choose another"):
            Broker(port).start()


def test_any_port_means_another_one_when_somebody_was_quicker(
    monkeypatch: pytest.MonkeyPatch, broker_factory: BrokerFactory
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        offered = iter([taken])
        monkeypatch.setattr(broker_module, "free_port", lambda host: next(offered, None) or free_port(host))
        started = broker_factory()
        assert started.port != taken
        assert topics(started.client_settings) is not None


def test_data_that_another_broker_uses_is_refused_and_left_alone(broker: Broker) -> None:
    files = {path: path.stat().st_mtime_ns for path in broker.data.glob("*.properties")}
    assert files
    with pytest.raises(
        ClaimedError, match=rf"in use by another broker \(of process {os.getpid()}\): stop that"
    ):
        Broker(data=broker.data).start()
    assert {path: path.stat().st_mtime_ns for path in broker.data.glob("*.properties")} == files


def test_a_place_that_cannot_hold_data_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokerError, match=r"data cannot be stored in .*/file/data"):
        Broker(data=tmp_path / "file" / "data").start()


def test_a_setting_that_kafka_refuses_is_told_with_kafkas_reason() -> None:
    with (
        pytest.raises(BrokerError, match=r"num\.network\.threads"),
        Broker(settings={"num.network.threads": "0"}),
    ):
        pass


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_only_the_right_password_is_let_in(
    broker_factory: BrokerFactory, tmp_path: Path, mechanism: str
) -> None:
    # what needs quoting in one of the files that the password passes through
    user = Credentials(mechanism, "alice", 'se"c\\r=e,t')
    guarded = broker_factory(sasl=user, data=tmp_path)
    settings = guarded.client_settings
    topic = make_topic(settings)
    produce(settings, topic, b"in")
    assert consume(settings, topic, 1) == [b"in"]
    with pytest.raises(KafkaException):
        topics({**settings, "sasl.password": "wrong"}, timeout_s=5)
    with pytest.raises(KafkaException):
        topics({"bootstrap.servers": guarded.bootstrap_servers}, timeout_s=5)


@pytest.mark.parametrize("kept", ["another password", "no user"])
def test_data_made_without_the_scram_user_is_refused(tmp_path: Path, kept: str) -> None:
    (tmp_path / "kafka").mkdir()
    if kept == "another password":
        (tmp_path / "scram").write_text(Credentials("SCRAM-SHA-512", "alice", "secret").scram_record())
    with pytest.raises(BrokerError, match="created without this SCRAM user or with another password"):
        Broker(sasl=Credentials("SCRAM-SHA-512", "alice", "other"), data=tmp_path).start()


def test_tls_with_scram_is_for_those_who_trust_and_know(broker_factory: BrokerFactory) -> None:
    guarded = broker_factory(sasl=Credentials("SCRAM-SHA-512", "alice", "secret"), tls=True)
    settings = guarded.client_settings
    assert settings["security.protocol"] == "SASL_SSL"
    topic = make_topic(settings)
    produce(settings, topic, b"in")
    assert consume(settings, topic, 1) == [b"in"]
    untrusting = {key: value for key, value in settings.items() if key != "ssl.ca.location"}
    with pytest.raises(KafkaException):
        topics(untrusting, timeout_s=5)


def test_a_broker_that_asks_for_certificates_refuses_clients_without(broker_factory: BrokerFactory) -> None:
    guarded = broker_factory(client_certificates=True)
    settings = guarded.client_settings
    assert settings["security.protocol"] == "SSL"
    topic = make_topic(settings)
    assert topic in topics(settings)
    nameless = {
        key: value for key, value in settings.items() if "certificate" not in key and "key" not in key
    }
    with pytest.raises(KafkaException):
        topics(nameless, timeout_s=5)


# the broker is started by a thread that then ends: its end must not be the broker's
PARENT = """
import threading, time
from warren.demo.broker import Broker
broker = Broker(offsets_partitions=4)
starting = threading.Thread(target=broker.start)
starting.start()
starting.join()
print(broker.pid, broker.data, flush=True)
time.sleep(600)
"""


def test_a_parent_killed_with_9_leaves_neither_process_nor_files() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, data = parent.stdout.readline().split()
        assert alive(int(pid))
        parent.kill()
    assert eventually(lambda: not alive(int(pid)), WAIT_S)
    assert eventually(lambda: not Path(data).exists(), WAIT_S)


class Command:
    """`warren broker` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "warren.cli.main", "broker", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def settings(self) -> ClientSettings:
        """The client settings that it prints once it runs."""
        assert self.process.stdout is not None
        found: ClientSettings = {}
        for line in self.process.stdout:
            key, equals, value = line.strip().partition("=")
            if equals:
                found[key] = value
            if line.startswith("Ctrl-C"):
                break
        return found


@pytest.fixture
def command() -> Iterator[Callable[..., Command]]:
    """Commands that end with the test."""
    started: list[Command] = []

    def start(*arguments: str) -> Command:
        started.append(Command(*arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_says_how_to_connect_and_stops_cleanly(
    command: Callable[..., Command], number: signal.Signals
) -> None:
    running = command("--port", "0", "--partitions-of-offsets-topic", "3", "--sasl", "PLAIN:alice:secret")
    settings = running.settings()
    assert settings["sasl.password"] == "…"
    assert topics({**settings, "sasl.password": "secret"}) is not None
    family = psutil.Process(running.process.pid).children(recursive=True)
    assert family
    running.process.send_signal(number)
    out, err = running.process.communicate(timeout=WAIT_S)
    assert (running.process.returncode, out.strip(), err) == (0, "Stopped.", "")
    assert not any(alive(process.pid) for process in family)


def test_the_command_says_a_taken_port_in_one_message(command: Callable[..., Command]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refused = command("--port", str(port))
        out, err = refused.process.communicate(timeout=WAIT_S)
    assert refused.process.returncode == 1
    assert out == ""
    assert err.startswith(f"Error: Port {port} on 127.0.0.1 is taken")
    assert "Traceback" not in err


def test_the_command_refuses_half_a_login_as_wrong_usage(command: Callable[..., Command]) -> None:
    refused = command("--port", "0", "--sasl", "PLAIN:alice")
    _, err = refused.process.communicate(timeout=WAIT_S)
    assert refused.process.returncode == 2
    assert "MECHANISM:USER:PASSWORD" in err
