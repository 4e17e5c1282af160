"""A look at the brokers, with brokers that are a table: when topics are listed, what is said of the missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from warren.cluster.survey import LISTING_SHARE, Survey, Surveyor
from warren.common.sentinels import UNKNOWN
from warren.kafka.brokers import EARLIEST, Brokers, Limit, Offsets, UnreachableError
from warren.kafka.failures import Failures

REFRESH_MS = 60_000
TIMEOUT_S = 5.0
# of the wall clock, by which nothing is done
WRONG_MS = 77


@dataclass
class Table:
    """Brokers that answer from a table and take their time by a clock of their own."""

    # topic: its heads, None for a partition without leader
    topics: dict[str, list[int | None]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    tails: Offsets = field(default_factory=dict)
    now_s: float = 0.0
    # seconds that each question takes
    takes_s: float = 0.0
    down: bool = False
    # topics that are there, and that we may not see
    hidden: set[str] = field(default_factory=set)
    read: list[str] = field(default_factory=list)
    failures: Failures = field(default_factory=lambda: Failures({"bootstrap.servers": "table:9092"}))

    def silence(self) -> str:
        return "no answer"

    def clock(self) -> float:
        return self.now_s

    def partitions(self, limit: Limit) -> dict[str, list[int]]:
        self._answer("list", limit)
        return {
            topic: list(range(len(heads))) for topic, heads in self.topics.items() if topic not in self.hidden
        }

    def topic_ids(self, topics: Any, limit: Limit) -> dict[str, str]:
        self._answer("ids", limit)
        return {topic: self.ids.get(topic, f"id-{topic}") for topic in topics}

    def described(self, topics: Any, limit: Limit) -> dict[str, tuple[int, ...]]:
        if topics:
            self._answer("described", limit)
        return {
            topic: tuple(range(len(self.topics.get(topic, ()))))
            for topic in topics
            if topic not in self.hidden
        }

    def offsets(self, read: Any, spec: Any, limit: Limit) -> Offsets:
        self._answer("tails" if spec is EARLIEST else "heads", limit)
        if spec is EARLIEST:
            return {tp: self.tails.get(tp, 0) for tp in read}
        heads = {
            (topic, number): head for topic, each in self.topics.items() for number, head in enumerate(each)
        }
        return {tp: head for tp in read if (head := heads.get(tp)) is not None}

    def _answer(self, what: str, limit: Limit) -> None:
        self.read.append(what)
        allowed = limit.left()
        self.now_s += min(self.takes_s, allowed)
        if self.down or self.takes_s > allowed:
            raise UnreachableError("no answer")


def surveyor(table: Table) -> Surveyor:
    return Surveyor(cast("Brokers", table), REFRESH_MS, TIMEOUT_S, table.clock)


def at(mine: Surveyor, table: Table, passed_ms: float) -> Survey:
    """A look when so much time has passed; the wall clock is wrong."""
    table.now_s = passed_ms / 1000
    return mine.survey(WRONG_MS)


def looked(survey: Any) -> dict[tuple[str, int], int]:
    """Topic partition: head."""
    return dict(
        zip(
            zip(survey.topic.to_pylist(), survey.partition.tolist(), strict=True),
            survey.head.tolist(),
            strict=True,
        )
    )


def test_a_look_brings_heads_tails_and_ids() -> None:
    table = Table({"a": [10, 20], "b": [0]}, tails={("a", 1): 5})
    survey = surveyor(table).survey(1_000)
    assert looked(survey) == {("a", 0): 10, ("a", 1): 20, ("b", 0): 0}
    assert survey.tail.tolist() == [0, 5, 0]
    assert survey.topic_id.to_pylist() == ["id-a", "id-a", "id-b"]
    assert (survey.at_ms, survey.complete, survey.error) == (1_000, True, "")


def test_an_empty_list_of_topics_was_taken_for_the_truth() -> None:
    table = Table({"a": [10, 20]})
    mine = surveyor(table)
    mine.survey(0)
    table.hidden = {"a"}
    survey = mine.survey(0)
    assert (looked(survey), survey.complete) == ({("a", 0): 10, ("a", 1): 20}, False)
    empty = surveyor(Table()).survey(0)
    assert (looked(empty), empty.complete) == ({}, False)
    assert "lists no topic at all. If it has topics, grant it with kafka-acls.sh" in empty.error


def test_a_topic_that_is_hidden_is_not_gone_and_one_that_is_unknown_is() -> None:
    table = Table({"a": [1], "b": [2]}, hidden={"b"})
    read = (("a", 0), ("a", 9), ("b", 0), ("c", 0), ("c", 1))
    survey = surveyor(table).survey(0, read)
    assert (survey.complete, survey.error) == (True, "")
    assert survey.gone == (("a", 9), ("c", 0), ("c", 1))
    assert survey.hidden == ("b",)
    assert survey.remedy.endswith("--operation Describe --topic '*'")


def test_a_list_from_a_broker_that_knew_too_little_deleted_partitions_of_a_topic() -> None:
    table = Table({"a": [1, 2, 3, 4]}, takes_s=0.5)
    mine = surveyor(table)
    mine.survey(0)
    table.topics = {"a": [1, 2]}
    assert set(looked(at(mine, table, REFRESH_MS))) == {("a", 0), ("a", 1)}
    table.topics = {"a": [1, 2, 3, 4]}
    survey = mine.survey(0, (("a", 2), ("a", 3)))
    assert (survey.complete, survey.gone) == (False, ())


def test_a_partition_that_was_added_after_the_list_was_called_gone() -> None:
    table = Table({"a": [1]}, takes_s=0.5)
    mine = surveyor(table)
    mine.survey(0)
    table.topics = {"a": [1, 7]}
    survey = mine.survey(0, (("a", 1), ("a", 9)))
    assert (survey.complete, survey.gone) == (False, (("a", 9),))


def test_brokers_that_do_not_answer_call_nothing_gone() -> None:
    table = Table({"a": [1]})
    mine = surveyor(table)
    mine.survey(0)
    table.down = True
    survey = mine.survey(0, (("a", 9), ("c", 0)))
    assert survey.gone == ()


def test_topics_are_listed_as_often_as_it_is_cheap() -> None:
    table = Table({"a": [1]}, takes_s=0.01)
    mine = surveyor(table)
    mine.survey(0)
    # two questions of 10 ms each
    due_ms = 20 + 20 / LISTING_SHARE
    table.topics["b"] = [7]
    before = at(mine, table, due_ms - 1)
    assert (looked(before), before.complete) == ({("a", 0): 1}, False)
    after = at(mine, table, due_ms + 1)
    assert (looked(after), after.complete) == ({("a", 0): 1, ("b", 0): 7}, True)


def test_topics_are_listed_after_the_refresh_time_however_dear_it_is() -> None:
    table = Table({"a": [1]}, takes_s=1.2)
    mine = surveyor(table)
    # each of 1.2 s: 2.4 / 0.05 = 48 s
    assert mine.survey(0).complete
    assert not at(mine, table, 2_400 + 47_999).complete
    assert at(mine, table, 2_400 + 48_001).complete
    table.now_s = 0
    slow = Surveyor(cast("Brokers", table), 10_000, TIMEOUT_S, table.clock)
    slow.survey(0)
    assert not at(slow, table, 2_400 + 9_999).complete
    assert at(slow, table, 2_400 + 10_001).complete


def test_a_list_from_before_says_nothing_of_missing_topics() -> None:
    # two worker processes list at different times: the one with the older list must not call the new topic gone
    table = Table({"a": [1]}, takes_s=0.5)
    older, newer = surveyor(table), surveyor(table)
    older.survey(0)
    table.topics["b"] = [2]
    assert at(newer, table, 1_000).complete
    late = at(older, table, 2_000)
    assert (looked(late), late.complete) == ({("a", 0): 1}, False)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        pytest.param({"a": [10]}, {("a", 0): 10}, id="deleted: a head is not told any more"),
        pytest.param({"a": [10], "b": [3]}, {("a", 0): 10, ("b", 0): 3}, id="made again: a head fell"),
    ],
)
def test_topics_are_listed_at_once_when_something_seems_to_have_changed(
    change: dict[str, list[int | None]], found: dict[tuple[str, int], int]
) -> None:
    table = Table({"a": [10], "b": [20]}, takes_s=0.1)
    mine = surveyor(table)
    mine.survey(0)
    table.topics = change
    survey = mine.survey(1)
    assert (looked(survey), survey.complete) == (found, True)


def test_a_partition_without_leader_is_there_without_head_and_is_not_listed_for_again_and_again() -> None:
    table = Table({"a": [10, 20]}, takes_s=0.1)
    mine = surveyor(table)
    mine.survey(0)
    table.topics["a"][1] = None
    assert looked(mine.survey(1)) == {("a", 0): 10, ("a", 1): UNKNOWN}
    table.read.clear()
    survey = mine.survey(2)
    assert table.read == ["heads", "tails"]
    assert (looked(survey), survey.error) == ({("a", 0): 10, ("a", 1): UNKNOWN}, "")


def test_silent_brokers_leave_the_topics_as_they_were_known() -> None:
    table = Table({"a": [10]})
    mine = surveyor(table)
    mine.survey(0)
    table.down = True
    survey = mine.survey(1_000)
    assert (looked(survey), survey.complete) == ({("a", 0): UNKNOWN}, False)
    assert survey.error == "no answer"
    table.down = False
    table.topics = {"b": [4]}
    again = mine.survey(2_000)
    assert (looked(again), again.complete, again.error) == ({("b", 0): 4}, True, "")


def test_brokers_that_know_topics_and_no_offset_are_in_trouble() -> None:
    survey = surveyor(Table({"a": [None]})).survey(0)
    assert (looked(survey), survey.complete) == ({("a", 0): UNKNOWN}, True)
    assert survey.error


@pytest.mark.parametrize("takes_s", [0.4, 1.3, 2.6, 4.9, 60.0])
def test_a_look_takes_no_longer_than_its_time_limit(takes_s: float) -> None:
    table = Table({"a": [10], "b": [5]}, takes_s=takes_s)
    mine = surveyor(table)
    for change in ({"a": [10], "b": [5]}, {"a": [1], "b": [5]}, {"c": [1]}):
        began = table.now_s
        table.topics = cast("dict[str, list[int | None]]", change)
        survey = mine.survey(round(began * 1000))
        assert table.now_s - began <= TIMEOUT_S
        assert survey.error == "" or takes_s > 0.9
