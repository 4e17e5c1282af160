"""Writes commit records directly to a topic like `__consumer_offsets`, as fast as a broker accepts them.

It is an ordinary topic, so that the broker's own groups are not affected.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warren.demo.clients import Connection, TopicSpec, ensure_topics, heads_of, reach
from warren.demo.commit_records import Shape, Workload
from warren.errors import WarrenError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from numpy.typing import NDArray

DEFAULT_HEAD: Final = 2_000
# the default of Kafka's clients
DEFAULT_INTERVAL_MS: Final = 5_000
_CHUNK: Final = 20_000
_QUEUE: Final = 400_000
_TICK_S: Final = 0.1
_FLUSH_S: Final = 60.0
_SETTINGS: Final[dict[str, Any]] = {
    # exactly once and in order, even if the connection fails
    "enable.idempotence": True,
    "linger.ms": 20,
    "batch.num.messages": 10_000,
    "queue.buffering.max.messages": _QUEUE + _CHUNK,
    "queue.buffering.max.kbytes": 1 << 20,
}


@dataclass(frozen=True)
class Written:
    """What was written and how long it took."""

    commits: int
    seconds: float

    @property
    def rate(self) -> float:
        """Commits per second."""
        return self.commits / self.seconds if self.seconds > 0 else 0.0


class CommitWriter:
    """Call prepare() once, then write() and run() in any order; each continues where the last one ended."""

    def __init__(
        self,
        bootstrap_servers: str,
        shape: Shape,
        *,
        seed: int = 1,
        head: int = DEFAULT_HEAD,
        interval_ms: int = DEFAULT_INTERVAL_MS,
        client_properties: Mapping[str, str] | None = None,
    ) -> None:
        """`head`: records in each partition of the data topic; `interval_ms`: between commits of a group."""
        self.shape: Final = shape
        self.workload: Final = Workload(shape, seed)
        self._connection = Connection(bootstrap_servers, dict(client_properties or {}))
        self._head = head
        self._interval_ms = interval_ms
        # commits written so far
        self._written = 0
        self._clients: tuple[AdminClient, Producer] | None = None

    def prepare(self) -> None:
        """Create both topics and fill the data topic up to its heads; WarrenError when no broker responds."""
        admin = reach(self._connection)
        shape = self.shape
        kept = {"retention.ms": "-1"}
        ensure_topics(
            admin,
            (
                TopicSpec(shape.data_topic, shape.partitions, kept),
                TopicSpec(shape.offsets_topic, shape.offsets_partitions, kept),
            ),
        )
        producer = self._connection.producer(_SETTINGS)
        heads = heads_of(admin, {shape.data_topic: shape.partitions})
        for (topic, partition), head in heads.items():
            missing = max(self._head - head, 0)
            if missing:
                _make_room(producer, missing)
                producer.produce_batch(topic, [{"value": b""} for _ in range(missing)], partition=partition)
        _flush(producer)
        self._clients = admin, producer
        # the heads of an earlier run may be higher
        self._head = min(heads_of(admin, {shape.data_topic: shape.partitions}).values())

    def write(
        self,
        count: int,
        progress: Callable[[int], object] = lambda _written: None,
        stop: threading.Event | None = None,
    ) -> Written:
        """Write `count` commits at once, with times up to now; `progress` gets the number sent."""
        admin, producer = self._ready()
        end_ms = time.time_ns() // 1_000_000
        began, before, sent = time.monotonic(), self._stored(admin), 0
        while sent < count and not (stop is not None and stop.is_set()):
            size = min(_CHUNK, count - sent)
            self._send(producer, self.workload.spread_times(sent, size, count, end_ms, self._interval_ms))
            sent += size
            progress(sent)
        _flush(producer)
        written = Written(sent, time.monotonic() - began)
        self._check(before, self._stored(admin), sent)
        return written

    def run(
        self,
        rate: float,
        seconds: float | None,
        *,
        advance_heads: bool = False,
        stop: threading.Event | None = None,
        progress: Callable[[int], object] = lambda _written: None,
    ) -> Written:
        """Write `rate` commits a second, for a time or until stopped; heads can grow by one a second."""
        _, producer = self._ready()
        stop = stop or threading.Event()
        began, sent, grown = time.monotonic(), 0, 0
        while not stop.is_set():
            elapsed = time.monotonic() - began
            if seconds is not None and elapsed >= seconds:
                break
            if advance_heads and int(elapsed) > grown:
                grown += 1
                self._advance_heads(producer)
            wanted = int(elapsed * rate) - sent
            for part in range(0, wanted, _CHUNK):
                self._send_now(producer, min(_CHUNK, wanted - part))
            sent += max(wanted, 0)
            progress(sent)
            stop.wait(_TICK_S)
        if seconds is not None and not stop.is_set():
            # the last tick's share
            self._send_now(producer, max(round(rate * seconds) - sent, 0))
            sent = max(sent, round(rate * seconds))
        _flush(producer)
        return Written(sent, time.monotonic() - began)

    def _ready(self) -> tuple[AdminClient, Producer]:
        if self._clients is None:
            self.prepare()
        if self._clients is None:
            raise WarrenError("the writer has no clients: call prepare() first")
        return self._clients

    def _send_now(self, producer: Producer, size: int) -> None:
        self._send(producer, np.full(size, time.time_ns() // 1_000_000))

    def _send(self, producer: Producer, times_ms: NDArray[np.int64]) -> None:
        """The next commits, one for each time."""
        _make_room(producer, len(times_ms))
        for batch in self.workload.batches(self._written, self._head, times_ms):
            messages: list[dict[str, Any]] = [
                {"key": key, "value": value} for key, value in zip(batch.keys, batch.values, strict=True)
            ]
            if producer.produce_batch(self.shape.offsets_topic, messages, batch.partition) != len(messages):
                failed = next(str(message["_error"]) for message in messages if "_error" in message)
                raise WarrenError(f"commits cannot be written to {self.shape.offsets_topic}: {failed}")
        self._written += len(times_ms)

    def _advance_heads(self, producer: Producer) -> None:
        for partition in range(self.shape.partitions):
            producer.produce(self.shape.data_topic, b"", partition=partition)
        # commits may reach the new head only once the broker has it
        producer.flush(_FLUSH_S)
        self._head += 1

    def _stored(self, admin: AdminClient) -> int:
        return sum(heads_of(admin, {self.shape.offsets_topic: self.shape.offsets_partitions}).values())

    def _check(self, before: int, after: int, count: int) -> None:
        # other writers are possible, but no commit may be missing
        if after - before < count:
            raise WarrenError(
                f"only {after - before:,} of {count:,} commits are in {self.shape.offsets_topic}: see "
                "the broker's log for why it refused the others"
            )


def _make_room(producer: Producer, count: int) -> None:
    """Wait until the queue has space for `count` more: a partly refused batch would be out of order."""
    while len(producer) > max(_QUEUE - count, 0):
        producer.poll(0.01)


def _flush(producer: Producer) -> None:
    left = producer.flush(_FLUSH_S)
    if left:
        raise WarrenError(
            f"the brokers did not accept {left:,} records within {_FLUSH_S:.0f} s: see their log"
        )
