"""How long a receiver asks to be left alone."""

from __future__ import annotations

import email.utils
import time

import httpx
import pytest

from warren.notifier.senders.http_client import _retry_after_s


@pytest.mark.parametrize("ahead_s", [0, 3 * 3600, -3 * 3600])
def test_a_wait_until_a_date_is_counted_by_the_receivers_clock(ahead_s: int) -> None:
    now_s = time.time() + ahead_s
    dates = [email.utils.formatdate(now_s + more, usegmt=True) for more in (0, 120)]
    assert _retry_after_s(httpx.Headers({"Date": dates[0], "Retry-After": dates[1]})) == 120.0


def test_a_wait_that_is_over_is_none() -> None:
    past = email.utils.formatdate(0, usegmt=True)
    assert _retry_after_s(httpx.Headers({"Retry-After": past})) == 0.0
    assert _retry_after_s(httpx.Headers({"Retry-After": "soon"})) is None
