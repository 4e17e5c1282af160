"""`/metrics`: Burrow's series as text, rendered once per snapshot; Warren's own after them."""

from __future__ import annotations

import asyncio
import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from operator import is_
from typing import Final

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from warren.httpserver.columns import windows_of
from warren.httpserver.exporters import also_named
from warren.httpserver.exposition import Family, Series, escaped, text
from warren.httpserver.reply import Headers, Reply
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Answers
from warren.snapshot.model import ClusterSnapshot
from warren.snapshot.tables import WindowTable

CONTENT_TYPE: Final[Headers] = (
    (b"content-type", b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
)

# the text is so repetitive that the fastest level compresses it to a fifteenth
_GZIP_LEVEL: Final = 1
# compressing a family takes twice as long as writing it
_COMPRESSORS: Final = 2
_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_RAW_DEFLATE: Final = -zlib.MAX_WBITS


CURRENT_OFFSET: Final = Family(
    "burrow_kafka_consumer_current_offset", "Newest offset that the group has committed for the partition"
)
LAG_TOTAL: Final = Family(
    "burrow_kafka_consumer_lag_total",
    "Sum of the current lags of the group's partitions",
    # a gauge, but Prometheus' linter allows the suffix _total for counters only
    "untyped",
)
PARTITION_LAG: Final = Family(
    "burrow_kafka_consumer_partition_lag", "Messages that the group is behind the head of the partition"
)
GROUP_STATUS: Final = Family(
    "burrow_kafka_consumer_status",
    "Status of the group, the worst of its partitions: 0 NOTFOUND, 1 OK, 2 WARN, 3 ERR",
)
TOPIC_OFFSET: Final = Family("burrow_kafka_topic_partition_offset", "Head of the partition on the brokers")
PARTITION_STATUS: Final = Family(
    "burrow_kafka_topic_partition_status",
    "Status of the group on the partition: 1 OK, 2 WARN, 4 STOP, 5 STALL, 6 REWIND",
)


class WindowLabels:
    """The labels of one cluster's windows, rendered again only when windows were added or removed."""

    def __init__(self) -> None:
        self._columns: WindowTable | None = None
        self._labels: Sequence[str] = ()

    def of(self, cluster: str, columns: WindowTable) -> Sequence[str]:
        """`cluster`: its label, the same in every call."""
        if self._columns is None or not _same_windows(self._columns, columns):
            self._labels = _window_labels(cluster, columns)
        # keep the newer ones, so that older snapshots can be freed
        self._columns = columns
        return self._labels


def _same_windows(some: WindowTable, others: WindowTable) -> bool:
    return (
        some.groups == others.groups
        and some.topics == others.topics
        and np.array_equal(some.group, others.group)
        and np.array_equal(some.topic, others.topic)
        and np.array_equal(some.partition, others.partition)
    )


def _window_labels(cluster: str, columns: WindowTable) -> Sequence[str]:
    before = [f'{{{cluster},consumer_group="{escaped(group)}",partition="' for group in columns.groups]
    # only those that occur: a forged commit can have any partition number
    numbers = {number: str(number) for number in np.unique(columns.partition).tolist()}
    after = [f'",topic="{escaped(topic)}"}} ' for topic in columns.topics]
    return [
        before[group] + numbers[partition] + after[topic]
        for group, partition, topic in zip(
            columns.group.tolist(), columns.partition.tolist(), columns.topic.tolist(), strict=True
        )
    ]


def render(snapshots: Sequence[ClusterSnapshot], labels: Mapping[str, WindowLabels]) -> Iterator[bytes]:
    """Burrow's metrics of all clusters, one piece per family, in the order of their names.

    `labels`: cluster: what was written of it for earlier snapshots.
    """
    clusters = [_Cluster(snapshot, labels[snapshot.name]) for snapshot in snapshots]
    yield text(CURRENT_OFFSET, [cluster.offsets() for cluster in clusters])
    yield text(LAG_TOTAL, [cluster.lag_totals() for cluster in clusters])
    yield text(PARTITION_LAG, [cluster.lags() for cluster in clusters])
    yield text(GROUP_STATUS, [cluster.group_statuses() for cluster in clusters])
    yield text(TOPIC_OFFSET, [cluster.heads() for cluster in clusters])
    yield text(PARTITION_STATUS, [cluster.statuses() for cluster in clusters])


class _Cluster:
    """The series of one cluster; the labels of the windows are written once for all families."""

    def __init__(self, snapshot: ClusterSnapshot, labels: WindowLabels) -> None:
        self._cluster = f'cluster="{escaped(snapshot.name)}"'
        self._snapshot = snapshot
        self._columns = windows_of(snapshot)
        self._labels = labels.of(self._cluster, self._columns)
        self._table = snapshot.group_table()
        self._groups = [
            f'{{{self._cluster},consumer_group="{escaped(name)}"}} ' for name in self._table.names
        ]

    def offsets(self) -> Series:
        """Also while a window is filling up; a partition without a commit has none."""
        offset = self._columns.offset
        committed = offset >= 0
        if committed.all():
            return self._labels, offset.tolist()
        return list(compress(self._labels, committed.tolist())), offset[committed].tolist()

    def lags(self) -> Series:
        return self._labels, self._columns.current_lag.tolist()

    def statuses(self) -> Series:
        return self._labels, self._columns.status.tolist()

    def lag_totals(self) -> Series:
        return self._groups, self._table.totallag.tolist()

    def group_statuses(self) -> Series:
        return self._groups, self._table.status.tolist()

    def heads(self) -> Series:
        labels, values = [], []
        for topic in self._snapshot.topics():
            name = escaped(topic)
            for number, partition in enumerate(self._snapshot.topic(topic) or ()):
                if partition.head is not None:
                    labels.append(f'{{{self._cluster},partition="{number}",topic="{name}"}} ')
                    values.append(partition.head)
        return labels, values


@dataclass(slots=True)
class _Rendered:
    """The text of some snapshots, cached in the requested encodings."""

    snapshots: tuple[ClusterSnapshot, ...]
    # cluster: what was written for the snapshots before
    labels: Mapping[str, WindowLabels]
    # exporters whose names are shown, too
    also: tuple[str, ...] = ()
    plain: tuple[bytes, ...] | None = None
    # pieces of one deflate stream that is not ended yet
    deflated: tuple[bytes, ...] | None = None
    length: int = 0
    crc: int = 0

    def make(self, *, gzip: bool) -> None:
        """Rendered at most once: the other encoding is made from the first."""
        if gzip and self.deflated is None:
            # zlib releases the GIL, so the next families are rendered while some are compressed
            with ThreadPoolExecutor(_COMPRESSORS) as pool:
                work = [pool.submit(_deflate, piece) for piece in self._counted()]
            self.deflated = tuple(piece.result() for piece in work)
        elif not gzip and self.plain is None:
            self.plain = tuple(map(_inflate, self.deflated) if self.deflated else self._text())

    def _text(self) -> Iterator[bytes]:
        yield from render(self.snapshots, self.labels)
        yield from also_named(self.snapshots, self.also)

    def _counted(self) -> Iterator[bytes]:
        """The pieces in order, added to length and checksum."""
        for piece in self.plain or self._text():
            self.length += len(piece)
            self.crc = zlib.crc32(piece, self.crc)
            yield piece

    def body(self, rest: bytes, *, gzip: bool) -> tuple[bytes, ...]:
        """The whole page: the cached part, and the rest that is rendered each time."""
        if not gzip:
            return (*(self.plain or ()), rest)
        compressor = zlib.compressobj(_GZIP_LEVEL, wbits=_RAW_DEFLATE)
        end = compressor.compress(rest) + compressor.flush()
        length = (self.length + len(rest)) & 0xFFFFFFFF
        trailer = struct.pack("<II", zlib.crc32(rest, self.crc), length)
        return (_GZIP_HEADER, *(self.deflated or ()), end, trailer)


def _deflate(piece: bytes) -> bytes:
    compressor = zlib.compressobj(_GZIP_LEVEL, wbits=_RAW_DEFLATE)
    return compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)


def _inflate(piece: bytes) -> bytes:
    return zlib.decompressobj(_RAW_DEFLATE).decompress(piece)


class MetricsPage:
    """Burrow's `/metrics`."""

    def __init__(
        self, answers: Answers, registry: CollectorRegistry, own: Collector, also: tuple[str, ...] = ()
    ) -> None:
        """`own`: Warren's own metrics, shown after Burrow's; `registry`: those of this process, shown last.

        `also`: exporters whose names are shown beside Burrow's.
        """
        self._answers = answers
        self._registry = registry
        self._own = CollectorRegistry()
        self._own.register(own)
        # cluster: the labels of its windows
        self._labels: dict[str, WindowLabels] = defaultdict(WindowLabels)
        self._also = also
        self._rendered = _Rendered((), self._labels)
        self._one_at_a_time = asyncio.Lock()

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {("GET", "/metrics"): self.metrics}

    async def metrics(self, request: Request) -> Reply:
        gzip = accepts_gzip(request.headers)
        async with self._one_at_a_time:
            snapshots = tuple(self._snapshots())
            if not _same(self._rendered.snapshots, snapshots):
                self._rendered = _Rendered(snapshots, self._labels, self._also)
            rendered = self._rendered
            # other requests are served meanwhile
            await asyncio.to_thread(rendered.make, gzip=gzip)
        rest = generate_latest(self._own) + generate_latest(self._registry)
        body = rendered.body(rest, gzip=gzip)
        encoding = ((b"content-encoding", b"gzip"),) if gzip else ()
        return Reply(200, (*CONTENT_TYPE, *encoding, (b"vary", b"Accept-Encoding")), body)

    def _snapshots(self) -> Iterator[ClusterSnapshot]:
        for cluster in sorted(self._answers.clusters()):
            if (snapshot := self._answers.snapshot(cluster)) is not None:
                yield snapshot


def _same(some: Sequence[ClusterSnapshot], others: Sequence[ClusterSnapshot]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def accepts_gzip(headers: Headers) -> bool:
    """Whether the client accepts gzip: named, or under *, and not refused with q=0."""
    # coding: whether it is accepted
    codings: dict[str, bool] = {}
    for name, value in headers:
        if name == b"accept-encoding":
            for item in value.decode("latin-1").lower().split(","):
                coding, _, weight = item.partition(";")
                refused = re.fullmatch(r"q=0(\.0*)?", weight.strip()) is not None
                codings[coding.strip()] = not refused
    return codings.get("gzip", codings.get("*", False))
