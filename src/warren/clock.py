"""Clocks: read by callers at the boundary; all other code takes the time as an argument."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# tolerated difference between wall clock and monotonic clock between two polls: time servers correct in small steps
_DRIFT_MS: Final = 2_000
# a wall clock that has run with the monotonic clock for this long is right: the downtime before counts as passed
_CONFIRMED_MS: Final = 600_000
# for this long after a jump the wall clock is unreliable; one that is behind the last process until it is confirmed
_UNRELIABLE_MS: Final = 60_000


def now_ms() -> int:
    """Milliseconds since 1970, by the wall clock."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds since an arbitrary point in time; unlike the wall clock it is never set."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment by three clocks."""

    # can be wrong by hours, and can be set at any time
    wall_ms: int
    # the time in which looks were taken, over all restarts
    steady_ms: int
    # the time by which things expire: never ahead of what the monotonic clock confirms, nor of the wall clock
    expiry_ms: int
    # size of a recent jump of the wall clock, 0: none
    jumped_ms: int = 0


class LookClock:
    """The time of each look of one process, from the readings of both clocks.

    The steady clock continues from the last process. The expiry clock does so too and catches up with the wall clock,
    once, when that has run without a jump for ten minutes: a machine whose clock is wrong at boot expires nothing, a
    downtime of days counts ten minutes later. While it is ahead of the wall clock that one counts: the time may have
    been wrong before, and an expiry clock that stayed ahead would drop every new commit.
    """

    def __init__(self, last: Moment | None) -> None:
        """`last` is the moment of the last look before this process; None: there was none."""
        self._last = last
        # the wall clock at the last look of the last process
        self._before_ms = 0 if last is None else last.wall_ms
        # the expiry clock before it is held back to the wall clock
        self._expiry_ms = 0
        # readings at the last look of this process
        self._wall_ms = self._monotonic_ms = 0
        # by the monotonic clock: since when the wall clock has not jumped, None before the first look
        self._even_since_ms: int | None = None
        self._confirmed = False
        self._jumped_ms, self._jumped_at_ms = 0, 0

    def look(self, wall_ms: int, monotonic_ms: int) -> Moment:
        """The moment of a look that is taken now."""
        if self._even_since_ms is None:
            passed_ms = 0
            self._expiry_ms = wall_ms if self._last is None else self._last.expiry_ms
            self._even_since_ms = monotonic_ms
        else:
            passed_ms = monotonic_ms - self._monotonic_ms
            jump_ms = wall_ms - self._wall_ms - passed_ms
            if abs(jump_ms) > _DRIFT_MS:
                self._jumped_ms, self._jumped_at_ms = jump_ms, monotonic_ms
                self._even_since_ms = monotonic_ms
        behind_ms = self._before_ms - wall_ms
        if behind_ms > _DRIFT_MS and monotonic_ms - self._even_since_ms < _CONFIRMED_MS:
            # this clock is wrong, or that of the last process was
            self._jumped_ms, self._jumped_at_ms = -behind_ms, monotonic_ms
        if self._jumped_ms and monotonic_ms - self._jumped_at_ms > _UNRELIABLE_MS:
            self._jumped_ms = 0
        self._wall_ms, self._monotonic_ms = wall_ms, monotonic_ms
        last = self._last or Moment(wall_ms, wall_ms, wall_ms)
        self._expiry_ms += passed_ms
        if not self._confirmed and monotonic_ms - self._even_since_ms >= _CONFIRMED_MS:
            self._expiry_ms, self._confirmed = max(self._expiry_ms, wall_ms), True
        expiry_ms = min(self._expiry_ms, wall_ms)
        self._last = Moment(wall_ms, last.steady_ms + passed_ms, expiry_ms, self._jumped_ms)
        return self._last


def jump_message(jumped_ms: int) -> str:
    """The error message for a clock jump; empty without one."""
    if not jumped_ms:
        return ""
    way = "forward" if jumped_ms > 0 else "back"
    return (
        f"The clock of this machine was set {way} by {abs(jumped_ms) // 1000} s: "
        "statuses are unreliable for a while. Is it synchronised with a time server?"
    )


def back_off_s(steps_s: Sequence[float], failures: int) -> float:
    """Seconds to wait after so many failures in a row, one at least: the last step is repeated."""
    return steps_s[min(failures, len(steps_s)) - 1]
