"""So many requests a second."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warren.httpserver import limits
from warren.httpserver.limits import RateLimit


def test_as_many_at_once_as_in_a_second_then_one_by_one() -> None:
    limit = RateLimit(3)
    assert [limit.admits("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert not limit.admits("a", 0.3)
    assert limit.admits("a", 0.34)
    assert not limit.admits("a", 0.35)


def test_a_pause_gives_no_more_than_a_second_of_it() -> None:
    limit = RateLimit(2)
    assert [limit.admits("a", now) for now in (0.0, 1000.0, 1000.0, 1000.0)] == [True, True, True, False]


def test_clients_are_apart() -> None:
    limit = RateLimit(1)
    assert [limit.admits(client, 0.0) for client in "aabb"] == [True, False, True, False]


def test_no_limit() -> None:
    limit = RateLimit(0)
    assert all(limit.admits("a", 0.0) for _ in range(1000))


def test_only_so_many_clients_are_remembered() -> None:
    limit = RateLimit(1)
    for number in range(3 * limits._CLIENTS):
        limit.admits(str(number), 0.0)
    assert len(limit._left) == limits._CLIENTS


@given(st.lists(st.floats(0, 10), max_size=200), st.integers(1, 5))
def test_never_more_than_the_rate_allows(times: list[float], rate: int) -> None:
    limit = RateLimit(rate)
    admitted = [now for now in sorted(times) if limit.admits("a", now)]
    for at, begin in enumerate(admitted):
        for many, end in enumerate(admitted[at:], 1):
            assert many <= rate + (end - begin) * rate + 1e-6
