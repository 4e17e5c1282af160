"""The demo as a whole: a real broker, its traffic, and Warren watching, all on 127.0.0.1."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from warren.common.status import Status
from warren.config import Settings
from warren.config.modules import NullNotifier, ParquetSink
from warren.config.sections import (
    Cluster,
    HttpServer,
    KafkaConsumer,
    KafkaZkConsumer,
    Spark,
    Storage,
    StormConsumer,
)
from warren.config.settings import AnyConsumer
from warren.demo.broker import Broker
from warren.demo.traffic import Traffic
from warren.demo.zookeeper import ZooKeeperServer
from warren.demo.zookeeper_groups import KAFKA_PATH, STORM_PATH, ZooKeeperGroups
from warren.service import Service

if TYPE_CHECKING:
    from types import TracebackType

    from warren.demo.groups import Actor
    from warren.snapshot.model import GroupStatus

CLUSTER: Final = "demo"
NOTIFIER: Final = "nobody"
# short, so that a minute is enough for a chart
HISTORY_INTERVAL_S: Final = 2
# few partitions of the offsets topic: they are created sooner
_OFFSETS_PARTITIONS: Final = 8


@dataclass(frozen=True, slots=True)
class Scene:
    """One group of the traffic, and its current status in Warren; None: not known yet."""

    actor: Actor
    status: GroupStatus | None

    @property
    def worst(self) -> Status | None:
        """The worst of its partitions."""
        return max((each.status for each in self.status.partitions), default=None) if self.status else None

    @property
    def filled(self) -> tuple[int, int]:
        """Partitions with a full window, of those that have commits."""
        committed = [each for each in self.status.partitions if each.end] if self.status else []
        return sum(each.complete == 1 for each in committed), len(committed)

    @property
    def as_intended(self) -> bool:
        """Whether the status is the intended one."""
        if self.status is None:
            return False
        full, committed = self.filled
        return (
            self.status.status == self.actor.status
            and self.worst == self.actor.partition_status
            and (full == committed) == self.actor.complete
        )


def demo_settings(
    bootstrap_servers: str,
    port: int,
    directory: Path,
    history: Path | None = None,
    zookeeper: str | None = None,
) -> Settings:
    """Short windows, so that every status is reached within a minute.

    `history`: where to write one; None: nowhere. `zookeeper`: host and port of one with commits; None: there is none.
    """
    servers = (bootstrap_servers,)
    sinks = (
        {} if history is None else {"history": ParquetSink(path=str(history), interval=HISTORY_INTERVAL_S)}
    )
    consumers: dict[str, AnyConsumer] = {CLUSTER: KafkaConsumer(cluster=CLUSTER, servers=servers)}
    if zookeeper is not None:
        consumers["zookeeper"] = KafkaZkConsumer(
            cluster=CLUSTER, servers=(zookeeper,), zookeeper_path=KAFKA_PATH
        )
        consumers["storm"] = StormConsumer(cluster=CLUSTER, servers=(zookeeper,), zookeeper_path=STORM_PATH)
    return Settings(
        httpserver={"default": HttpServer(address=f"127.0.0.1:{port}")},
        storage={"default": Storage(intervals=10, min_distance=0)},
        cluster={CLUSTER: Cluster(servers=servers, topic_refresh=5, offset_refresh=1)},
        consumer=consumers,
        # tells nobody; with a notifier incidents are kept, for the web pages
        notifier={NOTIFIER: NullNotifier(interval=2, send_interval=3600, send_close=True)},
        sink=sinks,
        # shorter than the default, for a live display
        spark=Spark(checkpoint_dir=str(directory / "checkpoint"), trigger_interval=1.0),
    )


class Stage:
    """A context manager: inside it the demo runs."""

    def __init__(
        self,
        port: int,
        seed: int,
        *,
        history: bool = False,
        history_dir: Path | None = None,
        zookeeper: bool = False,
    ) -> None:
        """`history`: write one, in a directory that goes with the demo; or in `history_dir`, which stays.

        `zookeeper`: start one, with groups that commit there.
        """
        self._wants_zookeeper = zookeeper
        self._wants_history = history or history_dir is not None
        self._history_dir = history_dir
        # where it is written; None: nowhere
        self.history: Path | None = None
        self._port = port
        self._seed = seed
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warren-demo-")))
            self.broker = stack.enter_context(Broker(0, directory / "kafka", _OFFSETS_PARTITIONS))
            self.traffic = stack.enter_context(Traffic(self.broker.bootstrap_servers, seed=self._seed))
            if self._wants_history:
                self.history = (self._history_dir or directory / "history").absolute()
            self._cast = self.traffic.cast
            address = None
            if self._wants_zookeeper:
                server = stack.enter_context(ZooKeeperServer(directory / "zookeeper"))
                groups = ZooKeeperGroups(self.broker.bootstrap_servers, server.client(), self._seed)
                stack.enter_context(groups)
                address, self._cast = server.address, self._cast + groups.cast
            settings = demo_settings(
                self.broker.bootstrap_servers, self._port, directory, self.history, address
            )
            self.service = stack.enter_context(Service(settings))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return next(iter(self.service.urls.values()))

    def scenes(self) -> list[Scene]:
        """Every group of the traffic with Warren's status."""
        view = self.service.engine.snapshot(CLUSTER)
        return [Scene(actor, view.group(actor.name) if view else None) for actor in self._cast]
