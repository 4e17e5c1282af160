"""Snapshots and answers in memory, for tests of whatever reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from warren.common.status import Status
from warren.logs import NAMES, level_named
from warren.snapshot.model import (
    ClusterSnapshot,
    GroupConsumer,
    GroupStatus,
    PartitionDetail,
    PartitionStatus,
    PartitionWindow,
    TopicPartitionHead,
    TopicReader,
    WindowEntry,
)
from warren.snapshot.tables import GroupTable, HeadTable, WindowTable


def _ints(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)


@dataclass(frozen=True)
class MemorySnapshot:
    """A cluster at one moment, from dictionaries."""

    name: str = "local"
    number: int = 1
    taken_at_ms: int = 0
    as_of_ms: int = 0
    # group: verdict
    statuses: Mapping[str, GroupStatus] = field(default_factory=dict)
    # group: topic: windows by partition
    details: Mapping[str, Mapping[str, tuple[PartitionDetail, ...]]] = field(default_factory=dict)
    # topic: head and tail by partition
    heads: Mapping[str, tuple[TopicPartitionHead, ...]] = field(default_factory=dict)
    # groups with a partition whose head the last look did not bring
    hidden: frozenset[str] = frozenset()

    def unseen(self) -> frozenset[str]:
        return self.hidden

    def consumers_reading(self, group: str) -> tuple[GroupConsumer, ...]:
        return (GroupConsumer("commits", "kafka", "commit", self.as_of_ms, blind=False),)

    def topics(self) -> list[str]:
        return sorted(self.heads)

    def topic(self, topic: str) -> tuple[TopicPartitionHead, ...] | None:
        return self.heads.get(topic)

    def consumers_of(self, topic: str) -> list[str]:
        return sorted(
            {name for name, group in self.statuses.items() if any(p.topic == topic for p in group.partitions)}
            | {name for name, topics in self.details.items() if topic in topics}
        )

    def readers(self, topic: str) -> tuple[TopicReader, ...]:
        found = []
        for name in self.consumers_of(topic):
            parts = [part for part in self.statuses[name].partitions if part.topic == topic and part.end]
            lags = [part.current_lag for part in parts]
            bad = sum(part.status > Status.OK for part in parts)
            last = max((part.end.timestamp for part in parts if part.end), default=0)
            worst = max((part.status for part in parts), default=Status.OK)
            found.append(TopicReader(name, worst, sum(lags), max(lags, default=0), len(parts), bad, last))
        return tuple(found)

    def head_table(self) -> HeadTable:
        rows = [
            (topic, number, -1 if each.head is None else each.head)
            for topic, heads in self.heads.items()
            for number, each in enumerate(heads)
        ]
        return HeadTable(
            [topic for topic, _, _ in rows],
            _ints(number for _, number, _ in rows),
            _ints(head for _, _, head in rows),
            np.ones(len(rows), dtype=np.bool_),
        )

    def groups(self) -> list[str]:
        return sorted({*self.statuses, *self.details})

    def group_table(self) -> GroupTable:
        groups = [group for _, group in sorted(self.statuses.items())]
        last = [max((p.end.timestamp for p in group.partitions if p.end), default=0) for group in groups]
        return GroupTable(
            names=sorted(self.statuses),
            status=np.array([group.status for group in groups], dtype=np.int8),
            complete=np.array([group.complete for group in groups], dtype=np.float32),
            partition_count=_ints(group.partition_count for group in groups),
            totallag=_ints(group.totallag for group in groups),
            maxlag=_ints(group.maxlag.current_lag if group.maxlag else 0 for group in groups),
            last_commit=_ints(last),
        )

    def window_table(self) -> WindowTable:
        names = sorted(self.statuses)
        # topic: its index, in the order in which they are met
        topics: dict[str, int] = {}
        rows = [
            (
                index,
                topics.setdefault(part.topic, len(topics)),
                part.partition,
                part.status,
                part.current_lag,
                part.end.offset if part.end else -1,
            )
            for index, name in enumerate(names)
            for part in self.statuses[name].partitions
        ]
        return WindowTable(names, list(topics), *np.array(rows, dtype=np.int64).reshape(len(rows), 6).T)

    def group(self, group: str) -> GroupStatus | None:
        return self.statuses.get(group)

    def explained(self, group: GroupStatus) -> GroupStatus:
        """With reasons that can be told from each other."""
        partitions = tuple(
            _explained(part) if part.status != Status.OK else part for part in group.partitions
        )
        return msgspec.structs.replace(group, partitions=partitions)

    def windows(self, group: GroupStatus) -> tuple[PartitionWindow, ...]:
        details = self.details.get(group.group, {})
        return tuple(
            PartitionWindow(_explained(part), _window(details.get(part.topic, ())[part.partition :][:1]))
            for part in group.partitions
        )

    def detail(self, group: str) -> dict[str, tuple[PartitionDetail, ...]] | None:
        found = self.details.get(group)
        return None if found is None else dict(found)

    def without(self, group: str) -> MemorySnapshot:
        return replace(
            self,
            statuses={name: value for name, value in self.statuses.items() if name != group},
            details={name: value for name, value in self.details.items() if name != group},
        )


def _explained(part: PartitionStatus) -> PartitionStatus:
    because = f"{part.topic}/{part.partition} is silent."
    return msgspec.structs.replace(
        part, rule="stopped", because=because, decided_by=(0,), would_change="One commit."
    )


def _window(detail: tuple[PartitionDetail, ...]) -> tuple[WindowEntry, ...]:
    return tuple(
        WindowEntry(entry.offset, entry.timestamp, entry.observed_at, entry.lag, floor)
        for each in detail
        for entry, floor in zip(each.offsets, each.floors, strict=True)
        if entry is not None
    )


@dataclass(frozen=True)
class MemoryProgress:
    """A query that does well, unless a test says otherwise."""

    running: bool = True
    caught_up: bool = True
    blind: bool = False
    seen_ms: int = 0
    records: int = 0
    rate: int = 0
    left: int = 0
    denied: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    triggers: int = 0
    trigger_ms: int = 0
    recent_triggers: tuple[tuple[int, int], ...] = ()
    restarts: int = 0
    error: str = ""


@dataclass
class MemoryAnswers:
    """Answers that a test can change between two requests."""

    names: list[str] = field(default_factory=lambda: ["local"])
    snapshots: dict[str, ClusterSnapshot] = field(default_factory=dict)
    is_ready: bool = True
    # cluster: how its query is doing
    queries: dict[str, MemoryProgress] = field(default_factory=dict)
    # what was asked to be forgotten
    deleted: list[tuple[str, ...]] = field(default_factory=list)

    def clusters(self) -> list[str]:
        return self.names

    def snapshot(self, cluster: str) -> ClusterSnapshot | None:
        return self.snapshots.get(cluster)

    def progress(self, cluster: str) -> MemoryProgress:
        return self.queries.get(cluster, MemoryProgress())

    def ready(self) -> bool:
        return self.is_ready

    def delete_group(self, cluster: str, group: str) -> None:
        self.deleted.append((cluster, group))

    def delete_topic(self, cluster: str, group: str, topic: str) -> None:
        self.deleted.append((cluster, group, topic))


@dataclass
class MemoryLogLevel:
    """A log level that nothing listens to."""

    level: str = "info"

    def get_level(self) -> str:
        return self.level

    def set_level(self, level: str) -> None:
        self.level = NAMES[level_named(level)]


def group_status(cluster: str, group: str, *partitions: PartitionStatus) -> GroupStatus:
    """A group rolled up from its partitions."""
    worst = max((min(p.status, 3) for p in partitions), default=1)
    complete = sum(p.complete == 1 for p in partitions) / max(len(partitions), 1)
    return GroupStatus(
        cluster=cluster,
        group=group,
        status=type(partitions[0].status)(worst),
        complete=complete,
        partitions=partitions,
        partition_count=len(partitions),
        maxlag=max(partitions, key=lambda p: p.current_lag),
        totallag=sum(p.current_lag for p in partitions),
    )
