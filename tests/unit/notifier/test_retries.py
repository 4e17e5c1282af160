"""When a message is tried again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warren.notifier.retries import BACKOFF_S, MOST_ASKED_S, MOST_ATTEMPTS, next_attempt_ms

NOW_MS = 1_794_730_246_461
# in the middle of its range the jitter changes nothing
CALM = 0.5
jitters = st.floats(min_value=0, max_value=1)
attempts = st.integers(min_value=1, max_value=MOST_ATTEMPTS - 1)


def wait_s(attempt: int, jitter: float = CALM, retry_after_s: float | None = None) -> float:
    at_ms = next_attempt_ms(attempt, NOW_MS, jitter, retry_after_s)
    assert at_ms is not None
    return (at_ms - NOW_MS) / 1000


def test_waits_grow_and_then_it_is_given_up() -> None:
    waits = [wait_s(attempt) for attempt in range(1, MOST_ATTEMPTS)]
    assert waits == list(BACKOFF_S)
    assert all(before < after for before, after in pairwise(waits))
    assert next_attempt_ms(MOST_ATTEMPTS, NOW_MS, CALM) is None
    assert next_attempt_ms(MOST_ATTEMPTS + 5, NOW_MS, CALM) is None


def test_a_message_is_given_up_within_a_quarter_of_an_hour() -> None:
    assert sum(wait_s(attempt, jitter=1) for attempt in range(1, MOST_ATTEMPTS)) < 15 * 60


@settings(deadline=None)
@given(attempts, jitters)
def test_the_jitter_is_a_fifth_to_either_side(attempt: int, jitter: float) -> None:
    assert 0.8 * BACKOFF_S[attempt - 1] - 0.001 <= wait_s(attempt, jitter)
    assert wait_s(attempt, jitter) <= 1.2 * BACKOFF_S[attempt - 1] + 0.001


@settings(deadline=None)
@given(attempts, jitters, st.floats(min_value=0, max_value=MOST_ASKED_S))
def test_nobody_is_asked_again_before_the_time_they_named(attempt: int, jitter: float, asked: float) -> None:
    assert wait_s(attempt, jitter, asked) >= asked - 0.001


@pytest.mark.parametrize("retry_after_s", [MOST_ASKED_S + 1, 10**9, float("inf")])
def test_nobody_can_ask_for_more_than_ten_minutes(retry_after_s: float) -> None:
    assert wait_s(1, jitter=1, retry_after_s=retry_after_s) <= MOST_ASKED_S * 1.2


@pytest.mark.parametrize("retry_after_s", [None, 0.0, -5.0])
def test_without_a_wish_the_own_wait_holds(retry_after_s: float | None) -> None:
    assert wait_s(3, retry_after_s=retry_after_s) == BACKOFF_S[2]


def test_a_wish_does_not_give_a_further_attempt() -> None:
    assert next_attempt_ms(MOST_ATTEMPTS, NOW_MS, CALM, 5.0) is None
