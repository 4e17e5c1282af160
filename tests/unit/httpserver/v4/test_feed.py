"""What changed since a snapshot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.httpserver.memory import MemoryAnswers

from warren.common.status import Status
from warren.httpserver.v4 import feed as feeds
from warren.httpserver.v4.feed import ChangeSet, Feed, History
from warren.httpserver.v4.parameters import cursor, read_version, version
from warren.snapshot.tables import GroupTable


class Line(NamedTuple):
    """One row of a table of groups."""

    group: str
    status: Status
    complete: float
    partition_count: int
    totallag: int
    maxlag: int
    last_commit: int


@dataclass(frozen=True)
class Lines:
    """A snapshot that has nothing but one line per group."""

    number: int
    lines: tuple[Line, ...] = ()
    taken_at_ms: int = 0
    as_of_ms: int = 0
    name: str = "local"

    def group_table(self) -> GroupTable:
        names, *columns = zip(*self.lines, strict=True) if self.lines else [()] * 7
        return GroupTable(names, *map(np.array, columns))


def line(group: str, status: Status = Status.OK, lag: int = 0) -> Line:
    return Line(group, status, 1.0, 1, lag, lag, 0)


def snapshot(number: int, *lines: Line, at: int = 0) -> Lines:
    # at a moment at which a first snapshot has the plain number for a cursor
    return Lines(number, tuple(sorted(lines, key=lambda each: each.group)), at or number * 1_000_000)


def history(*snapshots: Lines) -> History:
    first, *rest = snapshots
    found = History.started(first)  # type: ignore[arg-type]
    for each in rest:
        found = found.with_snapshot(each)  # type: ignore[arg-type]
    return found


def names(found: History, changes_since: ChangeSet) -> list[str]:
    return [found.table.names[row] for row in changes_since.rows.tolist()]


def test_only_groups_that_changed_are_told() -> None:
    found = history(
        snapshot(5, line("a"), line("b"), line("c")),
        snapshot(6, line("a"), line("b", lag=3), line("c")),
        snapshot(7, line("a"), line("b", lag=3), line("c", Status.ERR)),
    )
    told = {since: names(found, found.since(version(since), only_status=False)) for since in (5, 6, 7)}
    assert told == {5: ["b", "c"], 6: ["c"], 7: []}
    assert names(found, found.since(version(5), only_status=True)) == ["c"]
    assert not found.since(version(5), only_status=False).complete


def test_groups_that_come_and_go() -> None:
    found = history(
        snapshot(1, line("a"), line("b")),
        snapshot(2, line("b"), line("c")),
        snapshot(3, line("b")),
        snapshot(4, line("a"), line("b")),
    )
    first = found.since(version(1), only_status=True)
    # it went and came back: as it is now is all that counts
    assert (names(found, first), first.removed) == (["a"], ["c"])
    second = found.since(version(2), only_status=False)
    assert (names(found, second), second.removed) == (["a"], ["c"])
    third = found.since(version(3), only_status=False)
    assert (names(found, third), third.removed) == (["a"], [])


@pytest.mark.parametrize("since", [None, 4, 9], ids=["nothing known", "before the start", "of the future"])
def test_who_knows_too_little_is_told_everything(since: int | None) -> None:
    found = history(snapshot(5, line("a")), snapshot(6, line("a"), line("b")))
    changes_since = found.since(None if since is None else version(since), only_status=True)
    assert changes_since.complete
    assert names(found, changes_since) == ["a", "b"]


def test_a_deletion_between_two_triggers_is_told_at_once() -> None:
    """The snapshot is made anew without the group, under the same number."""
    found = history(snapshot(5, line("a"), line("b")), snapshot(5, line("b")), snapshot(5, line("b")))
    changes_since = found.since(version(5), only_status=True)
    assert changes_since.removed == ["a"]
    assert found.since(changes_since.position, only_status=True).empty
    assert cursor(changes_since.position) == "5.2"
    later = found.with_snapshot(snapshot(6, line("b")))  # type: ignore[arg-type]
    assert cursor(later.position) == "6"
    assert later.since(changes_since.position, only_status=False).empty


def test_a_number_that_the_process_before_had_published_too_is_another_snapshot() -> None:
    """It was stopped after the publication, before Spark had noted the trigger: the next begins with the same."""
    before = history(snapshot(4, line("a"), at=41_000), snapshot(5, line("a"), at=42_000))
    first = history(snapshot(5, line("a", Status.ERR), at=61_000))
    assert first.since(before.position, only_status=False).complete
    # and if that one ends as soon
    second = history(snapshot(5, line("a"), at=81_000))
    assert second.since(first.position, only_status=False).complete
    assert second.since(second.position, only_status=False).empty
    assert cursor(second.with_snapshot(snapshot(6, line("a"))).position) == "6"  # type: ignore[arg-type]


def test_deletions_in_the_first_snapshot_do_not_reach_the_next_number() -> None:
    last = feeds._FIRST_REVISIONS - 1
    found = history(snapshot(5, line("a"), line("b"), at=last), snapshot(5, line("b")))
    assert cursor(found.position) == f"5.{last + 1}"
    later = found.with_snapshot(snapshot(6, line("b", Status.ERR)))  # type: ignore[arg-type]
    assert names(later, later.since(found.position, only_status=False)) == ["b"]


def test_numbers_that_begin_again_begin_a_new_history() -> None:
    found = history(snapshot(5, line("a")), snapshot(0, line("b")))
    assert found.since(version(5), only_status=False).complete
    assert found.since(version(0), only_status=False).empty


def test_all_groups_gone_and_back() -> None:
    found = history(snapshot(1, line("a")), snapshot(2))
    assert found.since(version(1), only_status=False).removed == ["a"]
    found = found.with_snapshot(snapshot(3, line("a")))  # type: ignore[arg-type]
    assert names(found, found.since(version(2), only_status=False)) == ["a"]


def test_when_a_status_began() -> None:
    found = history(
        snapshot(1, line("a"), line("b")),
        snapshot(2, line("a", Status.WARN), line("b", lag=1), line("c")),
        snapshot(3, line("a", Status.WARN, 7), line("b", lag=2), line("c")),
    )
    assert found.status_since.tolist() == [2_000_000, 0, 2_000_000]


def test_only_so_many_removed_groups_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_REMOVED", 1)
    found = history(snapshot(1, line("a"), line("b")), snapshot(2, line("b")), snapshot(3))
    assert found.since(version(2), only_status=False).removed == ["b"]
    # of what went in 2 nothing is known any more
    assert found.since(version(1), only_status=False).complete


GROUPS = st.dictionaries(
    st.sampled_from("abcd"),
    st.tuples(st.sampled_from((Status.OK, Status.ERR)), st.integers(0, 1)),
    max_size=4,
)


@given(st.lists(st.tuples(GROUPS, st.booleans()), min_size=2, max_size=8), st.data())
def test_whoever_follows_the_changes_knows_what_is(
    moments: list[tuple[dict[str, tuple[Status, int]], bool]], data: st.DataObject
) -> None:
    """A client that asks now and then, and applies what it is told, always has the groups as they are."""
    number = 3
    known: dict[str, tuple[Status, int]] = {}
    position: int | None = None
    found: History | None = None
    for groups, same_number in moments:
        number += not same_number
        taken = snapshot(number, *(line(name, *state) for name, state in groups.items()))
        found = history(taken) if found is None else found.with_snapshot(taken)  # type: ignore[arg-type]
        if data.draw(st.booleans()):
            continue
        changes_since = found.since(position, only_status=False)
        if changes_since.complete:
            known = {}
        for row in changes_since.rows.tolist():
            known[found.table.names[row]] = Status(found.table.status[row]), int(found.table.totallag[row])
        for name in changes_since.removed:
            known.pop(name, None)
        position = read_version(cursor(changes_since.position))
        assert known == groups


def test_waiting_ends_with_the_first_change() -> None:
    answers = MemoryAnswers(snapshots={"local": snapshot(1, line("a"))})  # type: ignore[dict-item]
    feed = Feed(answers)

    async def follow() -> tuple[History, ChangeSet] | None:
        watching = asyncio.ensure_future(feed.watch())
        waiting = asyncio.ensure_future(feed.changes_since("local", version(1), 60, only_status=True))
        await asyncio.sleep(0.01)
        answers.snapshots["local"] = snapshot(2, line("a", lag=9))  # type: ignore[assignment]
        await asyncio.sleep(0.25)
        assert not waiting.done()
        answers.snapshots["local"] = snapshot(3, line("a", Status.ERR))  # type: ignore[assignment]
        try:
            return await waiting
        finally:
            watching.cancel()

    told = asyncio.run(asyncio.wait_for(follow(), 10))
    assert told is not None
    assert names(*told) == ["a"]
    assert told[1].position == version(3)


def test_waiting_ends_when_the_time_is_up_and_when_the_server_stops() -> None:
    answers = MemoryAnswers(snapshots={"local": snapshot(1, line("a"))})  # type: ignore[dict-item]

    async def waited(feed: Feed, seconds: float) -> ChangeSet:
        told = await feed.changes_since("local", version(1), seconds, only_status=False)
        assert told is not None
        return told[1]

    async def stopped() -> ChangeSet:
        feed = Feed(answers)
        watching = asyncio.ensure_future(feed.watch())
        waiting = asyncio.ensure_future(waited(feed, 60))
        await asyncio.sleep(0.01)
        feed.close()
        await watching
        return await waiting

    assert asyncio.run(waited(Feed(answers), 0.01)).empty
    assert asyncio.run(asyncio.wait_for(stopped(), 10)).empty


def test_a_snapshot_is_taken_once() -> None:
    first = snapshot(1, line("a"))
    answers = MemoryAnswers(snapshots={"local": first})  # type: ignore[dict-item]
    feed = Feed(answers)
    assert feed.history("local") is feed.history("local")
    answers.snapshots["local"] = replace(first)  # type: ignore[assignment]
    later = feed.history("local")
    assert later is not None
    assert later.position == version(1, 1)
    assert feed.history("nosuch") is None
