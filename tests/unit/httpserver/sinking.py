"""Sinks that say what a test wants to hear."""

from __future__ import annotations

from warren.common.sink_state import SinkProgress, SinkState

T0 = 1_700_000_000_000


class MemorySinks:
    def states(self) -> list[SinkState]:
        well = SinkProgress(True, 9, 900, 0, 0, 0, 9, T0)
        down = SinkProgress(True, 2, 200, 3, 7, 1, 2, T0 - 60_000, "the server is down")
        return [
            SinkState("history", "parquet", well, 0, None, 0),
            SinkState("search", "elasticsearch", down, 7, T0 - 50_000, 4),
        ]
