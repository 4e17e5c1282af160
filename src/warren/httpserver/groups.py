"""The shapes of groups, partitions and windows in Burrow's JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from warren.common.status import Status
from warren.httpserver.gojson import float32
from warren.snapshot.model import BurrowPartition, Entry, GroupStatus, PartitionDetail, PartitionStatus

# by number: an enumeration's own `name` takes longer
_NAMES: Final = tuple(status.name for status in Status)


class PartitionShape(BurrowPartition[str, msgspec.Raw], frozen=True, gc=False):
    """A partition with its status by name, and its share in Go's digits."""


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
    offsets: tuple[Entry | None, ...]
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
    """Burrow's answer for an unknown group."""
    return GroupShape(cluster, group, Status.NOTFOUND.name, float32(1), [], 0, None, 0)


def partition_shape(partition: PartitionStatus) -> PartitionShape:
    # in the order of the fields: by name it takes half as long again, and a page has hundreds
    return PartitionShape(
        partition.topic,
        partition.partition,
        partition.owner,
        partition.client_id,
        _NAMES[partition.status],
        partition.start,
        partition.end,
        partition.current_lag,
        float32(partition.complete),
    )


def window_shape(partition: PartitionDetail) -> WindowShape:
    return WindowShape(partition.offsets, partition.owner, partition.client_id, partition.current_lag)
