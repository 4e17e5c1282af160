"""What the health page says of the sinks."""

from __future__ import annotations

from warren.common.sink_state import SinkState
from warren.httpserver.v4 import shapes


def sink_health(state: SinkState, now_ms: int) -> shapes.SinkHealth:
    progress = state.progress
    since = state.behind_since_ms
    return shapes.SinkHealth(
        sink=state.name,
        class_name=state.class_name,
        running=progress.running,
        behind_samples=state.behind,
        behind_ms=0 if since is None else max(now_ms - since, 0),
        dropped_samples=state.dropped,
        samples=progress.samples,
        rows=progress.rows,
        rejected_rows=progress.rejected,
        failures=progress.failures,
        restarts=progress.restarts,
        last_sample=progress.number,
        written_at=progress.written_ms,
        error=progress.error,
    )
