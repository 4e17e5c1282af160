"""When an undelivered message is retried, and when it has failed."""

from __future__ import annotations

from typing import Final

# seconds before the second, third, … attempt: some eight minutes in all, long enough for a receiver's restart
BACKOFF_S: Final = (1, 2, 5, 15, 60, 120, 300)
MOST_ATTEMPTS: Final = len(BACKOFF_S) + 1
# limit of a receiver's Retry-After
MOST_ASKED_S: Final = 600
# so that messages which failed together are not retried together
JITTER: Final = 0.2


def next_attempt_ms(
    attempt: int, failed_at_ms: int, jitter: float, retry_after_s: float | None = None
) -> int | None:
    """When to retry after that attempt (the first is 1) failed; None: no more retries.

    `jitter` is a random number from 0 to 1, `retry_after_s` the receiver's Retry-After (DeliveryError.wait_s).
    """
    if attempt >= MOST_ATTEMPTS:
        return None
    own_ms = BACKOFF_S[max(attempt, 1) - 1] * 1000 * (1 - JITTER + 2 * JITTER * jitter)
    # a Retry-After is never shortened, only extended by jitter
    asked_ms = min(max(retry_after_s or 0.0, 0.0), MOST_ASKED_S) * 1000 * (1 + JITTER * jitter)
    return failed_at_ms + round(max(own_ms, asked_ms))


def wait_ms(attempt: int, failed_at_ms: int, now_ms: int) -> int:
    """The rest of the wait after an attempt by an earlier process, whose clock may have differed."""
    whole = next_attempt_ms(attempt, 0, 0.5) or 0
    passed = max(0, now_ms - failed_at_ms)
    return max(0, whole - passed)
