"""A queue in the laboratory is the queue of the textbooks."""

from __future__ import annotations

import numpy as np
import pytest

from warren.lab.consumers import Pause
from warren.lab.long.queues import done_s, exponential, heavy_tailed, position
from warren.lab.producers import Log, poisson

RATE = 20.0


@pytest.mark.parametrize("load", [0.5, 0.8, 0.9])
def test_the_mean_age_is_that_of_a_queue_with_random_service(load: float) -> None:
    rng = np.random.default_rng(4)
    log = poisson(rng, 86_400.0, RATE)
    service = load / RATE
    done = done_s(log, exponential(rng, len(log.written_s)) * service)
    # M/M/1: waiting and service together
    assert np.mean(done - log.written_s) == pytest.approx(service / (1 - load), rel=0.05)


def test_heavy_tailed_service_has_a_mean_of_one_and_its_tail() -> None:
    service = heavy_tailed(np.random.default_rng(5), 4_000_000)
    assert service.mean() == pytest.approx(1.0, rel=0.03)
    assert np.mean(service > 65) == pytest.approx(0.001, rel=0.1)


def one_by_one(log: Log, service_s: list[float], pauses: tuple[Pause, ...]) -> list[float]:
    """The same, message by message."""
    now, done = -np.inf, []
    for written, needed, marker in zip(log.written_s.tolist(), service_s, log.marker.tolist(), strict=True):
        now = max(now, written)
        left = 0.0 if marker else needed
        for start, end in pauses:
            if now <= start < now + left:
                left, now = left - (start - now), end
            elif start < now < end:
                now = end
        now += left
        done.append(now)
    return done


@pytest.mark.parametrize(
    "pauses",
    [(), ((30.0, 45.0),), ((10.0, 20.0), (21.0, 60.0), (90.0, 91.0))],
    ids=["none", "one", "several"],
)
@pytest.mark.parametrize("load", [0.7, 1.2])
def test_it_works_off_one_message_after_the_other_and_none_in_a_pause(
    pauses: tuple[Pause, ...], load: float
) -> None:
    rng = np.random.default_rng(6)
    written = poisson(rng, 120.0, RATE).written_s
    log = Log(written, rng.random(len(written)) < 0.1, RATE)
    service_s = exponential(rng, len(written)) * (load / RATE)
    done = done_s(log, service_s, pauses)
    assert done == pytest.approx(one_by_one(log, service_s.tolist(), pauses), abs=1e-6)


def test_a_position_does_not_count_what_consumers_never_get() -> None:
    log = Log(np.arange(6.0), np.array([False, False, True, True, False, True]), 1.0)
    at_s = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert position(log, log.written_s, at_s).tolist() == [0, 1, 2, 2, 2, 5, 5]
