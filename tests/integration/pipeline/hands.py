"""What the pipeline's tests do to a cluster, and how they look at what comes of it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]
from tests.group_offsets import set_offset
from tests.old_broker import OldBroker
from tests.processes import eventually

from warren.config import Settings
from warren.config.sections import Cluster, Evaluator, KafkaAdminConsumer, KafkaConsumer, Spark, Storage
from warren.demo.broker import Broker
from warren.demo.clients import heads_of
from warren.kafka import messages
from warren.kafka.codec import encode
from warren.kafka.login import Property
from warren.pipeline.engine import Engine
from warren.snapshot.view import ClusterView

# long enough for a machine that does other things as well
PATIENCE_S = 120.0

# key and value of a record
Record = tuple[bytes | None, bytes | None]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def commit_key(group: str, topic: str, partition: int = 0) -> bytes:
    return encode(messages.COMMIT_KEY, 1, {"group": group, "topic": topic, "partition": partition})


def commit(group: str, topic: str, offset: int, timestamp: int | None = None, partition: int = 0) -> Record:
    """A commit as Kafka 4 writes it."""
    fields = {
        "offset": offset,
        "leader_epoch": -1,
        "metadata": "",
        "timestamp": now_ms() if timestamp is None else timestamp,
    }
    return commit_key(group, topic, partition), encode(messages.COMMIT_VALUE, 3, fields)


def group_tombstone(group: str) -> Record:
    return encode(messages.GROUP_KEY, 2, {"group": group}), None


def group_metadata(group: str, topic: str, *partitions: int) -> Record:
    """A classic group with one member that holds these partitions."""
    assignment = encode(
        messages.ASSIGNMENT,
        0,
        {"assigned_partitions": [{"topic": topic, "partitions": list(partitions)}], "user_data": None},
    )
    member = {
        "member_id": "m",
        "instance_id": None,
        "client_id": f"client of {group}",
        "client_host": "/10.0.0.1",
        "rebalance_timeout": 1,
        "session_timeout": 1,
        "subscription": b"",
        "assignment": assignment,
    }
    value = {
        "protocol_type": "consumer",
        "generation": 1,
        "protocol": "range",
        "leader": "m",
        "state_timestamp": 0,
        "members": [member],
    }
    return encode(messages.GROUP_KEY, 2, {"group": group}), encode(messages.GROUP_VALUE, 3, value)


class BlackHole:
    """A server that takes connections and never says a word."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        for each in (self._socket, *self._taken):
            each.close()

    def _take(self) -> None:
        while True:
            try:
                self._taken.append(self._socket.accept()[0])
            except OSError:
                return


def client_of(broker: Broker | OldBroker) -> dict[str, Property]:
    """The settings of a client, as the pipeline hands them about."""
    return cast("dict[str, Property]", broker.client_settings)


class Hands:
    """Topics, records and commits on one broker."""

    def __init__(self, broker: Broker | OldBroker) -> None:
        self._settings = {**broker.client_settings, "log_level": 0, "linger.ms": 0}
        self.admin = AdminClient({**broker.client_settings, "log_level": 0})
        self.producer = Producer(self._settings)

    def make(self, topic: str, partitions: int = 1, **config: str) -> str:
        """A topic, there when this returns."""
        asked = NewTopic(
            topic, partitions, 1, config={key.replace("_", "."): value for key, value in config.items()}
        )
        self.admin.create_topics([asked])[topic].result()
        assert eventually(lambda: len(self._heads(topic, partitions)) == partitions, 20)
        return topic

    def commit_first(self, name: str) -> None:
        """The first commit makes the offsets topic, without which a cluster is not ready. `name`: of group and topic;
        again on the same broker it changes nothing."""
        if name not in self.admin.list_topics(timeout=10).topics:
            self.make(name)
        set_offset(self.admin, name, name, 0)

    def grow(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()
        assert eventually(lambda: len(self._heads(topic, partitions)) == partitions, 20)
        # the old one has the old number of partitions in mind
        self.producer = Producer(self._settings)

    def drop(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result()
        assert eventually(lambda: topic not in self.admin.list_topics(timeout=10).topics, 20)

    def fill(self, topic: str, count: int, partition: int = 0) -> None:
        """Records of no meaning, to move a head."""
        self.write(topic, [(None, b"")] * count, partition)

    def write(self, topic: str, records: Sequence[Record], partition: int = 0) -> None:
        """Records one after the other, on the broker when this returns."""
        failed: list[Any] = []
        for key, value in records:
            self.producer.produce(
                topic,
                value,
                key,
                partition,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        assert self.producer.flush(30) == 0
        assert not failed

    def cut(self, topic: str, before: int, partition: int = 0) -> None:
        """Retention takes away what is before this offset."""
        place = TopicPartition(topic, partition, before)
        self.admin.delete_records([place])[place].result()

    def heads(self, topic: str, partitions: int = 1) -> Mapping[tuple[str, int], int]:
        """Topic partition: its next offset."""
        return heads_of(self.admin, {topic: partitions})

    def _heads(self, topic: str, partitions: int) -> Mapping[Any, int]:
        with contextlib.suppress(Exception):
            # else partitions that were added are not known for a while
            self.admin.list_topics(topic, timeout=10)
            return heads_of(self.admin, {topic: partitions})
        return {}


def pipeline_settings(
    directory: Path,
    clusters: Mapping[str, Broker | Cluster],
    consumers: Mapping[str, KafkaConsumer | KafkaAdminConsumer],
    *,
    intervals: int = 5,
    expire_group: int = 604800,
    master: str = "local[2]",
    **more: Any,
) -> Settings:
    """Short refresh times, so that nobody waits."""
    return Settings(
        storage={"default": Storage(intervals=intervals, expire_group=expire_group)},
        # every commit has a slot of its own
        evaluator={"default": Evaluator(class_name="caching")},
        cluster={
            name: each if isinstance(each, Cluster) else watched(each.bootstrap_servers)
            for name, each in clusters.items()
        },
        consumer=dict(consumers),
        spark=Spark(checkpoint_dir=str(directory), trigger_interval=0.2, master=master),
        **more,
    )


def watched(servers: str, **more: Any) -> Cluster:
    return Cluster(servers=(servers,), topic_refresh=1, offset_refresh=1, **more)


def reading(cluster: str, broker: Broker, **more: Any) -> KafkaConsumer:
    return KafkaConsumer(cluster=cluster, servers=(broker.bootstrap_servers,), **more)


@contextlib.contextmanager
def running(settings: Settings, ready: Sequence[str] | None = None) -> Iterator[Engine]:
    """A started engine; `ready`: the clusters that will have a view, unless all."""
    engine = Engine(settings)
    engine.start()
    try:
        # Spark takes its time to start; what the tests wait for comes after that
        for cluster in settings.cluster if ready is None else ready:
            await_view(engine, cluster, lambda _: True, 2 * PATIENCE_S)
        yield engine
    finally:
        engine.stop()


def await_view(
    engine: Engine, cluster: str, found: Callable[[ClusterView], Any], within_s: float = PATIENCE_S
) -> ClusterView:
    """The first view that fits; what is known instead goes into the failure."""
    view = engine.await_view(cluster, lambda each: bool(found(each)), within_s)
    if view is None:
        last = engine.snapshot(cluster)
        groups = {} if last is None else {name: windows(last, name) for name in last.groups()}
        raise AssertionError(f"not seen in {within_s:.0f} s: {engine.progress(cluster)}, {groups}")
    return view


def later(engine: Engine, cluster: str, triggers: int = 2) -> ClusterView:
    """The view after everything that is on the brokers now has been seen: some triggers on."""
    before = engine.snapshot(cluster)
    number = before.number if before else 0
    return await_view(engine, cluster, lambda view: view.number >= number + triggers)


# (topic, partition): (offset, timestamp, lag) of each entry
Windows = dict[tuple[str, int], list[tuple[int, int, int | None]]]


def windows(view: ClusterView, group: str) -> Windows:
    """The windows of a group that have a commit."""
    found: Windows = {}
    for topic, partitions in (view.detail(group) or {}).items():
        for number, each in enumerate(partitions):
            entries = [(entry.offset, entry.timestamp, entry.lag) for entry in each.offsets if entry]
            if entries:
                found[topic, number] = entries
    return found


def offsets(view: ClusterView, group: str, topic: str, partition: int = 0) -> list[int]:
    """The offsets of one window."""
    return [offset for offset, _, _ in windows(view, group).get((topic, partition), [])]
