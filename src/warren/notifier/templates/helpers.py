"""The template functions that Burrow adds to Go's, and two of Warren's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from warren.common.status import Status
from warren.gotemplate.escapes import json_text
from warren.gotemplate.functions import BUILTINS
from warren.gotemplate.layouts import format_time
from warren.gotemplate.times import Moment
from warren.gotemplate.types import (
    ANY,
    INT,
    INT64,
    STRING,
    STRINGS,
    UINT64,
    Function,
    GoError,
    map_of,
    wrapped,
)
from warren.notifier.templates.binding import PARTITION_POINTER, PARTITIONS
from warren.snapshot.model import PartitionStatus

_COUNTED: Final = {
    Status.WARN: "warn",
    Status.STOP: "stop",
    Status.STALL: "stall",
    Status.REWIND: "rewind",
}


def topicsbystatus(partitions: Sequence[PartitionStatus] | None) -> dict[str, list[str]]:
    """Status: its topics, each once, in the order of the partitions."""
    topics: dict[str, dict[str, None]] = {}
    for partition in partitions or ():
        topics.setdefault(partition.status.name, {})[partition.topic] = None
    return {status: list(names) for status, names in topics.items()}


def partitioncounts(partitions: Sequence[PartitionStatus] | None) -> dict[str, int]:
    """The number of partitions by status; those that are OK are not counted."""
    counts = {"warn": 0, "stop": 0, "stall": 0, "rewind": 0, "unknown": 0}
    for partition in partitions or ():
        if partition.status is not Status.OK:
            counts[_COUNTED.get(partition.status, "unknown")] += 1
    return counts


def maxlag(partition: PartitionStatus | None) -> int:
    return 0 if partition is None else partition.current_lag


def rule(partition: PartitionStatus | None) -> str:
    """The rule that decided."""
    return (partition.rule if partition else None) or ""


def because(partition: PartitionStatus | None) -> str:
    """Why: the rule's sentence with the numbers."""
    return (partition.because if partition else None) or ""


def formattimestamp(timestamp_ms: int, layout: str) -> str:
    """A Kafka timestamp in a Go layout, in the zone of this machine."""
    seconds, nanosecond = divmod(wrapped(timestamp_ms * 1_000_000, INT64), 1_000_000_000)
    return format_time(Moment(seconds, nanosecond, local=True), layout)


def _divide(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise GoError("runtime error: integer divide by zero")
    quotient = abs(dividend) // abs(divisor)
    return wrapped(quotient if (dividend < 0) == (divisor < 0) else -quotient, INT)


HELPERS: Final[Mapping[str, Function]] = {
    function.name: function
    for function in (
        Function("jsonencoder", (ANY,), json_text, STRING),
        Function("topicsbystatus", (PARTITIONS,), topicsbystatus, map_of(STRING, STRINGS)),
        Function("partitioncounts", (PARTITIONS,), partitioncounts, map_of(STRING, INT)),
        Function("add", (INT, INT), lambda a, b: wrapped(a + b, INT), INT),
        Function("minus", (INT, INT), lambda a, b: wrapped(a - b, INT), INT),
        Function("multiply", (INT, INT), lambda a, b: wrapped(a * b, INT), INT),
        Function("divide", (INT, INT), _divide, INT),
        Function("maxlag", (PARTITION_POINTER,), maxlag, UINT64),
        # Warren only. Functions, not fields: a partition prints as Burrow's does
        Function("rule", (PARTITION_POINTER,), rule, STRING),
        Function("because", (PARTITION_POINTER,), because, STRING),
        Function("formattimestamp", (INT64, STRING), formattimestamp, STRING),
    )
}
FUNCTIONS: Final[Mapping[str, Function]] = {**BUILTINS, **HELPERS}
