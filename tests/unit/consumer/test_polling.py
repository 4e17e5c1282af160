"""The seam of consumers that are polled: what is found, when it is given away, and the positions of triggers."""

from __future__ import annotations

import json

import pytest

from warren.common.group_filter import GroupFilter
from warren.common.owner import Holder
from warren.consumer import polling
from warren.consumer.polling import Findings, Poll, PolledCommit, PolledPosition, PollPlanner

KEY = ("billing", "orders", 0)


class Clock:
    def __init__(self, now_ms: int = 1_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


class Settings:
    """Of a poller that finds what it is told to."""

    name = "zk"
    class_name = "kafka_zk"
    groups = GroupFilter()
    intervals = 4
    min_distance_ms = 0
    timed = True

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def poller(self) -> Settings:
        return self

    def poll(self) -> Poll:
        return self.findings.take()


def found(poll: Poll) -> list[tuple[str, str, int, int | None, int]]:
    return [commit[:5] for commit in poll.commits]


class TestFindings:
    def test_nothing_is_given_away_before_the_first_round_is_over(self) -> None:
        findings = Findings()
        findings.commit(KEY, 5, 100)
        assert findings.take() == Poll()
        findings.done(200)
        poll = findings.take()
        assert found(poll) == [(*KEY, 5, 100)]
        assert (poll.first, poll.complete, poll.as_of_ms) == (True, True, 200)

    def test_a_first_round_from_which_something_was_hidden_is_not_complete(self) -> None:
        findings = Findings()
        findings.done(200, "no permission", whole=False)
        poll = findings.take()
        assert (poll.first, poll.complete, poll.error, poll.silent) == (True, False, "no permission", False)

    def test_later_polls_have_the_changes_alone_each_of_them(self) -> None:
        findings = Findings()
        findings.commit(KEY, 5, 100)
        findings.done(200)
        findings.take()
        assert found(findings.take()) == []
        findings.commit(KEY, 5, 100)
        findings.commit(KEY, 5, 150)
        findings.commit(KEY, 6, 160)
        poll = findings.take()
        assert found(poll) == [(*KEY, 5, 150), (*KEY, 6, 160)]
        assert not poll.complete

    def test_what_is_gone_is_told_once(self) -> None:
        findings = Findings()
        findings.commit(KEY, 5, 100)
        findings.done(200)
        findings.take()
        findings.delete(KEY)
        findings.delete(KEY)
        assert found(findings.take()) == [(*KEY, None, 0)]
        assert findings.keys() == []

    def test_without_times_the_same_offset_is_no_news(self) -> None:
        findings = Findings(timed=False)
        findings.commit(KEY, 5, 100)
        findings.done(200)
        findings.take()
        findings.commit(KEY, 5, 150)
        assert found(findings.take()) == []
        findings.commit(KEY, 6, 160)
        assert found(findings.take()) == [(*KEY, 6, 160)]

    def test_a_server_that_fails_leaves_the_moment_and_says_why(self) -> None:
        findings = Findings()
        findings.fail("no answer")
        assert findings.take() == Poll(error="no answer", silent=True)
        findings.done(200)
        findings.take()
        findings.fail("no answer")
        poll = findings.take()
        assert (poll.as_of_ms, poll.error, poll.silent) == (200, "no answer", True)
        findings.done(300)
        assert findings.take() == Poll(as_of_ms=300)

    def test_counts_are_given_away_once(self) -> None:
        findings = Findings()
        findings.skip("not a number")
        findings.deny()
        findings.own("billing", {("orders", 0): Holder("host")})
        findings.done(200)
        poll = findings.take()
        assert (poll.skipped, poll.denied, poll.owners) == (
            {"not a number": 1},
            1,
            {"billing": {("orders", 0): Holder("host")}},
        )
        assert findings.take() == Poll(as_of_ms=200)

    def test_while_no_trigger_runs_the_waiting_commits_do_not_grow_without_end(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(polling, "MAX_WAITING", 10)
        findings = Findings()
        findings.done(1)
        findings.take()
        for number in range(100):
            findings.commit((f"group {number % 2}", "orders", 0), number, number)
        taken = found(findings.take())
        assert len(taken) <= 11
        assert taken[-2:] == [("group 0", "orders", 0, 98, 98), ("group 1", "orders", 0, 99, 99)]


class TestPositions:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def findings(self, clock: Clock) -> Findings:
        return Findings(clock=clock)

    @pytest.fixture
    def planner(self, findings: Findings, clock: Clock) -> PollPlanner:
        return PollPlanner(Settings(findings), clock)

    def test_orders_increase_though_the_clock_is_set_back(
        self, planner: PollPlanner, findings: Findings, clock: Clock
    ) -> None:
        findings.commit(KEY, 1, 100)
        findings.done(900)
        first = planner.advanced(None)
        (task,) = planner.poll_tasks(None, first)
        clock.now_ms = 10
        findings.commit(KEY, 2, 100)
        second = planner.advanced(first)
        (next_task,) = planner.poll_tasks(first, second)
        assert task.order < task.order + 1 == first.order <= next_task.order < second.order

    def test_a_trigger_that_another_process_planned_brings_nothing_and_its_moment_stays(
        self, planner: PollPlanner, findings: Findings, clock: Clock
    ) -> None:
        findings.commit(KEY, 1, 100)
        findings.done(900)
        start = planner.advanced(None)
        findings.done(950)
        end = planner.advanced(start)
        assert (planner.as_of(start, end), planner.blind(end)) == (950, False)
        again = PollPlanner(Settings(Findings(clock=clock)), clock)
        # as Spark keeps it
        kept = PolledPosition.from_offset(json.loads(json.dumps(end.to_offset())))
        assert kept == end
        assert again.poll_tasks(start, kept) == []
        assert (again.as_of(start, kept), again.blind(kept), again.caught_up(kept)) == (900, True, False)

    def test_what_was_planned_and_not_carried_out_is_not_lost(
        self, planner: PollPlanner, findings: Findings
    ) -> None:
        findings.done(900)
        start = planner.advanced(None)
        findings.commit(KEY, 1, 100)
        planner.advanced(start)
        findings.commit(KEY, 2, 200)
        end = planner.advanced(start)
        # the same start twice: the first plan was dropped
        offsets = [commit.offset for task in planner.poll_tasks(start, end) for commit in task.poll.commits]
        assert offsets == [1, 2]
        assert planner.poll_tasks(end, planner.advanced(end))[0].poll.commits == ()

    def test_commits_of_the_present_came_after_the_last_moment_and_those_of_the_first_poll_at_any_time(
        self, planner: PollPlanner, findings: Findings, clock: Clock
    ) -> None:
        findings.commit(KEY, 1, 100)
        findings.done(900)
        start = planner.advanced(None)
        clock.now_ms = 2_000
        findings.commit(KEY, 2, 1_500)
        end = planner.advanced(start)
        (first,), (second,) = planner.poll_tasks(None, start), planner.poll_tasks(start, end)
        assert (first.after_ms, first.before_ms) == (0, 1_000)
        assert (second.after_ms, second.before_ms) == (900, 2_000)
        assert second.poll.commits == (PolledCommit(*KEY, 2, 1_500, 2_000),)

    def test_a_server_that_does_not_respond_is_blind_and_holds_nobody_up(
        self, planner: PollPlanner, findings: Findings
    ) -> None:
        position = planner.advanced(None)
        assert (planner.blind(position), planner.caught_up(position)) == (True, False)
        findings.fail("no answer")
        position = planner.advanced(position)
        assert (planner.blind(position), planner.caught_up(position)) == (True, True)
        assert (position.error, position.silent) == ("no answer", True)
        findings.done(900)
        position = planner.advanced(position)
        assert (planner.blind(position), planner.caught_up(position)) == (False, True)
