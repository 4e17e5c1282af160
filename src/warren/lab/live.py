"""`warren lab --live`: bursts and groups on a real broker in real time, evaluated by a complete Warren."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import structlog
from confluent_kafka import KafkaException, TopicPartition
from rich.console import Console
from rich.table import Table

from warren.common.status import Status
from warren.config import Settings
from warren.config.sections import Cluster, Evaluator, HttpServer, KafkaConsumer, Spark, Storage
from warren.demo.broker import Broker
from warren.demo.clients import Connection, TopicSpec, ensure_topics, reach
from warren.service import Service

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

    from warren.snapshot.model import ClusterSnapshot

log = structlog.get_logger("warren.lab")

CLUSTER: Final = "lab"
# messages a second, all at once at the whole second
RATE: Final = 20
_OFFSETS_PARTITIONS: Final = 4
_LOOK_S: Final = 0.2
_STOP_S: Final = 5.0
# additional time for windows to fill
_PATIENCE_S: Final = 120.0
# the broker sets the timestamps, as in clusters with slow clients
_TOPIC_SETTINGS: Final = {"message.timestamp.type": "LogAppendTime"}

# (seconds since the start, head now, head three seconds ago) -> the offset to commit
Step = Callable[[float, int, int], int]


# the newest snapshot of the cluster; None before the first
Snapshots = Callable[[], "ClusterSnapshot | None"]


def _healthy(_at_s: float, head: int, _earlier: int) -> int:
    return head


def _behind(_at_s: float, _head: int, earlier: int) -> int:
    return earlier


def _slow(share: float) -> Step:
    return lambda at_s, head, _: min(int(share * RATE * at_s), head)


@dataclass(frozen=True, slots=True)
class Actor:
    """A group that commits on the partition of bursts."""

    name: str
    step: Step
    period_s: float
    # after the whole second
    phase_s: float = 0.0
    # the verdict that it must get at least once; OK: always
    status: Status = Status.OK


ACTORS: Final[tuple[Actor, ...]] = (
    *(
        Actor(f"healthy, {phase:.2f} s after", _healthy, 1.0, phase)
        for phase in (0.25, 0.4, 0.55, 0.7, 0.85, 0.95)
    ),
    Actor("healthy, every 5 s", _healthy, 5.0, 0.5),
    Actor("healthy, every 50 ms", _healthy, 0.05),
    Actor("3 s behind", _behind, 1.0, 0.6),
    Actor("slow, 50 %", _slow(0.5), 1.0, 0.3, Status.WARN),
    Actor("slow, 90 %", _slow(0.9), 1.0, 0.3, Status.WARN),
    Actor("slow, 90 %, every 5 s", _slow(0.9), 5.0, 0.3, Status.WARN),
)


class Bursts:
    """A producer that writes all messages of a second at the whole second; tracks the head from acknowledgements."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._producer = connection.producer({"linger.ms": 0, "acks": "all"})
        self._topic = topic
        # (monotonic time, head), the newest last
        self._heads: list[tuple[float, int]] = [(0.0, 0)]

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(1.0 - time.time() % 1.0):
            for _ in range(RATE):
                self._producer.produce(self._topic, b"x", partition=0, on_delivery=self._written)
            self._producer.flush(_STOP_S)

    def head(self, ago_s: float = 0.0) -> int:
        """The head, now or some seconds ago."""
        then = time.monotonic() - ago_s
        return next((head for at, head in reversed(self._heads) if at <= then), 0)

    def _written(self, error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        if error is None and offset is not None:
            self._heads = [*self._heads[-20 * RATE :], (time.monotonic(), offset + 1)]


@dataclass
class Seen:
    """The observed statuses of one group."""

    looks: int = 0
    # how often it was not OK
    alarms: int = 0
    # status: how often
    statuses: dict[str, int] = field(default_factory=dict)

    def note(self, status: Status) -> None:
        self.looks += 1
        self.alarms += status is not Status.OK
        self.statuses[status.name] = self.statuses.get(status.name, 0) + 1


class Theatre:
    """A context manager that writes bursts and runs the groups, on an existing broker."""

    def __init__(
        self, bootstrap_servers: str, topic: str, actors: tuple[Actor, ...], prefix: str = ""
    ) -> None:
        self.actors = actors
        self._prefix = prefix
        self._topic = topic
        self._connection = Connection(bootstrap_servers)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def group(self, actor: Actor) -> str:
        """The name of the actor's group."""
        return f"{self._prefix}{actor.name}"

    def __enter__(self) -> Self:
        ensure_topics(reach(self._connection), (TopicSpec(self._topic, 1, _TOPIC_SETTINGS),))
        self._bursts = Bursts(self._connection, self._topic)
        runs: list[Callable[[threading.Event], None]] = [self._bursts.run]
        runs += [partial(self._play, actor) for actor in self.actors]
        # daemon: a client that hangs must not keep the process alive
        self._threads = [threading.Thread(target=run, args=(self._stop,), daemon=True) for run in runs]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(_STOP_S)

    def _play(self, actor: Actor, stop: threading.Event) -> None:
        consumer = self._connection.consumer({"group.id": self.group(actor), "enable.auto.commit": False})
        start = time.time() // actor.period_s * actor.period_s + actor.phase_s
        began, number = time.monotonic(), 0
        while True:
            number += 1
            if stop.wait(max(start + number * actor.period_s - time.time(), 0.0)):
                break
            offset = actor.step(time.monotonic() - began, self._bursts.head(), self._bursts.head(3.0))
            try:
                consumer.commit(offsets=[TopicPartition(self._topic, 0, offset)], asynchronous=False)
            except KafkaException as error:
                log.debug("commit failed", group=actor.name, error=str(error))
        consumer.close()


def watch(snapshot: Snapshots, groups: list[str], seconds: float, seen: Mapping[str, Seen]) -> None:
    """Record the status of every group in every snapshot for some time."""
    end, number = time.monotonic() + seconds, -1
    while time.monotonic() < end:
        view = snapshot()
        if view is not None and view.number != number:
            number = view.number
            for group in groups:
                found = view.group(group)
                if found is not None:
                    seen[group].note(max((each.status for each in found.partitions), default=found.status))
        time.sleep(_LOOK_S)


def full(snapshot: Snapshots, groups: list[str], patience_s: float) -> bool:
    """Wait until the windows of all groups are full; false when that takes too long."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        view = snapshot()
        found = [view.group(group) for group in groups] if view else [None]
        if all(each is not None and each.partitions and each.partitions[0].complete == 1 for each in found):
            return True
        time.sleep(_LOOK_S)
    return False


def settings(servers: str, directory: Path, rules: Evaluator, storage: Storage) -> Settings:
    """Warren with default settings, except for the rules."""
    return Settings(
        httpserver={"default": HttpServer(address="127.0.0.1:0")},
        storage={"default": storage},
        evaluator={"default": rules},
        cluster={CLUSTER: Cluster(servers=(servers,), topic_refresh=5)},
        consumer={CLUSTER: KafkaConsumer(cluster=CLUSTER, servers=(servers,))},
        spark=Spark(checkpoint_dir=str(directory / "checkpoint")),
    )


def present(console: Console, seconds: float, as_json: Path | None) -> bool:
    """Run everything on a broker of its own, show the results, and return whether they were right."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warren-lab-")))
        console.print("Starting a broker and Warren; windows fill within two or three minutes.", style="dim")
        broker = stack.enter_context(Broker(0, directory / "kafka", _OFFSETS_PARTITIONS))
        theatre = stack.enter_context(Theatre(broker.bootstrap_servers, "bursts", ACTORS))
        chosen = settings(broker.bootstrap_servers, directory, Evaluator(), Storage())
        service = stack.enter_context(Service(chosen))
        groups = [theatre.group(actor) for actor in ACTORS]
        window_s = chosen.window.intervals * chosen.min_distance_s
        snapshot = partial(service.engine.snapshot, CLUSTER)
        full(snapshot, groups, window_s + _PATIENCE_S)
        seen = {group: Seen() for group in groups}
        console.print(f"Windows are full; watching for {seconds:g} s.", style="dim")
        watch(snapshot, groups, seconds, seen)
    right = {actor.name: _is_right(actor, seen[theatre.group(actor)]) for actor in ACTORS}
    console.print(_table(seen, right, theatre))
    if as_json is not None:
        figures = {name: {"looks": each.looks, "statuses": each.statuses} for name, each in seen.items()}
        _write(console, as_json, figures)
    return all(right.values())


def _is_right(actor: Actor, seen: Seen) -> bool:
    if actor.status is Status.OK:
        return seen.looks > 0 and seen.alarms == 0
    return seen.statuses.get(actor.status.name, 0) > 0


def _table(seen: Mapping[str, Seen], right: Mapping[str, bool], theatre: Theatre) -> Table:
    table = Table(title="Bursts every second, in real time", title_justify="left", box=None, pad_edge=False)
    for title in ("group", "looks", "right verdict", "verdicts", ""):
        table.add_column(title)
    for actor in theatre.actors:
        found = seen[theatre.group(actor)]
        verdicts = ", ".join(f"{count} {status}" for status, count in sorted(found.statuses.items()))
        mark = "[green]right[/green]" if right[actor.name] else "[bold red]WRONG[/bold red]"
        table.add_row(actor.name, str(found.looks), actor.status.name, verdicts, mark)
    return table


def _write(console: Console, path: Path, figures: Mapping[str, Any]) -> None:
    text = json.dumps(figures, indent=1) + "\n"
    if path == Path("-"):
        console.file.write(text)
    else:
        path.write_text(text, encoding="utf-8")
