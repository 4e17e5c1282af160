"""Consumers as queues: one message after the other, each with a service time that is left to chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from warren.lab.consumers import Pause
from warren.lab.producers import Floats, Ints, Log, Rng

# random service times with a mean of 1
Service = Callable[[Rng, int], Floats]
# the spread of heavy-tailed service: one message in a thousand takes 65 times the mean
_SIGMA: Final = 2.0
# before and after everything; not so far that a line through it loses microseconds
_FAR_S: Final = 1e7


def exponential(rng: Rng, count: int) -> Floats:
    return rng.standard_exponential(count)


def heavy_tailed(rng: Rng, count: int) -> Floats:
    return rng.lognormal(-_SIGMA * _SIGMA / 2, _SIGMA, count)


def done_s(log: Log, service_s: Floats, pauses: Sequence[Pause] = ()) -> Floats:
    """When each record is done, if the consumer does one after the other and none in a pause (Lindley)."""
    # what consumers do not get takes no time
    service_s = np.where(log.marker, 0.0, service_s) if log.marker.any() else service_s
    spent = np.cumsum(service_s)
    done = np.maximum.accumulate(_worked_s(log.written_s, pauses) - spent + service_s)
    done += spent
    return _resumed_s(done, pauses)


def position(log: Log, done: Floats, at_s: Floats) -> Ints:
    """The offset that the consumer would commit at these moments."""
    return log.without_trailing_markers(np.searchsorted(done, at_s, side="right").astype(np.int64))


def _worked_s(at_s: Floats, pauses: Sequence[Pause]) -> Floats:
    """Times on a clock that stands still in pauses."""
    if not pauses:
        return at_s
    ours, theirs = _knots(pauses)
    return np.interp(at_s, ours, theirs)


def _resumed_s(worked_s: Floats, pauses: Sequence[Pause]) -> Floats:
    """Back from that clock: what is due in a pause is due at its end."""
    if not pauses:
        return worked_s
    ours, theirs = _knots(pauses)
    return np.interp(worked_s, theirs, ours)


def _knots(pauses: Sequence[Pause]) -> tuple[Floats, Floats]:
    """Where our clock and the one that stands still part: the same moments by both."""
    edges = np.array(sorted(pauses))
    lost = np.cumsum(edges[:, 1] - edges[:, 0])
    ours = np.concatenate([[-_FAR_S], edges.ravel(), [_FAR_S]])
    before = np.append(0.0, lost[:-1])
    theirs = np.stack([edges[:, 0] - before, edges[:, 1] - lost], axis=1).ravel()
    return ours, np.concatenate([[-_FAR_S], theirs, [_FAR_S - lost[-1]]])
