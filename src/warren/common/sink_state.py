"""How a sink is doing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class SinkProgress:
    """Changed by the sink's thread, read by anybody."""

    running: bool = False
    # since the start of this process
    samples: int = 0
    rows: int = 0
    rejected: int = 0
    # attempts that failed, and starts of the query after it failed
    failures: int = 0
    restarts: int = 0
    # the last sample that was written, 0: none yet; and when
    number: int = 0
    written_ms: int = 0
    # why nothing is written; empty when all is well
    error: str = ""


@dataclass(frozen=True, slots=True)
class SinkState:
    """What others are told of a sink."""

    name: str
    class_name: str
    progress: SinkProgress
    # samples that are there and not written yet, and when the oldest of them was taken
    behind: int
    behind_since_ms: int | None
    dropped: int
