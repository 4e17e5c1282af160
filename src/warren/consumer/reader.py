"""Reads ranges of an offsets topic into frames; runs in tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from warren.common.group_records import GroupDeleted
from warren.consumer.commit_frames import framed
from warren.consumer.drain import Drain
from warren.errors import WarrenError
from warren.kafka.batch import NO_RECORDS, Decoded, RawRecords, decode
from warren.memory import release_memory

if TYPE_CHECKING:
    import pyarrow as pa

    from warren.consumer.source import OffsetsSettings, ReadTask
    from warren.kafka.login import Property

# records that are used though their transaction is still open
UNCOMMITTED: Final = "read past an open transaction"
# records that are damaged on the brokers' disks
DAMAGED: Final = "damaged in the brokers' log"
# a record that a bug in Warren makes unreadable
LOST: Final = "cannot be taken"
# per task; more than that is not a problem of single records
MAX_LOST: Final = 100


class UnreadableError(WarrenError):
    """Too many records cannot be processed: the query fails."""


def read(settings: OffsetsSettings, read_task: ReadTask) -> Iterator[pa.RecordBatch]:
    """The ranges of the task: decoded, reduced, and split by bucket."""
    accepts = lru_cache(maxsize=None)(settings.groups.accepts)
    metadata = {
        "after_ms": str(read_task.after_ms),
        "before_ms": str(read_task.before_ms),
        "consumer": settings.name,
    }
    client = tuple(sorted(settings.client.items()))

    lost = 0

    def frame(records: RawRecords, reasons: dict[str, int]) -> pa.RecordBatch:
        nonlocal lost
        lost += reasons.get(LOST, 0)
        if lost > MAX_LOST:
            raise UnreadableError(
                f"{settings.topic}: more than {MAX_LOST} records cannot be processed. This is a bug in Warren; "
                "see the error before this one"
            )
        decoded = decode(records, accepts)
        if read_task.commits_stay:
            decoded = with_commits_kept(decoded)
        decoded.skipped.update(reasons)
        count = len(records) + reasons.get(LOST, 0)
        return framed(decoded, settings.intervals, settings.min_distance_ms, metadata, count)

    for committed in (True, False):
        ranges = [each for each in read_task.ranges if each.committed is committed]
        if not ranges:
            continue
        drain = cached_drain(client, settings.topic, committed)
        drain.damaged = 0
        for records in drain.records(ranges):
            yield from in_parts(records, frame)
            if not committed:
                yield frame(records.part(0, 0), {UNCOMMITTED: len(records)})
        if drain.damaged:
            yield frame(NO_RECORDS, {DAMAGED: drain.damaged})
    release_memory()


def with_commits_kept(decoded: Decoded) -> Decoded:
    """Tombstones of groups that delete the group's owners alone."""
    groups = [
        msgspec.structs.replace(each, converted=True) if isinstance(each, GroupDeleted) else each
        for each in decoded.groups
    ]
    return replace(decoded, groups=groups)


def in_parts(
    records: RawRecords, frame: Callable[[RawRecords, dict[str, int]], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The records as batches: one, unless a record among them cannot be processed.

    The ranges are fixed, so an error would repeat for ever: the records are split in halves until only the failing ones
    are left, which are skipped and counted.
    """
    try:
        batch = frame(records, {})
    except Exception:  # noqa: BLE001 - any bug
        if len(records) <= 1:
            yield frame(records.part(0, 0), {LOST: len(records)})
            return
        half = len(records) // 2
        yield from in_parts(records.part(0, half), frame)
        yield from in_parts(records.part(half, len(records)), frame)
    else:
        yield batch


@cache
def cached_drain(client: tuple[tuple[str, Property], ...], topic: str, committed: bool) -> Drain:
    """The drain of a topic, kept between triggers in the worker process that Spark reuses.

    Bounded: settings do not change while Spark runs.
    """
    return Drain(dict(client), topic, committed=committed)
