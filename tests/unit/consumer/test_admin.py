"""Rounds through the admin API, with brokers that answer what the test says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest

from warren.common.group_filter import GroupFilter
from warren.common.owner import Holder
from warren.consumer.admin import AdminPoller, AdminSettings, NoAnswerError
from warren.consumer.polling import Poll
from warren.kafka.brokers import Limit, UnreachableError
from warren.kafka.group_admin import Committed, Failure, Holders, ListedGroups

ORDERS = ("orders", 0)
DENIED = Failure("Group authorization failed", "grant it with kafka-acls.sh --operation Describe")
AWAY = Failure("Coordinator not available")
# a place that cannot be written
NOWHERE = Path("/dev/null/committed")


class Brokers:
    """Answers, and the groups that were asked for."""

    def __init__(self, **committed: Committed | Failure) -> None:
        # group: what its coordinator answers
        self.answers: dict[str, Committed | Failure] = dict(committed)
        self.unlisted: set[str] = set()
        self.empty: set[str] = set()
        self.members: dict[str, Holders | Failure] = {}
        self.visible = {"orders"}
        self.deleted: set[str] = set()
        self.listing_error = ""
        self.asked: list[str] = []
        self.renewed = 0
        self.members_asked: list[str] = []

    def listed(self, limit: Limit) -> ListedGroups:
        listed = {group: group in self.empty for group in self.answers if group not in self.unlisted}
        return ListedGroups(listed, self.listing_error)

    def committed(self, groups: Sequence[str], limit: Limit) -> Iterator[tuple[str, Committed | Failure]]:
        self.asked = list(groups)
        for group in groups:
            # a coordinator knows nothing of a group that does not exist
            yield group, self.answers.get(group, {})

    def holders(self, groups: Sequence[str], limit: Limit) -> Iterator[tuple[str, Holders | Failure]]:
        self.members_asked += groups
        for group in groups:
            yield group, self.members.get(group, {})

    def renew(self) -> None:
        self.renewed += 1

    def topics(self, limit: Limit) -> set[str]:
        return self.visible

    def described(self, topics: Collection[str], limit: Limit) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(self.deleted & set(topics), ())


EXPIRE_MS = 604_800_000


class Rounds:
    """A poller whose rounds the test begins, ten seconds apart."""

    def __init__(self, brokers: Brokers, deny: bytes = b"", file: Path = NOWHERE) -> None:
        self.now_ms = 1_000_000_003
        groups = GroupFilter((), (re.compile(deny),) if deny else ())
        settings = AdminSettings(
            "cloud", {"bootstrap.servers": "b"}, 10, 60, 5, groups, 10, 10_000, file, EXPIRE_MS
        )
        self._poller = AdminPoller(settings, brokers, lambda: self.now_ms)

    def look(self) -> None:
        self.now_ms += 10_000
        self._poller.look()

    def take(self) -> list[tuple[str, str, int, int | None, int]]:
        return [commit[:5] for commit in self.poll().commits]

    def poll(self) -> Poll:
        self.last = self._poller.poll()
        return self.last


def test_a_commit_is_seen_when_the_offset_has_changed_and_its_time_is_that_of_the_round() -> None:
    brokers = Brokers(billing={ORDERS: 5})
    rounds = Rounds(brokers)
    rounds.look()
    assert rounds.take() == [("billing", *ORDERS, 5, 1_000_010_000)]
    rounds.look()
    assert rounds.take() == []
    brokers.answers["billing"] = {ORDERS: 7}
    rounds.look()
    # a few milliseconds late, and yet in an even distance to the others
    assert rounds.take() == [("billing", *ORDERS, 7, 1_000_030_000)]
    assert rounds.last.as_of_ms == 1_000_030_003


def test_a_group_that_was_deleted_loses_its_commits() -> None:
    brokers = Brokers(billing={ORDERS: 5}, other={ORDERS: 1})
    rounds = Rounds(brokers)
    rounds.look()
    rounds.take()
    del brokers.answers["billing"]
    rounds.look()
    assert rounds.take() == [("billing", *ORDERS, None, 0)]
    rounds.look()
    assert brokers.asked == ["other"]


def test_commits_of_a_topic_that_we_may_not_see_any_more_were_deleted() -> None:
    brokers = Brokers(billing={ORDERS: 5})
    rounds = Rounds(brokers)
    rounds.look()
    rounds.take()
    brokers.answers["billing"], brokers.visible = {}, set()
    rounds.look()
    assert rounds.take() == []
    # the same offset again: the window decides whether it is news
    brokers.answers["billing"], brokers.visible = {ORDERS: 5}, {"orders"}
    rounds.look()
    assert [commit[3] for commit in rounds.take()] == [5]


@pytest.mark.parametrize("failure", [DENIED, AWAY])
def test_one_group_without_an_answer_stopped_the_others(failure: Failure) -> None:
    brokers = Brokers(billing={ORDERS: 5}, other={ORDERS: 1})
    rounds = Rounds(brokers)
    rounds.look()
    rounds.take()
    first_ms = rounds.last.as_of_ms
    brokers.answers |= {"billing": failure, "other": {ORDERS: 2}}
    rounds.look()
    assert rounds.take() == [("other", *ORDERS, 2, 1_000_020_000)]
    assert rounds.last.as_of_ms == 1_000_020_003
    # judged as of its last answer
    assert rounds.last.unanswered == {"billing": first_ms}
    # a client that lost its coordinator may never find it again
    assert bool(brokers.renewed) is not bool(failure.remedy)
    assert "billing" in rounds.last.error
    assert ("Describe" in rounds.last.error) is bool(failure.remedy)
    brokers.answers["billing"] = {ORDERS: 6}
    rounds.look()
    assert brokers.asked[-1] == "billing", "the others are asked first"
    assert [commit[3] for commit in rounds.take()] == [6]
    assert (rounds.last.unanswered, rounds.last.error) == ({}, "")


def test_a_group_whose_coordinator_is_away_is_not_listed_and_was_taken_for_deleted() -> None:
    brokers = Brokers(billing={ORDERS: 5}, other={ORDERS: 1})
    rounds = Rounds(brokers)
    rounds.look()
    rounds.take()
    brokers.answers["billing"] = AWAY
    brokers.unlisted = {"billing"}
    rounds.look()
    assert rounds.take() == []
    assert "billing" in rounds.last.unanswered


class TestRestart:
    """What another process finds, that knows what the one before has seen."""

    @pytest.fixture
    def brokers(self, tmp_path: Path) -> Brokers:
        """They have shown two groups to a process that is over."""
        brokers = Brokers(billing={ORDERS: 5}, other={ORDERS: 1, ("clicks", 0): 2})
        brokers.visible = {"orders", "clicks"}
        Rounds(brokers, file=tmp_path / "file").look()
        return brokers

    @pytest.fixture
    def rounds(self, brokers: Brokers, tmp_path: Path) -> Rounds:
        return Rounds(brokers, file=tmp_path / "file")

    def test_a_group_that_was_hidden_during_the_first_round_lost_its_windows(
        self, brokers: Brokers, rounds: Rounds
    ) -> None:
        brokers.answers["billing"], brokers.unlisted = DENIED, {"billing"}
        rounds.look()
        poll = rounds.poll()
        assert (poll.complete, poll.unanswered) == (False, {"billing": 0})
        assert "billing" in poll.error

    def test_a_group_that_was_deleted_with_its_rights_was_asked_for_for_ever(
        self, brokers: Brokers, rounds: Rounds, tmp_path: Path
    ) -> None:
        brokers.answers["billing"], brokers.unlisted = DENIED, {"billing"}
        rounds.now_ms += EXPIRE_MS - 3_600_000
        rounds.look()
        assert "billing" in rounds.poll().unanswered
        rounds.now_ms += 3_600_000
        rounds.look()
        assert (rounds.poll().unanswered, rounds.last.error) == ({}, "")
        later = Rounds(brokers, file=tmp_path / "file")
        later.look()
        assert later.poll().complete

    def test_one_hidden_group_made_a_consumer_blind_that_has_no_other(
        self, brokers: Brokers, rounds: Rounds
    ) -> None:
        del brokers.answers["other"]
        brokers.answers["billing"], brokers.unlisted = DENIED, {"billing"}
        rounds.look()
        assert (rounds.poll().silent, rounds.last.unanswered) == (False, {"billing": 0})

    def test_commits_of_a_topic_that_was_hidden_during_the_first_round_lost_their_windows(
        self, brokers: Brokers, rounds: Rounds, tmp_path: Path
    ) -> None:
        brokers.answers["other"], brokers.visible = {ORDERS: 1}, {"orders"}
        for _ in range(2):
            # in the next round, and after another start, it is still hidden
            for each in (rounds, Rounds(brokers, file=tmp_path / "file")):
                each.look()
        assert {commit[:2] for commit in rounds.take()} == {("billing", "orders"), ("other", "orders")}
        assert not rounds.last.complete
        # the same offset again: the window decides whether it is news
        brokers.answers["other"], brokers.visible = {ORDERS: 1, ("clicks", 0): 2}, {"orders", "clicks"}
        rounds.look()
        assert rounds.take() == [("other", "clicks", 0, 2, 1_000_030_000)]

    def test_a_topic_that_is_deleted_is_not_taken_for_hidden(self, brokers: Brokers, rounds: Rounds) -> None:
        brokers.answers["other"], brokers.visible, brokers.deleted = {ORDERS: 1}, {"orders"}, {"clicks"}
        rounds.look()
        assert rounds.poll().complete

    def test_a_round_without_the_list_of_every_broker_counted_as_complete(
        self, brokers: Brokers, rounds: Rounds
    ) -> None:
        rounds.look()
        brokers.listing_error = "Broker transport failure"
        rounds.look()
        assert not rounds.poll().complete

    def test_what_was_deleted_meanwhile_is_gone_although_others_are_hidden(
        self, brokers: Brokers, rounds: Rounds
    ) -> None:
        del brokers.answers["billing"]
        brokers.answers |= {"other": DENIED, "new": {ORDERS: 3}}
        rounds.look()
        assert rounds.take() == [("billing", *ORDERS, None, 0), ("new", *ORDERS, 3, 1_000_010_000)]
        assert not rounds.last.complete

    def test_what_was_deleted_meanwhile_is_asked_for_once(self, brokers: Brokers, rounds: Rounds) -> None:
        del brokers.answers["billing"]
        rounds.look()
        assert rounds.poll().complete
        rounds.look()
        assert brokers.asked == ["other"]

    def test_groups_that_the_lists_exclude_now_are_not_asked_for(
        self, brokers: Brokers, tmp_path: Path
    ) -> None:
        Rounds(brokers, b"^billing$", tmp_path / "file").look()
        assert brokers.asked == ["other"]

    @pytest.mark.parametrize("left", [b"", b"no file", b"\xc1"])
    def test_a_file_that_cannot_be_read_stops_nobody(
        self, brokers: Brokers, tmp_path: Path, left: bytes
    ) -> None:
        (tmp_path / "file").write_bytes(left)
        rounds = Rounds(brokers, file=tmp_path / "file")
        rounds.look()
        assert rounds.poll().complete


def test_no_answer_at_all_is_no_round() -> None:
    rounds = Rounds(Brokers(billing=DENIED, other=AWAY))
    with pytest.raises(NoAnswerError, match="Describe"):
        rounds.look()


def test_the_first_round_waits_until_every_broker_lists_its_groups() -> None:
    brokers = Brokers(billing={ORDERS: 5})
    brokers.listing_error = "Broker transport failure"
    rounds = Rounds(brokers)
    with pytest.raises(NoAnswerError, match="transport"):
        rounds.look()
    brokers.listing_error = ""
    rounds.look()
    brokers.listing_error = "Broker transport failure"
    rounds.look()
    assert "transport" in rounds.poll().error


def test_a_cluster_without_groups_has_been_seen() -> None:
    rounds = Rounds(Brokers())
    rounds.look()
    assert (rounds.poll().complete, rounds.last.as_of_ms) == (True, rounds.now_ms)


def test_groups_that_the_lists_exclude_are_not_asked_for() -> None:
    brokers = Brokers(billing={ORDERS: 5}, secret={ORDERS: 1})
    rounds = Rounds(brokers, deny=b"^secret$")
    rounds.look()
    assert brokers.asked == ["billing"]
    assert (len(rounds.take()), rounds.last.denied) == (1, 1)


def test_members_are_asked_for_at_first_and_then_less_often_than_offsets() -> None:
    brokers = Brokers(billing={ORDERS: 5}, idle={ORDERS: 1})
    brokers.empty = {"idle"}
    holder = Holder("/10.0.0.1", "app")
    brokers.members["billing"] = {ORDERS: holder}
    rounds = Rounds(brokers)
    rounds.look()
    assert rounds.poll().owners == {"billing": {ORDERS: holder}}
    assert brokers.members_asked == ["billing"]
    brokers.answers["late"], brokers.members["late"] = {ORDERS: 1}, {ORDERS: holder}
    rounds.look()
    # one that is new is asked for at once
    assert brokers.members_asked == ["billing", "late"]
    assert rounds.poll().owners == {"late": {ORDERS: holder}}
    for _ in range(5):
        rounds.look()
    assert sorted(brokers.members_asked[2:]) == ["billing", "late"]
    assert rounds.poll().owners == {}
    # the last member has left
    brokers.empty = {"idle", "billing"}
    rounds.look()
    assert rounds.poll().owners == {"billing": {}}


@pytest.mark.parametrize("empty", [False, True], ids=["it has a member", "its members have left"])
def test_members_without_an_answer_at_the_start_were_taken_for_none_and_none_was_not_told_later(
    *, empty: bool
) -> None:
    brokers = Brokers(billing={ORDERS: 5})
    brokers.members["billing"] = AWAY
    rounds = Rounds(brokers)
    rounds.look()
    first = rounds.poll()
    assert (first.first, first.owners, first.owners_unseen) == (True, {}, frozenset({"billing"}))
    found = {} if empty else {ORDERS: Holder("/10.0.0.1", "app")}
    brokers.members["billing"] = found
    brokers.empty = {"billing"} if empty else set()
    for _ in range(6):
        rounds.look()
    later = rounds.poll()
    assert (later.owners, later.owners_unseen) == ({"billing": found}, frozenset())
    # an answer that is missing now changes nothing
    brokers.members["billing"] = AWAY
    for _ in range(6):
        rounds.look()
    assert rounds.poll().owners == {}


def test_brokers_that_do_not_answer_are_reported_and_asked_again() -> None:
    class Away(Brokers):
        def listed(self, limit: Limit) -> ListedGroups:
            raise UnreachableError("nobody is there")

    rounds = Rounds(Away())
    with pytest.raises(UnreachableError):
        rounds.look()


def test_groups_without_commits_that_are_gone_were_asked_for_for_ever() -> None:
    brokers = Brokers(billing={ORDERS: 5}, idle={})
    rounds = Rounds(brokers)
    rounds.look()
    del brokers.answers["idle"]
    rounds.look()
    assert brokers.asked == ["billing"]
