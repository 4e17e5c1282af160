"""Records of a range as frames: what tasks do for a consumer module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from warren.consumer.drain import Drain
from warren.consumer.framing import framed
from warren.kafka.batch import decode
from warren.storage.memory import give_back

if TYPE_CHECKING:
    import pyarrow as pa

    from warren.consumer.source import Hand, OffsetsSettings
    from warren.kafka.login import Property

# records that are used though nobody knows whether they will be committed
UNCOMMITTED: Final = "read past an open transaction"


def read(settings: OffsetsSettings, hand: Hand) -> Iterator[pa.RecordBatch]:
    """Everything in the hand, decoded, cut and dealt to buckets."""
    accepts = lru_cache(maxsize=None)(settings.groups.accepts)
    words = {"after_ms": str(hand.after_ms), "before_ms": str(hand.before_ms), "consumer": settings.name}
    client = tuple(sorted(settings.client.items()))
    for committed in (True, False):
        ranges = [each for each in hand.ranges if each.committed is committed]
        if not ranges:
            continue
        for records in kept_drain(client, settings.topic, committed).records(ranges):
            decoded = decode(records, accepts)
            if not committed:
                decoded.skipped[UNCOMMITTED] = len(records)
            yield framed(decoded, settings.intervals, settings.min_distance_ms, words, len(records))
    give_back()


@cache
def kept_drain(client: tuple[tuple[str, Property], ...], topic: str, committed: bool) -> Drain:
    """The drain of a topic, kept between triggers in the worker process that Spark reuses.

    As many as are configured: settings do not change while Spark runs.
    """
    return Drain(dict(client), topic, committed=committed)
