"""When a message that was not taken is tried again, and when it is given up."""

from __future__ import annotations

from typing import Final

# seconds before the second, third, … attempt: some eight minutes in all, long enough for a receiver's restart
WAITS_S: Final = (1, 2, 5, 15, 60, 120, 300)
MOST_ATTEMPTS: Final = len(WAITS_S) + 1
# a receiver may ask for more patience, but not for more than this
MOST_ASKED_S: Final = 600
# so that messages which failed together do not come back together
JITTER: Final = 0.2


def next_attempt_ms(
    attempt: int, failed_at_ms: int, jitter: float, asked_s: float | None = None
) -> int | None:
    """When to try again after that attempt (the first is 1) failed; None: give up.

    `jitter` is a random number from 0 to 1, `asked_s` what the other side asked for (DeliveryError.wait_s).
    """
    if attempt >= MOST_ATTEMPTS:
        return None
    own_ms = WAITS_S[max(attempt, 1) - 1] * 1000 * (1 - JITTER + 2 * JITTER * jitter)
    # what was asked for is never cut short, only spread behind it
    asked_ms = min(max(asked_s or 0.0, 0.0), MOST_ASKED_S) * 1000 * (1 + JITTER * jitter)
    return failed_at_ms + round(max(own_ms, asked_ms))


def wait_ms(attempt: int, failed_at_ms: int, now_ms: int) -> int:
    """What is left of the wait after an attempt by an earlier process, whose clock may have been another one."""
    whole = next_attempt_ms(attempt, 0, 0.5) or 0
    passed = max(0, now_ms - failed_at_ms)
    return max(0, whole - passed)
