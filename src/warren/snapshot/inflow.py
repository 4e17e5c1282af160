"""How fast messages come in: the heads of the last minutes compared with those of now."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from warren.common.sentinels import UNKNOWN

if TYPE_CHECKING:
    from warren.snapshot.tables import HeadTable

# distance of two samples, and how long one is kept: the rate is that of the last five minutes
STEP_MS: Final = 30_000
SPAN_MS: Final = 300_000
# a rate over less is mostly chance
LEAST_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class InflowRate:
    """Messages a second of each partition of a topic, None where it is not known; over so many milliseconds."""

    by_partition: tuple[float | None, ...]
    over_ms: int

    @property
    def total(self) -> float | None:
        known = [each for each in self.by_partition if each is not None]
        return sum(known) if known else None


class Inflow:
    """The heads of one cluster. Written by one thread; readers of any thread get what was there when they asked."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, HeadTable]] = deque()

    def is_due(self, as_of_ms: int) -> bool:
        last_ms = self._samples[-1][0] if self._samples else -STEP_MS
        return as_of_ms >= last_ms + STEP_MS or as_of_ms < last_ms

    def take(self, as_of_ms: int, heads: HeadTable) -> None:
        """A sample; those that are too old go."""
        if self._samples and as_of_ms < self._samples[-1][0]:
            # the clock was set back
            self._samples.clear()
        self._samples.append((as_of_ms, heads))
        while self._samples[0][0] < as_of_ms - SPAN_MS:
            self._samples.popleft()

    def rate(self, topic: str, as_of_ms: int, heads: HeadTable) -> InflowRate:
        """Of a topic, from the oldest sample to these heads."""
        now = heads.of_topic(topic)
        width = len(now)
        nothing = InflowRate((None,) * width, 0)
        samples = [each for each in tuple(self._samples) if each[0] <= as_of_ms - LEAST_MS]
        if not samples:
            return nothing
        then_ms, before = samples[0]
        then = before.of_topic(topic)[:width]
        then = np.append(then, np.full(width - len(then), UNKNOWN))
        # a topic that was made again begins anew
        known = (now != UNKNOWN) & (then != UNKNOWN) & (now >= then)
        seconds = (as_of_ms - then_ms) / 1000
        rates = ((now - then) / seconds).tolist()
        return InflowRate(
            tuple(rate if sure else None for rate, sure in zip(rates, known.tolist(), strict=True)),
            as_of_ms - then_ms,
        )
