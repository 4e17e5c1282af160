"""Which groups go because the brokers do not know them, and which do not."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import cast

import pytest

from warren.cluster.reaper import Reaper
from warren.kafka.brokers import Brokers, Limit, UnreachableError

WATCHED = ["a", "b"]


@dataclass
class Listing:
    """Brokers that list these groups, one list after the other; None: one of them does not answer."""

    lists: list[set[str] | None]
    # groups that they have offsets of; "?": they do not say
    offsets: set[str] = field(default_factory=set)

    def groups(self, limit: Limit) -> set[str]:
        found = self.lists.pop(0)
        if found is None:
            raise UnreachableError("no answer")
        return found

    def has_offsets(self, group: str, limit: Limit) -> bool:
        if "?" in self.offsets:
            raise UnreachableError("not authorized")
        return group in self.offsets


CASES: list[tuple[str, list[set[str] | None], set[str], list[str]]] = [
    ("missing twice in a row", [{"a"}, {"a"}], set(), ["b"]),
    ("missing once", [{"a"}, {"a", "b"}], set(), []),
    ("missing twice, not in a row", [{"a"}, {"a", "b"}, {"a"}], set(), []),
    ("an empty list", [set(), set(), set()], set(), []),
    ("an empty list in between", [{"a"}, set(), {"a"}], set(), []),
    ("a broker that does not answer", [None, None, None], set(), []),
    ("a broker that does not answer in between", [{"a"}, None, {"a"}], set(), []),
    ("in no list, but with offsets", [{"a"}, {"a"}, {"a"}], {"b"}, []),
    ("in no list, and hidden from us", [{"a"}, {"a"}, {"a"}], {"?"}, []),
    ("all others", [{"c"}, {"c"}], set(), ["a", "b"]),
]


@pytest.mark.parametrize(
    ("lists", "offsets", "gone"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_group_goes_when_the_brokers_do_not_know_it(
    lists: list[set[str] | None], offsets: set[str], gone: list[str]
) -> None:
    removed: list[str] = []
    told: list[str] = []
    brokers = Listing(list(lists), offsets)
    watched = lambda: [g for g in WATCHED if g not in removed]  # noqa: E731
    reaper = Reaper("local", lambda: cast("Brokers", brokers), watched, removed.append, told.append)

    class Looks(threading.Event):
        """Time for as many looks as there are lists."""

        def wait(self, timeout: float | None = None) -> bool:
            assert timeout == 7
            return not brokers.lists

    reaper.run(7, Looks())

    assert removed == gone
    assert [bool(each) for each in told] == [
        each is None or ("?" in offsets and number > 0) for number, each in enumerate(lists)
    ]


def test_a_full_disk_ended_the_comparison_for_good() -> None:
    brokers = Listing([{"a"}] * 4)
    removed: list[str] = []
    told: list[str] = []

    class Looks(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return not brokers.lists

    def remove(group: str) -> None:
        if not any(told):
            raise OSError(28, "No space left on device")
        removed.append(group)

    reaper = Reaper("local", lambda: cast("Brokers", brokers), lambda: WATCHED, remove, told.append)
    reaper.run(7, Looks())
    # after an error it has to be missing twice again
    assert removed == ["b"]
    assert [("No space" in each) for each in told] == [False, True, False, False]


def test_a_client_that_could_not_be_made_stopped_the_start_of_all_clusters() -> None:
    """Its certificate was not there yet, for example."""
    brokers = Listing([{"a"}] * 2)
    attempts = [OSError(2, "No such file or directory"), OSError(2, "No such file or directory")]
    removed: list[str] = []
    told: list[str] = []

    def connect() -> Brokers:
        if attempts:
            raise attempts.pop()
        return cast("Brokers", brokers)

    class Looks(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return not brokers.lists

    reaper = Reaper("local", connect, lambda: WATCHED, removed.append, told.append)
    reaper.run(7, Looks())
    assert removed == ["b"]
    assert [("No such file" in each) for each in told] == [True, True, False, False]
