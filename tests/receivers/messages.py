"""Messages for tests of what leaves: a group in trouble, and one that is well again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from warren.common.status import Status
from warren.notifier.message import Kind, Message
from warren.snapshot.model import Entry, GroupStatus, PartitionStatus

START_MS = 1_794_730_246_461
DECIDED_MS = START_MS + 25_000


@dataclass(frozen=True)
class FixedText:
    """A template that says the same, or what a function makes of the message."""

    text: str | Callable[[Message], str]

    def render(self, message: Message, extras: Mapping[str, str]) -> str:
        return self.text if isinstance(self.text, str) else self.text(message)


def partition(
    topic: str = "orders", number: int = 0, status: Status = Status.STALL, lag: int = 365
) -> PartitionStatus:
    """One partition with a window of two commits."""
    return PartitionStatus(
        topic=topic,
        partition=number,
        owner="/127.0.0.1",
        client_id="client-1",
        status=status,
        start=Entry(offset=1300, timestamp=START_MS - 9000, observed_at=START_MS - 9000, lag=lag),
        end=Entry(offset=1300, timestamp=START_MS, observed_at=START_MS, lag=lag),
        current_lag=lag,
        complete=1.0,
        head=1300 + lag,
        tail=0,
    )


def group_status(**changes: Any) -> GroupStatus:
    """A group of twelve partitions, of which one stands still."""
    partitions = changes.pop("partitions", (partition(),))
    values: dict[str, Any] = {
        "cluster": "prod",
        "group": "billing",
        "status": Status.ERR,
        "complete": 1.0,
        "partitions": tuple(partitions),
        "partition_count": 12,
        "maxlag": max(partitions, key=lambda p: p.current_lag) if partitions else None,
        "totallag": sum(p.current_lag for p in partitions),
    }
    return GroupStatus(**values | changes)


def message(kind: Kind = "open", **changes: Any) -> Message:
    """About that group; a close message is about the group without trouble."""
    calm = {"status": Status.OK, "partitions": ()} if kind == "close" else {}
    values: dict[str, Any] = {
        "id": "6f1c0a52-8f43-4f6e-9d53-1df1b2a35c11",
        "module": "tried",
        "kind": kind,
        "incident": "3a946385-b7f8-4ae6-b5f0-2ebc0d9f996f",
        "start_ms": START_MS,
        "decided_ms": DECIDED_MS,
    }
    fields = {name: changes.pop(name) for name in list(changes) if name in values}
    return Message(**values | fields, result=group_status(**calm | changes))
