"""Transactions that are open in an offsets topic: what comes after one is waited for, but not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

# Kafka aborts a transaction that nobody ends after 60 s, unless its producer asked for another time, and looks for
# those every 10 s
PATIENCE_S: Final = 90.0


class OpenTransactions:
    """How long the first open transaction of each partition has been in the way, as far as this process saw."""

    def __init__(self, patience_s: float = PATIENCE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_s
        self._clock = clock
        # partition: where its first open transaction begins, and since when we know
        self._open: dict[int, tuple[int, float]] = {}

    def overdue(self, stable: Sequence[int | None], end: Sequence[int | None]) -> frozenset[int]:
        """Partitions whose first open transaction was waited for long enough; by partition, where it begins and where
        the partition ends."""
        now = self._clock()
        before, self._open = self._open, {}
        for partition, (at, last) in enumerate(zip(stable, end, strict=True)):
            if at is None or last is None:
                # no answer says nothing new
                if partition in before:
                    self._open[partition] = before[partition]
            elif at < last:
                known = before.get(partition)
                self._open[partition] = known if known is not None and known[0] == at else (at, now)
        return frozenset(
            partition for partition, (_, since) in self._open.items() if now - since > self._patience_s
        )
