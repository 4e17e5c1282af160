"""The fast path on a real broker: every record arrives, in the right partition, and decodes."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from warren.demo.clients import heads_of
from warren.demo.commit_records import Shape, offsets_partition
from warren.demo.commit_writer import CommitWriter
from warren.errors import WarrenError

if TYPE_CHECKING:
    from warren.demo.broker import Broker


@pytest.fixture(scope="module")
def admin(broker: Broker) -> AdminClient:
    return AdminClient({**broker.client_settings, "log_level": 0})


def shape(name: str, offsets_partitions: int = 6) -> Shape:
    """Topics of a test's own."""
    return Shape(30, 4, f"{name}-data", f"{name}-offsets", offsets_partitions)


def read(broker: Broker, admin: AdminClient, of: Shape) -> list[tuple[int, bytes, bytes]]:
    """(partition, key, value) of every record of the offsets topic."""
    heads = heads_of(admin, {of.offsets_topic: of.offsets_partitions})
    consumer = Consumer(
        {**broker.client_settings, "group.id": "traffic-test-reader", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in heads])
    records: list[tuple[int, bytes, bytes]] = []
    while len(records) < sum(heads.values()):
        for message in consumer.consume(10_000, timeout=1.0):
            assert message.error() is None
            partition, key, value = message.partition(), message.key(), message.value()
            assert isinstance(partition, int)
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            records.append((partition, key, value))
    consumer.close()
    return records


def decoded(key: bytes, value: bytes) -> tuple[str, str, int, int, int]:
    """(group, topic, partition, offset, timestamp) of a version 1 key and a version 3 value."""
    version, length = struct.unpack(">hh", key[:4])
    group, rest = key[4 : 4 + length].decode(), key[4 + length :]
    (length,) = struct.unpack(">h", rest[:2])
    topic = rest[2 : 2 + length].decode()
    (partition,) = struct.unpack(">i", rest[2 + length :])
    value_version, offset, _, metadata, timestamp = struct.unpack(">hqihq", value)
    assert (version, value_version, metadata) == (1, 3, 0)
    return group, topic, partition, offset, timestamp


def test_every_commit_arrives_in_the_partition_of_its_group(broker: Broker, admin: AdminClient) -> None:
    of = shape("bulk")
    writer = CommitWriter(broker.bootstrap_servers, of, head=50)
    sent: list[int] = []
    # more than one chunk, and the last round is cut short
    written = writer.write(50_001, sent.append)
    assert written.commits == sent[-1] == 50_001
    assert written.rate > 0

    windows: Counter[tuple[str, int]] = Counter()
    times: dict[str, list[int]] = defaultdict(list)
    for home, key, value in read(broker, admin, of):
        group, topic, partition, offset, timestamp = decoded(key, value)
        assert home == offsets_partition(group, of.offsets_partitions)
        assert topic == of.data_topic
        assert 0 <= offset <= 50
        windows[group, partition] += 1
        times[group].append(timestamp)
    assert sum(windows.values()) == 50_001
    assert len(windows) == of.windows
    assert max(windows.values()) - min(windows.values()) <= 1
    assert all(one == sorted(one) for one in times.values())


def test_the_data_topic_has_heads_that_commits_stay_below(broker: Broker, admin: AdminClient) -> None:
    of = shape("heads")
    for _ in range(2):
        CommitWriter(broker.bootstrap_servers, of, head=50).prepare()
        assert set(heads_of(admin, {of.data_topic: of.partitions}).values()) == {50}


def test_steady_traffic_writes_at_its_rate_and_moves_heads(broker: Broker, admin: AdminClient) -> None:
    of = shape("steady")
    writer = CommitWriter(broker.bootstrap_servers, of, head=20)
    written = writer.run(500, 2.5, advance_heads=True)
    assert written.commits == 1_250
    assert len(read(broker, admin, of)) == 1_250
    heads = set(heads_of(admin, {of.data_topic: of.partitions}).values())
    assert len(heads) == 1
    assert heads.pop() > 20


def test_writes_continue_each_other(broker: Broker, admin: AdminClient) -> None:
    of = shape("both")
    writer = CommitWriter(broker.bootstrap_servers, of, head=20)
    writer.write(of.windows)
    writer.run(of.windows, 1.0)
    windows = Counter(decoded(key, value)[:3] for _, key, value in read(broker, admin, of))
    assert set(windows.values()) == {2}


def test_a_stop_ends_it_early(broker: Broker) -> None:
    writer = CommitWriter(broker.bootstrap_servers, shape("stopped"), head=20)
    stop = threading.Event()
    written = writer.write(1_000_000, progress=lambda _sent: stop.set(), stop=stop)
    assert 0 < written.commits < 1_000_000
    assert writer.run(100, None, stop=stop).commits == 0


def test_topics_of_another_shape_are_left_alone(broker: Broker) -> None:
    CommitWriter(broker.bootstrap_servers, shape("foreign"), head=5).prepare()
    with pytest.raises(WarrenError, match="has 6 partitions instead of 7"):
        CommitWriter(broker.bootstrap_servers, shape("foreign", offsets_partitions=7)).prepare()


def test_the_command_says_how_fast_it_was(broker: Broker) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "warren.cli.main", "traffic", "--json"),
            *("--bootstrap-servers", broker.bootstrap_servers),
            *("--commits", "1000", "--groups", "5", "--partitions", "2"),
            *("--topic-of-data", "cli-data", "--offsets-topic", "cli-offsets", "--offsets-partitions", "3"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["commits"] == 1_000
