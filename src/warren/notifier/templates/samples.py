"""Sample messages, for testing templates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from warren.common.status import Status
from warren.notifier.message import Kind, Message
from warren.snapshot.model import Entry, GroupStatus, PartitionStatus

# 2026-01-02 15:04:05 UTC
_SAMPLE_MS: Final = 1_767_366_245_000
_INCIDENT: Final = "7f3c9a52-4f0e-4b7e-9d0c-2f8a51c6e3b1"
_MESSAGE: Final = "c0a7d1de-58a1-4a55-8f2e-6a2f1f0b9d44"
_TROUBLE: Final = (Status.STOP, Status.STALL, Status.REWIND)


# status: the rule that gives it, and its sentence on such a window
_REASONS: Final = {
    Status.WARN: (
        "growing",
        (
            "The offsets move from 1240000 to 1250000, but over 10 commits the lag rises along a line, from "
            "{start} to {lag}: 4% of what comes in stays unread. It is {lag} now."
        ),
    ),
    Status.STOP: (
        "stopped",
        (
            "The last commit is 900 s old, longer than the 540 s from the first to the last of the 10 commits in "
            "the window, and the lag is {lag}; the lowest stored head 1250012 is above the last committed offset "
            "1250000, so the consumer was not at the head a moment ago either."
        ),
    ),
    Status.STALL: (
        "stalled",
        "All 10 commits have offset 1250000, and the lag is {lag}: the consumer commits but does not move.",
    ),
    Status.REWIND: (
        "rewound",
        (
            "The offset fell from 1262000 to 1249100 at commit 2 of 10 and no later commit has come back to "
            "1262000; the last is 1250000, the lag {lag}."
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class _SamplePartition:
    topic: str
    partition: int
    lag: int
    status: Status


def sample(status: Status, module: str, kind: Kind, now_ms: int = _SAMPLE_MS) -> Message:
    """A group `payments` that is in this status, or has a partition in it; a close is always OK."""
    if kind == "close":
        status = Status.OK
    samples = _sample_partitions(status)
    partitions = tuple(_partition(each, now_ms) for each in samples if each.status is not Status.OK)
    worst = max(samples, key=lambda each: each.lag, default=None)
    result = GroupStatus(
        cluster="sample",
        group="payments",
        status=min(status, Status.ERR),
        complete=1.0,
        partitions=partitions,
        partition_count=12,
        maxlag=None if worst is None else _partition(worst, now_ms),
        totallag=sum(each.lag for each in samples),
    )
    # with threshold 1 there are messages about groups that are OK, without an incident
    incident = kind == "close" or status > Status.OK
    return Message(
        id=_MESSAGE,
        module=module,
        kind=kind,
        incident=_INCIDENT if incident else "",
        start_ms=now_ms - 420_000 if incident else None,
        decided_ms=now_ms,
        result=result,
    )


def sparse(message: Message) -> Message:
    """The same without everything that may be missing."""

    def bare(entry: Entry | None) -> Entry | None:
        return None if entry is None else Entry(entry.offset, entry.timestamp, entry.observed_at, None)

    result = message.result
    partitions = tuple(
        msgspec.structs.replace(
            one,
            owner="",
            client_id="",
            start=bare(one.start),
            end=bare(one.end),
            current_lag=0,
            head=None,
            tail=None,
            rule=None,
            because=None,
            decided_by=(),
            would_change=None,
        )
        for one in result.partitions
    )
    bare_result = msgspec.structs.replace(result, partitions=partitions, maxlag=None, totallag=0)
    return msgspec.structs.replace(message, result=bare_result)


def _sample_partitions(status: Status) -> list[_SamplePartition]:
    base = [
        _SamplePartition("orders", 0, 4812, Status.OK),
        _SamplePartition("orders", 3, 977, Status.OK),
        _SamplePartition("refunds", 1, 63, Status.OK),
    ]
    match status:
        case Status.NOTFOUND:
            return []
        case Status.OK:
            return [replace(each, lag=each.lag // 1000) for each in base]
        case Status.WARN:
            return [replace(base[0], status=Status.WARN), *base[1:]]
        case Status.ERR:
            return [replace(each, status=one) for each, one in zip(base, _TROUBLE, strict=True)]
        case _:
            return [replace(base[0], status=status), replace(base[1], status=Status.WARN), base[2]]


def _partition(each: _SamplePartition, now_ms: int) -> PartitionStatus:
    head = 1_250_000 + each.lag
    moved = each.status in {Status.OK, Status.WARN}
    start_offset = {Status.REWIND: 1_262_000}.get(each.status, 1_240_000 if moved else 1_250_000)
    # a stopped consumer is silent for longer than the window spans
    ended = now_ms - (900_000 if each.status is Status.STOP else 30_000)
    started = ended - 540_000
    start_lag = max(each.lag - 400, 0)
    rule, because = _REASONS.get(each.status, (None, None))
    return PartitionStatus(
        topic=each.topic,
        partition=each.partition,
        owner="/10.0.4.17",
        client_id="payments-worker-2",
        status=each.status,
        start=Entry(start_offset, started, started, start_lag),
        end=Entry(1_250_000, ended, ended, each.lag),
        current_lag=each.lag,
        complete=1.0,
        head=head,
        tail=0,
        rule=rule,
        because=because and because.format(start=start_lag, lag=each.lag),
    )
