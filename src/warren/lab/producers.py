"""Simulated producers: when the messages of one partition are written, in seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Rng = np.random.Generator

# relative amplitude of the daily rate
_DAY_SWING: Final = 0.9
_DAY_S: Final = 86_400.0
_TRICKLE_S: Final = 8.0
# a burst that is written over some time, not at once
_SPREAD_S: Final = 4.0


@dataclass(frozen=True, slots=True)
class Log:
    """One partition: when each of its records was written, ascending."""

    written_s: Floats
    # records that consumers never get: the markers at the end of transactions, and what was aborted
    marker: Mask
    # messages a second, on average
    rate: float
    # since when more is written than before; never: infinite
    hot_s: float = math.inf

    @classmethod
    def of(cls, written_s: Floats, rate: float) -> Log:
        return cls(written_s, np.zeros(len(written_s), dtype=np.bool_), rate)

    def head(self, at_s: Floats) -> Ints:
        """The offset of the next record at these moments."""
        return np.searchsorted(self.written_s, at_s, side="right").astype(np.int64)

    def without_trailing_markers(self, offset: Ints) -> Ints:
        """The offset that a client commits that does not count markers."""
        if not self.marker.any():
            return offset
        got = np.append(-1, np.flatnonzero(~self.marker))
        return np.asarray(got[np.searchsorted(got, offset) - 1] + 1, dtype=np.int64)


# (random numbers, seconds to write for, messages a second) -> what was written
Producer = Callable[[Rng, float, float], Log]


def steady(rng: Rng, length_s: float, rate: float) -> Log:
    return Log.of(np.arange(rng.random() / rate, length_s, 1 / rate), rate)


def poisson(rng: Rng, length_s: float, rate: float) -> Log:
    return Log.of(np.sort(rng.random(rng.poisson(length_s * rate)) * length_s), rate)


def bursts(every_s: float, *, on_the_second: bool = False) -> Producer:
    """All messages of a period at once."""

    def written(rng: Rng, length_s: float, rate: float) -> Log:
        starts = np.arange(0.0 if on_the_second else rng.random() * every_s, length_s, every_s)
        return Log.of(np.repeat(starts, max(round(rate * every_s), 1)), rate)

    return written


def ramps(rng: Rng, length_s: float, rate: float) -> Log:
    """Bursts every 30 s that take some seconds to write."""
    starts = np.arange(rng.random() * 30, length_s, 30.0)
    count = round(rate * 30)
    return Log.of(np.repeat(starts, count) + np.tile(np.linspace(0, _SPREAD_S, count), len(starts)), rate)


def trickle(rng: Rng, length_s: float, _rate: float) -> Log:
    return poisson(rng, length_s, 1 / _TRICKLE_S)


def day_and_night(rng: Rng, length_s: float, rate: float) -> Log:
    """The rate varies over the day; a random part of it."""
    highest = rate * (1 + _DAY_SWING)
    at = poisson(rng, length_s, highest).written_s
    now = rate * (1 + _DAY_SWING * np.sin(2 * np.pi * (at / _DAY_S + rng.random())))
    return Log.of(at[rng.random(len(at)) * highest < now], rate)


def pausing(rng: Rng, length_s: float, rate: float) -> Log:
    """Steady, but nothing for some minutes in the middle."""
    at = steady(rng, length_s, rate).written_s
    start = length_s * (0.3 + 0.2 * rng.random())
    return Log.of(at[(at < start) | (at > start + 300)], rate)


def ending(rng: Rng, length_s: float, rate: float) -> Log:
    """Steady, then nothing more."""
    at = steady(rng, length_s, rate).written_s
    return Log.of(at[at < length_s * (0.3 + 0.2 * rng.random())], rate)


def transactions(rng: Rng, length_s: float, rate: float) -> Log:
    """A transaction every second; its marker is a record that consumers do not get."""
    starts = np.arange(rng.random(), length_s, 1.0)
    count = max(round(rate), 1)
    spread = np.append(np.linspace(0, 0.2, count), 0.21)
    marker = np.append(np.zeros(count, dtype=np.bool_), True)
    written = (starts[:, None] + spread).ravel()
    kept = written < length_s
    return Log(written[kept], np.tile(marker, len(starts))[kept], rate + 1)


def since(log: Log, start_s: float) -> Log:
    """The same with times relative to `start_s`: earlier records have negative times."""
    return replace(log, written_s=log.written_s - start_s, hot_s=log.hot_s - start_s)


def transactions_ending(rng: Rng, length_s: float, rate: float) -> Log:
    """Transactions, then nothing more: the last record is a marker."""
    log = transactions(rng, length_s, rate)
    end = int(np.flatnonzero(log.marker)[int(np.count_nonzero(log.marker) * (0.5 + 0.2 * rng.random()))])
    return Log(log.written_s[: end + 1], log.marker[: end + 1], log.rate)


def with_outages(log: Log, outages: Sequence[tuple[float, float]]) -> Log:
    """Records that could not be written during an outage are written at its end."""
    written = log.written_s.copy()
    for start, end in outages:
        written[(written >= start) & (written < end)] = end
    return replace(log, written_s=written)


# name: producer
PRODUCERS: Final[dict[str, Producer]] = {
    "steady": steady,
    "poisson": poisson,
    "bursts 1 s": bursts(1.0),
    "bursts on the second": bursts(1.0, on_the_second=True),
    "bursts 5 s": bursts(5.0),
    "bursts 30 s": bursts(30.0),
    "ramps 30 s": ramps,
    "trickle": trickle,
    "day and night": day_and_night,
    "pausing": pausing,
    "ending": ending,
    "transactions": transactions,
    "transactions, ending": transactions_ending,
}
