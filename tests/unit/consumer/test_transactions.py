"""What comes after an open transaction waits for its end, within a bound."""

from __future__ import annotations

from warren.consumer.plan import LogEnds, Position, Range, advance, first_position, ranges
from warren.consumer.transactions import OpenTransactions

START = Position((3, 5), (0, 0), live=True, as_of_ms=900)


def look(stable: int, end: int, at_ms: int, *, overdue: bool = False) -> LogEnds:
    """The second partition has a transaction that is open, from `stable` on; the first ends at 4."""
    return LogEnds((0, 0), (4, end), at_ms, at_ms, "", (4, stable), frozenset({1} if overdue else ()))


def test_what_comes_after_it_is_left_for_later() -> None:
    held = advance(START, look(6, 9, 1_000), limit=100)
    assert ranges(START, held) == [Range(0, 3, 4, 0), Range(1, 5, 6, 0)]
    assert (held.live, held.as_of_ms, held.left) == (False, 900, 0)


def test_groups_are_judged_as_of_the_last_moment_that_was_read_completely() -> None:
    held = advance(START, look(6, 9, 1_000), limit=100)
    # others have been opened since: there may always be one
    later = advance(held, look(9, 12, 2_000), limit=100)
    assert (later.live, later.as_of_ms) == (False, 1_000)
    ended = advance(later, look(14, 14, 3_000), limit=100)
    assert ranges(later, ended) == [Range(1, 9, 14, 0)]
    assert (ended.live, ended.as_of_ms) == (True, 3_000)


def test_one_that_is_overdue_is_read_past() -> None:
    # what is certain comes first
    first = advance(START, look(6, 9, 1_000, overdue=True), limit=100)
    assert ranges(START, first)[1] == Range(1, 5, 6, 0)
    past = advance(first, look(6, 9, 2_000, overdue=True), limit=100)
    assert ranges(first, past) == [Range(1, 6, 9, 0, committed=False)]
    assert (past.live, past.as_of_ms) == (True, 2_000)


def test_once_past_it_there_is_no_way_back_until_it_has_ended() -> None:
    first = advance(START, look(6, 9, 1_000, overdue=True), limit=100)
    past = advance(first, look(6, 9, 2_000, overdue=True), limit=100)
    more = advance(past, look(6, 12, 3_000), limit=100)
    assert ranges(past, more) == [Range(1, 9, 12, 0, committed=False)]
    assert Position.from_offset(more.to_offset()) == more
    ended = advance(more, look(14, 14, 4_000), limit=100)
    assert ranges(more, ended) == [Range(1, 12, 14, 0)]
    silent = more.without_answer("no answer")
    assert ranges(silent, advance(silent, look(14, 14, 4_000), limit=100)) == [Range(1, 12, 14, 0)]


def test_a_start_at_the_latest_record_begins_where_it_begins() -> None:
    position = first_position(look(6, 9, 1_000), start_latest=True, backfill=False)
    assert position.next == (4, 6)


def test_one_that_ended_between_the_two_questions_is_none() -> None:
    done = advance(START, look(11, 9, 1_000), limit=100)
    assert ranges(START, done) == [Range(0, 3, 4, 0), Range(1, 5, 9, 0)]
    assert done.live


def test_it_is_overdue_when_it_has_stood_still_for_too_long() -> None:
    now = [0.0]
    transactions = OpenTransactions(90, lambda: now[0])
    looks: list[tuple[float, int | None, int | None, bool]] = [
        (0, 6, 9, False),
        (80, 6, 20, False),
        # no answer
        (85, None, None, False),
        (91, 6, 20, True),
        # that one has ended, and the next is open
        (95, 15, 20, False),
        (190, 15, 20, True),
        (200, 20, 20, False),
        (300, 20, 21, False),
    ]
    for at, stable, end, overdue in looks:
        now[0] = at
        assert bool(transactions.overdue([stable], [end])) is overdue, at
