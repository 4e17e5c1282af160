"""The shapes of groups, partitions and windows in Burrow's JSON."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from warren.evaluator.status import Status
from warren.httpserver.gojson import float32
from warren.snapshot.model import Entry, GroupStatus, PartitionDetail, PartitionStatus


class CommitShape(msgspec.Struct, frozen=True, gc=False, rename={"observed_at": "observedAt"}):
    offset: int
    timestamp: int
    observed_at: int
    lag: int | None


class PartitionShape(msgspec.Struct, frozen=True, gc=False):
    topic: str
    partition: int
    owner: str
    client_id: str
    status: str
    start: CommitShape | None
    end: CommitShape | None
    current_lag: int
    complete: msgspec.Raw


class GroupShape(msgspec.Struct, frozen=True):
    cluster: str
    group: str
    status: str
    complete: msgspec.Raw
    partitions: list[PartitionShape]
    partition_count: int
    maxlag: PartitionShape | None
    totallag: int


class WindowShape(msgspec.Struct, frozen=True, rename={"current_lag": "current-lag"}):
    offsets: list[CommitShape | None]
    owner: str
    client_id: str
    current_lag: int


def group_shape(group: GroupStatus, partitions: Iterable[PartitionStatus]) -> GroupShape:
    return GroupShape(
        cluster=group.cluster,
        group=group.group,
        status=group.status.name,
        complete=float32(group.complete),
        partitions=[partition_shape(partition) for partition in partitions],
        partition_count=group.partition_count,
        maxlag=None if group.maxlag is None else partition_shape(group.maxlag),
        totallag=group.totallag,
    )


def unknown_group_shape(cluster: str, group: str) -> GroupShape:
    """What Burrow says of a group it does not have."""
    return GroupShape(cluster, group, Status.NOTFOUND.name, float32(1), [], 0, None, 0)


def partition_shape(partition: PartitionStatus) -> PartitionShape:
    return PartitionShape(
        topic=partition.topic,
        partition=partition.partition,
        owner=partition.owner,
        client_id=partition.client_id,
        status=partition.status.name,
        start=commit_shape(partition.start),
        end=commit_shape(partition.end),
        current_lag=partition.current_lag,
        complete=float32(partition.complete),
    )


def window_shape(partition: PartitionDetail) -> WindowShape:
    return WindowShape(
        offsets=[commit_shape(entry) for entry in partition.offsets],
        owner=partition.owner,
        client_id=partition.client_id,
        current_lag=partition.current_lag,
    )


def commit_shape(entry: Entry | None) -> CommitShape | None:
    if entry is None:
        return None
    return CommitShape(entry.offset, entry.timestamp, entry.observed_at, entry.lag)
