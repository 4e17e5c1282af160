"""Whom a connection is counted for."""

from __future__ import annotations

import resource

import pytest

from warren import descriptors
from warren.httpserver.connections import Connections, within_descriptors


class Held:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("::1", "::1", True),
    ],
)
def test_which_addresses_are_one_client(first: str, second: str, same: bool) -> None:
    connections = Connections(10, 1)
    assert connections.enter(Held(), first)
    assert connections.enter(Held(), second) is not same


def test_the_oldest_of_the_reserve_has_to_go() -> None:
    connections = Connections(1, 1, reserve=2)
    held = [Held() for _ in range(4)]
    assert [connections.enter(each, "10.0.0.1") for each in held] == [True, False, False, False]
    assert [each.aborted for each in held] == [False, True, False, False]
    for each in held:
        connections.leave(each)
        connections.leave(each)
    assert len(connections) == 0
    assert connections.enter(Held(), "10.0.0.1")


def test_connections_take_at_most_half_of_the_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"nofile": (512, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["nofile"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.update(nofile=new))
    assert within_descriptors(1000, 1) == 240
    assert within_descriptors(1000, 2) == 112
    assert within_descriptors(50, 2) == 50
    assert descriptors.raise_limit() == 4096
    assert within_descriptors(1000, 1) == 1000
