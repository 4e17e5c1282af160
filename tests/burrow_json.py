"""Verdicts out of the JSON that a real Burrow made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warren.common.status import Status
from warren.snapshot.model import Entry, GroupStatus, PartitionStatus


def group_of(said: Mapping[str, Any]) -> GroupStatus:
    return GroupStatus(
        cluster=said["cluster"],
        group=said["group"],
        status=Status[said["status"]],
        complete=said["complete"],
        partitions=tuple(partition_of(each) for each in said["partitions"]),
        partition_count=said["partition_count"],
        maxlag=None if said["maxlag"] is None else partition_of(said["maxlag"]),
        totallag=said["totallag"],
    )


def partition_of(said: Mapping[str, Any]) -> PartitionStatus:
    ours = {
        "status": Status[said["status"]],
        "start": entry_of(said["start"]),
        "end": entry_of(said["end"]),
        "head": None,
        "tail": None,
    }
    return PartitionStatus(**{**said, **ours})


def entry_of(said: Mapping[str, Any] | None) -> Entry | None:
    if said is None:
        return None
    return Entry(said["offset"], said["timestamp"], said["observedAt"], said["lag"])
