"""The scenarios of `warren lab`: classes of consumers, their traffic, and disturbances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Final

from warren.lab import consumers
from warren.lab.consumers import Consumer, Pause
from warren.lab.producers import Rng

# seconds of traffic before the first look, so that a group can be behind from the start
BEFORE_S: Final = 400.0


class Kind(StrEnum):
    """The requirements for the verdicts on a class."""

    # never an alarm
    HEALTHY = "healthy"
    # lags, but keeps pace: OK, and stays so
    EVEN = "even"
    # always detected
    SLOW = "slow"
    # detected where possible
    HARD = "hard"
    # ends, stalls, rewinds
    BROKEN = "broken"


class Disturbance(StrEnum):
    """What interrupts a group from time to time."""

    NONE = ""
    REBALANCES = "rebalances"
    RESTARTS = "restarts"
    BROKER_RESTARTS = "broker restarts"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One class of consumers on one kind of traffic."""

    # the class: a row of the table
    name: str
    kind: Kind
    producer: str
    consumer: Consumer = field(compare=False)
    # seconds between two commits
    period_s: float
    disturbance: Disturbance = Disturbance.NONE
    # by how much the broker's clock is ahead of ours
    skew_s: float = 0.0
    # messages a second
    rate: float = 20.0
    # how many times rarer disturbances are than in a run of some minutes
    rarer: float = 1.0
    # seconds of traffic before the first look
    before_s: float = BEFORE_S

    @property
    def title(self) -> str:
        """The scenario as text."""
        return f"{self.name}: {self.producer}, commits every {self.period_s:g} s"


_EVERY_PRODUCER: Final = (
    "steady",
    "poisson",
    "bursts 1 s",
    "bursts 5 s",
    "bursts 30 s",
    "trickle",
    "day and night",
    "pausing",
    "transactions",
)
_LASTING: Final = ("steady", "poisson", "bursts 1 s", "bursts 5 s", "bursts 30 s", "trickle", "day and night")
_EVEN: Final = ("steady", "bursts 1 s")
_SIMPLE: Final = ("steady", "poisson", "bursts 1 s")
_OFTEN: Final = (1.0, 5.0)


def _of(
    name: str,
    kind: Kind,
    consumer: Consumer,
    producers: Sequence[str],
    periods_s: Sequence[float] = _OFTEN,
    *,
    disturbance: Disturbance = Disturbance.NONE,
    skews_s: Sequence[float] = (0.0,),
) -> Iterator[Scenario]:
    for producer, period_s, skew_s in product(producers, periods_s, skews_s):
        yield Scenario(name, kind, producer, consumer, period_s, disturbance, skew_s)


SCENARIOS: Final[tuple[Scenario, ...]] = (
    *_of("healthy, auto-commit", Kind.HEALTHY, consumers.healthy, _EVERY_PRODUCER, (1.0, 5.0, 60.0)),
    *_of("healthy, every 50 ms", Kind.HEALTHY, consumers.healthy, ("steady", "bursts 1 s"), (0.05,)),
    *_of("healthy, every message", Kind.HEALTHY, consumers.per_message, ("poisson", "trickle"), (0.05,)),
    *_of("healthy, every batch", Kind.HEALTHY, consumers.per_batch, _EVERY_PRODUCER, (1.0,)),
    *_of("healthy, works off bursts", Kind.HEALTHY, consumers.bursty, ("ramps 30 s", "bursts 30 s")),
    *_of(
        "healthy, rebalances",
        Kind.HEALTHY,
        consumers.healthy,
        _SIMPLE,
        disturbance=Disturbance.REBALANCES,
    ),
    *_of("healthy, restarts", Kind.HEALTHY, consumers.healthy, _SIMPLE, disturbance=Disturbance.RESTARTS),
    *_of(
        "healthy, broker restarts",
        Kind.HEALTHY,
        consumers.healthy,
        _SIMPLE,
        disturbance=Disturbance.BROKER_RESTARTS,
    ),
    *_of("healthy, clocks differ", Kind.HEALTHY, consumers.healthy, _SIMPLE, skews_s=(-5.0, -0.4, 0.4, 5.0)),
    *_of("idle at the head", Kind.HEALTHY, consumers.idle, ("ending",)),
    *_of("idle at the head, commits on", Kind.HEALTHY, consumers.healthy, ("ending",)),
    *_of("idle after transactions", Kind.HEALTHY, consumers.healthy, ("transactions, ending",)),
    *_of("catching up", Kind.HEALTHY, consumers.catching_up, _SIMPLE),
    *_of("3 s behind", Kind.EVEN, consumers.behind(3), _LASTING),
    *_of("5 min behind", Kind.EVEN, consumers.behind(300), _LASTING),
    *_of("slow, 50 %", Kind.SLOW, consumers.slow(0.5), _EVEN),
    *_of("slow, 90 %", Kind.SLOW, consumers.slow(0.9), _EVEN),
    *_of("slow, 90 %, uneven traffic", Kind.HARD, consumers.slow(0.9), ("poisson", "bursts 5 s")),
    *_of("slow, 99 %", Kind.HARD, consumers.slow(0.99), _EVEN),
    *_of("dead", Kind.BROKEN, consumers.dead, _SIMPLE),
    *_of("stuck on one offset", Kind.BROKEN, consumers.stuck, _SIMPLE),
    *_of("rewound once", Kind.BROKEN, consumers.rewound_once, _SIMPLE),
    *_of("rewound again and again", Kind.BROKEN, consumers.rewinding, _SIMPLE),
    *_of("stopped on purpose", Kind.BROKEN, consumers.stopped_on_purpose, _SIMPLE),
)


def pauses(scenario: Scenario, rng: Rng, length_s: float) -> tuple[Pause, ...]:
    """When the group cannot work."""
    match scenario.disturbance:
        case Disturbance.NONE:
            return ()
        case Disturbance.REBALANCES:
            every_s, least, most = 150.0, 2.0, 10.0
        case Disturbance.RESTARTS:
            every_s, least, most = 500.0, 15.0, 60.0
        case Disturbance.BROKER_RESTARTS:
            every_s, least, most = 700.0, 5.0, 30.0
    starts = _random_starts(rng, length_s, every_s * scenario.rarer)
    return tuple((start, start + least + (most - least) * rng.random()) for start in starts)


def _random_starts(rng: Rng, length_s: float, every_s: float) -> list[float]:
    count = max(int(length_s / every_s), 1)
    return [every_s * (index + 0.2 + 0.5 * rng.random()) for index in range(count)]
