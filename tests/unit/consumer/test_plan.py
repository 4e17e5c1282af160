"""Planning: what is read is fixed, complete and read once, whatever the topic does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.consumer.plan import (
    NOT_THERE,
    LogEnds,
    Position,
    Range,
    advance,
    assigned,
    first_position,
    has_read,
    ranges,
)


def ends(*end: int | None, start: tuple[int | None, ...] | None = None, at: int = 1_000) -> LogEnds:
    return LogEnds(start or (0,) * len(end), end, at - 10, at)


class TestFirstPosition:
    def test_from_the_earliest_record(self) -> None:
        position = first_position(ends(5, 9, start=(2, 0)), start_latest=False, backfill=False)
        assert (position.next, position.back, position.live) == ((2, 0), (), False)

    def test_from_the_latest(self) -> None:
        position = first_position(ends(5, 9, start=(2, 0)), start_latest=True, backfill=False)
        assert (position.next, position.back, position.live) == ((5, 9), (), True)

    def test_from_the_latest_with_history_afterwards(self) -> None:
        position = first_position(ends(5, 9, start=(2, 0)), start_latest=True, backfill=True)
        assert (position.next, position.back) == ((5, 9), ((2, 5), (0, 9)))

    def test_a_topic_that_is_not_there_yet(self) -> None:
        position = first_position(ends(), start_latest=True, backfill=True)
        later = advance(position, ends(3, 0), limit=100)
        assert ranges(position, later) == [Range(0, 0, 3, 0)]


class TestABeginningThatIsAskedForTwice:
    """A start that ends before its first trigger: the plan stays, and Spark asks anew where the beginning is."""

    def test_a_topic_that_was_not_there_when_it_was_planned(self) -> None:
        planned = advance(first_position(ends(), start_latest=False, backfill=False), ends(), limit=100)
        again = first_position(ends(5, 9), start_latest=False, backfill=False)
        assert ranges(again, planned) == []
        assert ranges(planned, advance(planned, ends(5, 9), limit=100)) == [
            Range(0, 0, 5, 0),
            Range(1, 0, 9, 0),
        ]

    @pytest.mark.parametrize("before", [(), (4, 4)])
    def test_what_was_written_since_the_first_start_is_read(self, before: tuple[int, ...]) -> None:
        first = first_position(ends(*before), start_latest=True, backfill=False)
        planned = advance(first, ends(5, 9), limit=100)
        again = first_position(ends(20, 20), start_latest=True, backfill=False)
        assert ranges(again, planned) == ranges(first, planned)
        assert ranges(planned, advance(planned, ends(6, 9), limit=100)) == [Range(0, 5, 6, 0)]


class TestAdvance:
    def test_everything_when_it_is_little(self) -> None:
        start = Position((0, 5), (0, 0))
        end = advance(start, ends(10, 5), limit=100)
        assert ranges(start, end) == [Range(0, 0, 10, 0)]
        assert (end.live, end.left, end.at_ms, end.asked_ms) == (True, 0, 1_000, 990)

    def test_a_share_of_each_when_it_is_much(self) -> None:
        start = Position((0, 0), (0, 0))
        end = advance(start, ends(900, 100), limit=100)
        assert end.next == (90, 10)
        assert (end.live, end.left) == (False, 900)

    def test_the_present_before_history(self) -> None:
        start = Position((5, 9), (0, 0), ((2, 5), (0, 9)))
        middle = advance(start, ends(15, 9), limit=14)
        assert ranges(start, middle) == [Range(0, 5, 15, 0), Range(0, 2, 3, 0), Range(1, 0, 3, 0)]
        end = advance(middle, ends(15, 9), limit=100)
        assert ranges(middle, end) == [Range(0, 3, 5, 0), Range(1, 3, 9, 0)]
        assert end.back == ()
        assert ranges(end, advance(end, ends(15, 9), limit=100)) == []

    def test_a_partition_without_leader_waits(self) -> None:
        start = Position((3, 5), (0, 0))
        end = advance(start, ends(None, 7), limit=100)
        assert ranges(start, end) == [Range(1, 5, 7, 0)]
        assert end.next == (3, 7)

    def test_new_partitions_are_read_from_their_beginning_and_order_goes_on_upwards(self) -> None:
        start = Position((100, 50), (0, 0))
        end = advance(start, ends(120, 50, 4), limit=1_000)
        assert ranges(start, end) == [Range(0, 100, 120, 0), Range(2, 0, 4, 120)]
        later = advance(end, ends(120, 50, 6), limit=1_000)
        assert ranges(end, later) == [Range(2, 4, 6, 120)]

    def test_a_topic_made_anew_is_read_from_its_beginning_and_order_goes_on_upwards(self) -> None:
        start = Position((100, 50), (0, 7))
        end = advance(start, ends(3, 50), limit=1_000)
        assert ranges(start, end) == [Range(0, 0, 3, 100)]

    def test_a_bad_moment_keeps_the_position_and_says_why(self) -> None:
        start = Position((1,), (0,), live=True)
        end = start.without_answer("no answer")
        assert ranges(start, end) == []
        assert (end.next, end.live, end.error) == ((1,), False, "no answer")
        assert advance(end, ends(2), limit=10).error == ""


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[LogEnds], int]:
    """A topic that grows in records and in partitions, with leaders that come and go."""
    sizes = [draw(st.integers(0, 50)) for _ in range(draw(st.integers(1, 3)))]
    seen = []
    for step in range(draw(st.integers(1, 8))):
        sizes = [size + draw(st.integers(0, 40)) for size in sizes]
        sizes += [draw(st.integers(0, 20)) for _ in range(draw(st.integers(0, 1)))]
        seen.append(ends(*(None if draw(st.booleans()) and step else size for size in sizes), at=step + 1))
    seen.append(ends(*sizes, at=99))
    return seen, draw(st.integers(1, 60))


@given(histories())
def test_every_record_is_read_once(history: tuple[list[LogEnds], int]) -> None:
    seen, limit = history
    read: list[tuple[int, int]] = []
    position = first_position(seen[0], start_latest=False, backfill=False)
    for look in [*seen, *[seen[-1]] * 500]:
        # as Spark does: what is kept is the offset's text
        following = Position.from_offset(advance(position, look, limit).to_offset())
        read += [
            (part.partition, at) for part in ranges(position, following) for at in range(part.begin, part.end)
        ]
        position = following
        if position.live and look is seen[-1]:
            break
    last = seen[-1].end
    assert sorted(read) == [(number, at) for number, end in enumerate(last) for at in range(end or 0)]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 1000)), max_size=60), st.integers(1, 8))
def test_hands_share_the_work(sizes: list[tuple[int, int]], tasks: int) -> None:
    found = [Range(partition, 0, size, 0) for partition, size in sizes]
    read_tasks = assigned(found, tasks)
    assert sorted((each for read_task in read_tasks for each in read_task), key=repr) == sorted(
        found, key=repr
    )
    loads = sorted(sum(each.end for each in read_task) for read_task in read_tasks)
    if len(read_tasks) == tasks and loads:
        assert loads[-1] - loads[0] <= max(size for _, size in sizes)


@pytest.mark.parametrize(
    "position",
    [
        Position(),
        Position((1, 2), (0, 0), (), 5, 6, True, 7, "why, indeed"),
        Position((1, 2), (0, 9), ((0, 4), (3, 3)), topic_id="one", begin=(0, 1), grown=True),
        Position((1,), (0,), reads=3, as_of_ms=5, goal=(7, 8), goal_ms=6, silent=True),
    ],
)
def test_a_position_survives_its_text(position: Position) -> None:
    assert Position.from_offset(position.to_offset()) == position


class TestTopicsThatChange:
    def test_a_topic_made_anew_is_known_by_its_id_even_where_it_has_outgrown_the_old_one(self) -> None:
        start = Position((100, 50), (0, 0), topic_id="old")
        end = advance(start, replace(ends(300, 50, 2), topic_id="new"), limit=1_000)
        assert ranges(start, end) == [Range(0, 0, 300, 300), Range(1, 0, 50, 300), Range(2, 0, 2, 600)]
        later = advance(end, replace(ends(301, 50, 2), topic_id="new"), limit=1_000)
        assert ranges(end, later)[0] == Range(0, 300, 301, later.shift[0])

    def test_a_topic_made_anew_may_have_fewer_partitions(self) -> None:
        start = Position((100, 50, 9), (0, 0, 0), topic_id="old")
        end = advance(start, replace(ends(3, 4), topic_id="new"), limit=1_000)
        assert ranges(start, end) == [Range(0, 0, 3, 100), Range(1, 0, 4, 100)]
        assert (end.next, end.live, end.error) == ((3, 4), True, "")

    def test_history_of_a_topic_made_anew_is_not_read_from_the_new_one(self) -> None:
        start = Position((100,), (0,), ((0, 90),), topic_id="old")
        end = advance(start, replace(ends(5), topic_id="new"), limit=1_000)
        assert ranges(start, end) == [Range(0, 0, 5, 100)]

    def test_a_log_that_lost_its_end_is_read_on_from_there_and_nothing_twice(self) -> None:
        start = Position((100, 50), (0, 7), topic_id="same")
        end = advance(start, replace(ends(95, 50), topic_id="same"), limit=1_000)
        assert ranges(start, end) == []
        later = advance(end, replace(ends(98, 50), topic_id="same"), limit=1_000)
        assert ranges(end, later) == [Range(0, 95, 98, 5)]

    def test_a_group_that_moves_to_an_old_partition_counts_on_from_there(self) -> None:
        start = Position((20, 500), (0, 0))
        grown = advance(start, ends(20, 500, 0), limit=1_000)
        later = advance(grown, ends(22, 500, 1), limit=1_000)
        # of the old partition's orders all were below 500
        assert ranges(grown, later) == [Range(0, 20, 22, 480), Range(2, 0, 1, 500)]

    def test_orders_are_evened_only_when_everything_from_before_is_read(self) -> None:
        start = Position((0, 0), (0, 0))
        grown = advance(start, ends(60, 60, 10), limit=50)
        assert not grown.live
        more = advance(grown, ends(60, 60, 10), limit=1_000)
        assert [each.shift for each in ranges(grown, more)] == [0, 0, 60]
        assert {at + shift for at, shift in zip(*_evened_of(more), strict=True)} == {70}

    def test_history_keeps_its_orders_when_the_topic_grows(self) -> None:
        start = Position((100, 700), (0, 0), ((0, 100), (0, 0)), live=True)
        grown = advance(start, ends(100, 700, 5), limit=45)
        later = advance(grown, ends(101, 700, 5), limit=1_000)
        assert ranges(grown, later) == [Range(0, 100, 101, 605), Range(0, 40, 100, 0)]

    def test_a_partition_without_leader_is_not_called_live(self) -> None:
        assert not advance(Position((3, 5), (0, 0)), ends(None, 7), limit=100).live


def _evened_of(position: Position) -> tuple[tuple[int, ...], tuple[int, ...]]:
    following = advance(position, ends(60, 60, 10), limit=1_000)
    return following.next, following.shift


class TestTheMomentUpToWhichEverythingIsRead:
    """Nobody is judged for commits that were not read yet."""

    def test_it_is_the_one_at_which_the_ends_were_asked_for(self) -> None:
        end = advance(Position((0, 5), (0, 0)), ends(10, 5, at=1_000), limit=100)
        assert end.as_of_ms == 990

    def test_it_stays_while_there_is_more_to_read(self) -> None:
        start = Position((0, 0), (0, 0), as_of_ms=7)
        middle = advance(start, ends(60, 0, at=1_000), limit=50)
        assert middle.as_of_ms == 7
        assert advance(middle, ends(60, 0, at=2_000), limit=50).as_of_ms == 1_990

    def test_it_moves_on_where_there_is_always_more(self) -> None:
        position, seen = Position((0,), (0,)), []
        for step in range(1, 7):
            position = advance(position, ends(step * 60 + 100, at=step * 1_000), limit=50)
            seen.append(position.as_of_ms)
        # what was there at 0.99 s is read in the fourth step
        assert seen == [0, 0, 0, 990, 990, 990]
        assert position.goal_ms == 3_990

    def test_it_stays_while_brokers_or_a_leader_are_silent(self) -> None:
        start = advance(Position((3, 5), (0, 0)), ends(3, 5, at=1_000), limit=100)
        silent = start.without_answer("no answer")
        assert (silent.as_of_ms, silent.silent) == (990, True)
        partly = advance(silent, ends(None, 5, at=2_000), limit=100)
        assert (partly.as_of_ms, partly.silent) == (990, False)
        assert "1 of 2 partitions" in partly.error
        missing = advance(silent, ends(3, at=2_000), limit=100)
        assert (missing.as_of_ms, missing.next) == (990, (3, 5))
        assert "1 of 2 partitions" in missing.error

    def test_of_a_topic_that_was_never_there_nothing_is_unread(self) -> None:
        first = first_position(ends(), start_latest=False, backfill=False)
        end = advance(first, ends(at=1_000), limit=100)
        assert (end.as_of_ms, end.error) == (990, NOT_THERE)

    def test_a_topic_that_is_gone_may_be_one_that_a_new_broker_does_not_know_yet(self) -> None:
        start = advance(Position((3,), (0,)), ends(3, at=1_000), limit=100)
        end = advance(start, ends(at=2_000), limit=100)
        assert (end.as_of_ms, end.live, end.error) == (990, False, NOT_THERE)

    def test_what_is_read_next_was_written_after_it(self) -> None:
        start = advance(Position((0,), (0,)), ends(3, at=1_000), limit=100).without_answer("no answer")
        assert start.as_of_ms == 990


class TestHasRead:
    def test_up_to_the_ends_or_to_the_present(self) -> None:
        first = ends(10, 5)
        assert not has_read(Position((9, 5), (0, 0)), first)
        assert has_read(Position((10, 6), (0, 0)), first)
        # a topic made anew since is shorter
        assert has_read(Position((1, 1), (0, 0), live=True), first)
        assert not has_read(Position((10, 6), (0, 0), topic_id="new"), replace(first, topic_id="old"))

    def test_history_belongs_to_it(self) -> None:
        assert not has_read(Position((10,), (0,), ((0, 4),), live=True), ends(10))

    @pytest.mark.parametrize("error", ["no answer", NOT_THERE])
    def test_not_while_something_is_wrong(self, error: str) -> None:
        assert not has_read(Position((10,), (0,), live=True, error=error), ends(10))

    def test_an_offsets_topic_that_is_not_there_yet_is_not_caught_up(self) -> None:
        first = first_position(ends(), start_latest=True, backfill=False)
        assert not has_read(advance(first, ends(), limit=10), ends())


def test_a_partition_that_is_missing_in_an_answer_shifts_no_other() -> None:
    start = Position((3, 5, 7), (0, 0, 0))
    end = advance(start, ends(4, None, 9), limit=100)
    assert ranges(start, end) == [Range(0, 3, 4, 0), Range(2, 7, 9, 0)]
    end = advance(start, ends(4, 6), limit=100)
    assert ranges(start, end) == [Range(0, 3, 4, 0), Range(1, 5, 6, 0)]
    assert end.next == (4, 6, 7)


def test_the_first_trigger_of_a_consumer_leaves_history_for_later() -> None:
    begun = first_position(ends(5, 9, start=(2, 0)), start_latest=True, backfill=True)
    first = advance(begun, ends(5, 9), limit=100, with_history=False)
    # nobody knows a position before it
    assert ranges(Position(), first) == []
    second = advance(first, ends(5, 9), limit=100)
    assert ranges(first, second) == [Range(0, 2, 5, 0), Range(1, 0, 9, 0)]
