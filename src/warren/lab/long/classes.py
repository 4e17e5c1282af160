"""The classes of `warren lab --long`: what is healthy for a day, and what is in trouble after some hours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

from warren.lab.consumers import Consumer, behind
from warren.lab.long import consumers
from warren.lab.long.consumers import (
    checkpoints,
    job,
    only_when_read,
    outages,
    overloaded,
    queue,
    with_failovers,
    with_late_commits,
)
from warren.lab.long.queues import heavy_tailed
from warren.lab.scenarios import Disturbance, Kind, Scenario

_EVERY_PERIOD: Final = (1.0, 5.0, 60.0)
_OFTEN: Final = (1.0, 5.0)
_MINUTE_S: Final = 60.0
# by how much inflow is above its average at the height of the day: `day_and_night`
_NOON: Final = 1.9
# the moments of trouble are few: each class in trouble is simulated so often
_TROUBLES: Final = 4


def _of(
    name: str,
    kind: Kind,
    consumer: Consumer,
    periods_s: Sequence[float] = (5.0,),
    producers: Sequence[str] = ("poisson",),
    **others: Any,
) -> Iterator[Scenario]:
    for producer, period_s in product(producers, periods_s):
        for _ in range(1 if kind is Kind.HEALTHY else _TROUBLES):
            yield Scenario(name, kind, producer, consumer, period_s, **others)


def _healthy() -> Iterator[Scenario]:
    kind = Kind.HEALTHY
    for load in (0.5, 0.8, 0.9, 0.95):
        yield from _of(f"random service, load {load:g}", kind, queue(load), _EVERY_PERIOD)
    yield from _of("heavy-tailed service, load 0.7", kind, queue(0.7, heavy_tailed), _EVERY_PERIOD)
    days = queue(0.9 / _NOON)
    yield from _of("day and night, load to 0.9", kind, days, _EVERY_PERIOD, ("day and night",))
    for minutes in (1, 5, 15):
        flink = queue(0.8, rhythm=checkpoints)
        yield from _of(f"checkpoints every {minutes} min", kind, flink, (minutes * _MINUTE_S,))
    yield from _of("Kafka Connect", kind, queue(0.5), (_MINUTE_S,))
    for minutes in (15, 60):
        yield from _of(f"job every {minutes} min", kind, job(minutes * _MINUTE_S))
    for minutes, load in ((10, 0.3), (60, 0.1)):
        written = (f"batches {minutes} min",)
        yield from _of(f"batches every {minutes} min", kind, queue(load), _OFTEN, written)
    yield from _of("aborted transactions", kind, queue(0.5), _OFTEN, ("aborted transactions",))
    yield from _of("coordinator failovers", kind, with_failovers(queue(0.8)), _OFTEN)
    # some a day
    for disturbance, rarer in ((Disturbance.BROKER_RESTARTS, 30.0), (Disturbance.REBALANCES, 24.0)):
        yield from _of(f"{disturbance}", kind, queue(0.8), _OFTEN, disturbance=disturbance, rarer=rarer)
    for late, late_s in (("10 s", 10.0), ("10 min", 600.0), ("1 h", 3_600.0)):
        traffic = ("poisson", "day and night")
        yield from _of(f"always {late} late", kind, behind(late_s), (5.0,), traffic, before_s=late_s + 400)
    # a message takes a twentieth of a second; nothing that comes every ten minutes is ever in a queue
    yield from _of("a message in 10 min", kind, only_when_read(queue(1e-4)), _OFTEN, rate=1 / 600)
    rare = only_when_read(queue(0.5))
    yield from _of("rare commits, idle times", kind, rare, (_MINUTE_S, 5 * _MINUTE_S), ("idle times",))
    # whoever is at the head now and then is told by that, whatever the clocks say: so also groups that never are
    for skew_s in (-120.0, -10.0, 10.0, 120.0):
        for consumer in (queue(0.8), queue(0.95), behind(120)):
            yield from _of(f"broker's clock {skew_s:+g} s", kind, consumer, skew_s=skew_s)
    for consumer in (queue(0.8), behind(10)):
        yield from _of("a commit sent again late", kind, with_late_commits(consumer), _OFTEN)
    yield from _of("hourly spikes", kind, queue(0.8), _OFTEN, ("hourly spikes",))


def _in_trouble() -> Iterator[Scenario]:
    for load in (1.5, 1.1, 1.05, 1.02):
        yield from _of(f"load {load:g}", Kind.SLOW, overloaded(load))
    yield from _of("load 1.1, heavy-tailed", Kind.HARD, overloaded(1.1, heavy_tailed, before=0.7))
    yield from _of("hot partition", Kind.SLOW, consumers.overrun, producers=("hot",))
    yield from _of("dead, commits every 5 s", Kind.BROKEN, consumers.dead())
    yield from _of("dead, Kafka Connect", Kind.BROKEN, consumers.dead(), (_MINUTE_S,))
    yield from _of(
        "dead, checkpoints every 5 min", Kind.BROKEN, consumers.dead(checkpoints), (5 * _MINUTE_S,)
    )
    for period_s in (5.0, 1.0):
        yield from _of(f"stuck, commits every {period_s:g} s", Kind.BROKEN, consumers.stuck, (period_s,))
    yield from _of("three outages", Kind.BROKEN, outages(3))
    yield from _of("300 s behind, flat", Kind.HARD, consumers.step)
    yield from _of("outage, slow recovery", Kind.BROKEN, outages(1, load=1 / 1.3))


LONG_SCENARIOS: Final[tuple[Scenario, ...]] = (*_healthy(), *_in_trouble())
