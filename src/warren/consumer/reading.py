"""Records of a range as frames: what tasks do for a consumer module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from warren.consumer.drain import Drain
from warren.consumer.framing import framed
from warren.kafka.batch import decode
from warren.storage.memory import give_back

if TYPE_CHECKING:
    import pyarrow as pa

    from warren.consumer.source import Hand, OffsetsSettings
    from warren.kafka.login import Property


def read(settings: OffsetsSettings, hand: Hand) -> Iterator[pa.RecordBatch]:
    """Everything in the hand, decoded, cut and dealt to buckets."""
    drain = kept_drain(tuple(sorted(settings.client.items())), settings.topic)
    accepts = lru_cache(maxsize=None)(settings.groups.accepts)
    words = {"after_ms": str(hand.after_ms), "before_ms": str(hand.before_ms), "consumer": settings.name}
    for records in drain.records(hand.ranges):
        decoded = decode(records, accepts)
        yield framed(decoded, settings.intervals, settings.min_distance_ms, words, len(records))
    give_back()


@cache
def kept_drain(client: tuple[tuple[str, Property], ...], topic: str) -> Drain:
    """The drain of a topic, kept between triggers in the worker process that Spark reuses.

    As many as are configured: settings do not change while Spark runs.
    """
    return Drain(dict(client), topic)
