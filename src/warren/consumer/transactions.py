"""Open transactions in an offsets topic: records after one wait for it, up to a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

# Kafka aborts abandoned transactions after 60 s by default, and checks every 10 s
MAX_WAIT_S: Final = 90.0


class OpenTransactions:
    """Since when the first open transaction of each partition has been open, as far as this process knows."""

    def __init__(self, max_wait_s: float = MAX_WAIT_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_wait_s = max_wait_s
        self._clock = clock
        # partition: where its first open transaction begins, and since when we know
        self._open: dict[int, tuple[int, float]] = {}

    def overdue(self, stable: Sequence[int | None], end: Sequence[int | None]) -> frozenset[int]:
        """Partitions whose first open transaction exceeds the limit; arguments by partition: where it begins, and the
        end offset."""
        now = self._clock()
        before, self._open = self._open, {}
        for partition, (at, last) in enumerate(zip(stable, end, strict=True)):
            if at is None or last is None:
                # no response: keep the last state
                if partition in before:
                    self._open[partition] = before[partition]
            elif at < last:
                known = before.get(partition)
                self._open[partition] = known if known is not None and known[0] == at else (at, now)
        return frozenset(
            partition for partition, (_, since) in self._open.items() if now - since > self._max_wait_s
        )
