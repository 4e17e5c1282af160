"""Groups of the demo that commit in ZooKeeper: an old consumer, and a spout of Storm."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

import structlog
from kazoo.client import KazooClient

from warren.common.status import Status
from warren.demo.clients import Connection, heads_of, reach
from warren.demo.groups import Actor, Step, stick
from warren.demo.topics import ORDERS, PAYMENTS, Topic

log = structlog.get_logger("warren.demo.traffic")

# the chroot of the old consumers, and the path of the spouts
KAFKA_PATH: Final = "/kafka"
STORM_PATH: Final = "/storm"
# seconds that a stop waits
_STOP_S: Final = 5.0


def follow(_rng: random.Random) -> Step:
    """Always at the head."""
    return lambda _committed, head: head


OLD: Final = Actor(
    "old-reports",
    "reads orders, commits in ZooKeeper",
    (ORDERS,),
    Status.OK,
    Status.OK,
    plan=follow,
)
SPOUT: Final = Actor(
    "storm-spout",
    "stuck in payments, a spout of Storm",
    (PAYMENTS,),
    Status.ERR,
    Status.STALL,
    plan=stick,
    period_s=2.0,
)


class ZooKeeperGroups:
    """Starts with start(), or as a context manager."""

    cast: Final = (OLD, SPOUT)

    def __init__(self, bootstrap_servers: str, client: KazooClient, seed: int) -> None:
        """`client` is connected; it is stopped and closed with the groups."""
        self._connection = Connection(bootstrap_servers, {})
        self._client = client
        self._seed = seed
        self._stop = threading.Event()
        writers: Mapping[Actor, Callable[[Topic, int, int], None]] = {OLD: self._old, SPOUT: self._spout}
        self._threads = [
            threading.Thread(target=self._run, args=(actor, write), name=f"traffic-{actor.name}", daemon=True)
            for actor, write in writers.items()
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(_STOP_S)
        self._client.stop()
        self._client.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, actor: Actor, write: Callable[[Topic, int, int], None]) -> None:
        (topic,), plan = actor.topics, actor.plan or follow
        rng = random.Random(f"{self._seed}/{actor.name}")  # noqa: S311 (repeatable)
        steps = [plan(rng) for _ in range(topic.partitions)]
        committed: dict[int, int] = {}
        admin = reach(self._connection)
        while not self._stop.wait(actor.period_s):
            try:
                heads = heads_of(admin, {topic.name: topic.partitions})
                for partition, step in enumerate(steps):
                    offset = step(committed.get(partition), heads[topic.name, partition])
                    if offset is not None:
                        write(topic, partition, offset)
                        committed[partition] = offset
            except Exception as error:  # noqa: BLE001 (it goes on as soon as the servers respond)
                log.warning("commit in ZooKeeper failed", group=actor.name, error=str(error))

    def _old(self, topic: Topic, partition: int, offset: int) -> None:
        group = f"{KAFKA_PATH}/consumers/{OLD.name}"
        self._set(f"{group}/offsets/{topic.name}/{partition}", str(offset))
        owner = f"{group}/owners/{topic.name}/{partition}"
        if not self._client.exists(owner):
            self._client.create(owner, f"{OLD.name}_demo-host-0".encode(), ephemeral=True, makepath=True)

    def _spout(self, topic: Topic, partition: int, offset: int) -> None:
        node = {
            "topology": {"id": "demo-1", "name": "demo"},
            "offset": offset,
            "partition": partition,
            "broker": {"host": "127.0.0.1", "port": 9092},
            "topic": topic.name,
        }
        self._set(f"{STORM_PATH}/{SPOUT.name}/partition_{partition}", json.dumps(node))

    def _set(self, path: str, value: str) -> None:
        self._client.ensure_path(path)
        self._client.set(path, value.encode())
