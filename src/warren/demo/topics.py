"""The topics of the demo traffic and what is written to each: pure, and the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Rhythm:
    """How a topic is written to: the interval and the size of bursts."""

    # seconds between two bursts, uniform in this range
    wait_s: tuple[float, float]
    # records in a burst, uniform in this range: per partition, or per topic with `scatter`
    records: tuple[int, int]
    # each record goes to a random partition, instead of the same number to each
    scatter: bool
    # bytes of a record's value
    size: tuple[int, int]


@dataclass(frozen=True)
class Topic:
    """A topic that traffic creates, fills once and then keeps writing to."""

    name: str
    partitions: int
    # records of each partition before any group starts, so that a group can be behind from its first commit
    backlog: int
    # None: nothing is written after the backlog
    rhythm: Rhythm | None


@dataclass(frozen=True)
class Record:
    """One record to be written."""

    partition: int
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Burst:
    """Records that are written together, after a pause."""

    wait_s: float
    records: tuple[Record, ...]


# Groups that must be OK read topics with pauses: in a pause a group reaches the head and commits it, so that
# its window always has a lag of 0. On a topic without pauses, a healthy group is always a little behind and
# its steady lag would count as "never shrinks". The group that must fall behind reads that one.
ORDERS: Final = Topic("orders", 3, 5_000, Rhythm((3.0, 6.0), (15, 60), scatter=True, size=(20, 120)))
PAYMENTS: Final = Topic("payments", 2, 5_000, Rhythm((4.0, 7.0), (10, 30), scatter=True, size=(40, 200)))
CLICKS: Final = Topic("clicks", 6, 5_000, Rhythm((0.25, 0.25), (5, 5), scatter=False, size=(4, 8)))
AUDIT: Final = Topic("audit", 1, 200, None)

TOPICS: Final[tuple[Topic, ...]] = (ORDERS, PAYMENTS, CLICKS, AUDIT)


def bursts(topic: Topic, seed: int) -> Iterator[Burst]:
    """The endless sequence of bursts to the topic; empty for a topic without a rhythm."""
    rhythm = topic.rhythm
    if rhythm is None:
        return
    rng = random.Random(f"{seed}/{topic.name}")  # noqa: S311 (repeatable)
    while True:
        wait_s = rng.uniform(*rhythm.wait_s)
        count = rng.randint(*rhythm.records)
        if rhythm.scatter:
            partitions = [rng.randrange(topic.partitions) for _ in range(count)]
        else:
            partitions = [partition for partition in range(topic.partitions) for _ in range(count)]
        yield Burst(wait_s, tuple(_record(partition, rhythm.size, rng) for partition in partitions))


def backlog(topic: Topic, partition: int, seed: int) -> Iterator[Record]:
    """The records of a partition before traffic starts."""
    rng = random.Random(f"{seed}/{topic.name}/{partition}/backlog")  # noqa: S311 (repeatable)
    for _ in range(topic.backlog):
        yield _record(partition, (4, 12), rng)


def _record(partition: int, size: tuple[int, int], rng: random.Random) -> Record:
    return Record(partition, b"%04x" % rng.getrandbits(16), rng.randbytes(rng.randint(*size)))
