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
        partitions=tuple(_partition(each) for each in said["partitions"]),
        partition_count=said["partition_count"],
        maxlag=None if said["maxlag"] is None else _partition(said["maxlag"]),
        totallag=said["totallag"],
    )


def _partition(said: Mapping[str, Any]) -> PartitionStatus:
    return PartitionStatus(
        topic=said["topic"],
        partition=said["partition"],
        owner=said["owner"],
        client_id=said["client_id"],
        status=Status[said["status"]],
        start=_entry(said["start"]),
        end=_entry(said["end"]),
        current_lag=said["current_lag"],
        complete=said["complete"],
        head=None,
        tail=None,
    )


def _entry(said: Mapping[str, Any] | None) -> Entry | None:
    if said is None:
        return None
    return Entry(said["offset"], said["timestamp"], said["observedAt"], said["lag"])
