"""Records of a range as frames: what tasks do for a consumer module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from warren.consumer.drain import Drain
from warren.consumer.framing import framed
from warren.errors import WarrenError
from warren.kafka.batch import RawRecords, decode
from warren.memory import give_back

if TYPE_CHECKING:
    import pyarrow as pa

    from warren.consumer.source import Hand, OffsetsSettings
    from warren.kafka.login import Property

# records that are used though nobody knows whether they will be committed
UNCOMMITTED: Final = "read past an open transaction"
# a record that a fault of ours makes unreadable
LOST: Final = "cannot be taken"
# of what one task reads; more than that is no matter of single records
MOST_LOST: Final = 100


class UnreadableError(WarrenError):
    """So many records cannot be taken that it is better to stop and say so."""


def read(settings: OffsetsSettings, hand: Hand) -> Iterator[pa.RecordBatch]:
    """Everything in the hand, decoded, reduced, and in shares for the buckets."""
    accepts = lru_cache(maxsize=None)(settings.groups.accepts)
    words = {"after_ms": str(hand.after_ms), "before_ms": str(hand.before_ms), "consumer": settings.name}
    client = tuple(sorted(settings.client.items()))

    lost = 0

    def frame(records: RawRecords, reasons: dict[str, int]) -> pa.RecordBatch:
        nonlocal lost
        lost += reasons.get(LOST, 0)
        if lost > MOST_LOST:
            raise UnreadableError(
                f"{settings.topic}: more than {MOST_LOST} records cannot be taken. This is a fault of Warren's; "
                "the error before this one says which"
            )
        decoded = decode(records, accepts)
        decoded.skipped.update(reasons)
        count = len(records) + reasons.get(LOST, 0)
        return framed(decoded, settings.intervals, settings.min_distance_ms, words, count)

    for committed in (True, False):
        ranges = [each for each in hand.ranges if each.committed is committed]
        if not ranges:
            continue
        for records in kept_drain(client, settings.topic, committed).records(ranges):
            yield from in_parts(records, frame)
            if not committed:
                yield frame(records.part(0, 0), {UNCOMMITTED: len(records)})
    give_back()


def in_parts(
    records: RawRecords, frame: Callable[[RawRecords, dict[str, int]], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The records as batches: one, unless there is one among them that cannot be taken.

    What is read is fixed before, so a fault would meet the same records again and again: all but the ones that are to
    blame are taken, in smaller and smaller parts, and those are left out and counted.
    """
    try:
        batch = frame(records, {})
    except Exception:  # noqa: BLE001 - it is the ones that nobody thought of
        if len(records) <= 1:
            yield frame(records.part(0, 0), {LOST: len(records)})
            return
        half = len(records) // 2
        yield from in_parts(records.part(0, half), frame)
        yield from in_parts(records.part(half, len(records)), frame)
    else:
        yield batch


@cache
def kept_drain(client: tuple[tuple[str, Property], ...], topic: str, committed: bool) -> Drain:
    """The drain of a topic, kept between triggers in the worker process that Spark reuses.

    As many as are configured: settings do not change while Spark runs.
    """
    return Drain(dict(client), topic, committed=committed)
