"""Rate limits per client."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

# clients kept; the one with the oldest request is dropped first
_CLIENTS: Final = 10_000


class RateLimit:
    """A token bucket per client: so many requests a second, and as many at once after a pause."""

    def __init__(self, per_second: int) -> None:
        """0: no limit."""
        self._per_second = per_second
        # client: (requests that it may still make, when that was counted)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, client: str, now_s: float) -> bool:
        """Whether one more request is allowed; counts it if so."""
        if not self._per_second:
            return True
        left, counted = self._left.pop(client, (float(self._per_second), now_s))
        left = min(left + (now_s - counted) * self._per_second, float(self._per_second))
        allowed = left >= 1
        self._left[client] = (left - allowed, now_s)
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return allowed
