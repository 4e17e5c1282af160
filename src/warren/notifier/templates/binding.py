"""A message as Burrow's templates see it: names, types, and how each of them prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec
import numpy as np

from warren.common.status import Status
from warren.gotemplate.times import TIME, ZERO, Moment, from_milliseconds
from warren.gotemplate.types import (
    FLOAT32,
    INT,
    INT32,
    INT64,
    STRING,
    UINT64,
    Field,
    Function,
    Kind,
    Type,
    Value,
    give,
    map_of,
    pointer_to,
    slice_of,
    struct_of,
)
from warren.notifier.message import Message
from warren.snapshot.model import BurrowPartition, GroupStatus, PartitionStatus


class Subject(NamedTuple):
    """The initial dot."""

    message: Message
    extras: Mapping[str, str]

    @property
    def start(self) -> Moment:
        start_ms = self.message.start_ms
        return ZERO if start_ms is None else from_milliseconds(start_ms)


def _complete(owner: PartitionStatus | GroupStatus) -> float:
    """In single precision, as Burrow has it."""
    return float(np.float32(owner.complete))


def _fields(record: type[msgspec.Struct], *named: tuple[str, Type]) -> Iterator[Field]:
    """Burrow's name and type for each field of a record, in their order."""
    for name, (burrows, kind) in zip(record.__struct_fields__, named, strict=True):
        yield Field(burrows, kind, _complete if name == "complete" else attrgetter(name), name)


def _status_text(status: int) -> str:
    return Status(status).name


STATUS: Final = Type(
    Kind.INT, "protocol.StatusConstant", text=_status_text, json=lambda status: f'"{_status_text(status)}"'
)
give(STATUS, Function("String", (), _status_text, STRING))
# its data is the number itself
LAG: Final = struct_of("protocol.Lag", Field("Value", UINT64, int), json=str)
OFFSET: Final = struct_of(
    "protocol.ConsumerOffset",
    Field("Offset", INT64, attrgetter("offset"), "offset"),
    # the commit's order, which Burrow never shows
    Field("Order", INT64, lambda _: 0, "-"),
    Field("Timestamp", INT64, attrgetter("timestamp"), "timestamp"),
    Field("ObservedTimestamp", INT64, attrgetter("observed_at"), "observedAt"),
    Field("Lag", pointer_to(LAG), attrgetter("lag"), "lag"),
)
OFFSET_POINTER: Final = pointer_to(OFFSET)
PARTITION: Final = struct_of(
    "protocol.PartitionStatus",
    *_fields(
        BurrowPartition,
        ("Topic", STRING),
        ("Partition", INT32),
        ("Owner", STRING),
        ("ClientID", STRING),
        ("Status", STATUS),
        ("Start", OFFSET_POINTER),
        ("End", OFFSET_POINTER),
        ("CurrentLag", UINT64),
        ("Complete", FLOAT32),
    ),
)
PARTITION_POINTER: Final = pointer_to(PARTITION)
PARTITIONS: Final = slice_of(PARTITION_POINTER)
GROUP: Final = struct_of(
    "protocol.ConsumerGroupStatus",
    *_fields(
        GroupStatus,
        ("Cluster", STRING),
        ("Group", STRING),
        ("Status", STATUS),
        ("Complete", FLOAT32),
        ("Partitions", PARTITIONS),
        ("TotalPartitions", INT),
        ("Maxlag", PARTITION_POINTER),
        ("TotalLag", UINT64),
    ),
)
EXTRAS: Final = map_of(STRING, STRING)
SUBJECT: Final = struct_of(
    "",
    Field("Cluster", STRING, lambda subject: subject.message.result.cluster),
    Field("Group", STRING, lambda subject: subject.message.result.group),
    Field("ID", STRING, lambda subject: subject.message.incident),
    Field("Start", TIME, attrgetter("start")),
    Field("Extras", EXTRAS, attrgetter("extras")),
    Field("Result", GROUP, lambda subject: subject.message.result),
)
# Burrow's default template for closing uses it by mistake and fails; copies of that template work here
give(SUBJECT, Function("Id", (), lambda subject: subject.message.incident, STRING))
# Warren only. A method, not a field: the whole prints as Burrow's does
give(SUBJECT, Function("Link", (), lambda subject: subject.message.link, STRING))


def bound(message: Message, extras: Mapping[str, str]) -> Value:
    return Value(SUBJECT, Subject(message, extras))
