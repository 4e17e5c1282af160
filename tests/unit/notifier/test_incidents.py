"""Incidents and who is told of them, look by look."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.notifier.scenes import NOW, Story, group, group_of, module, partition, told

from warren.common.status import Status
from warren.notifier.incidents import DeliveryResult, cluster_unreachable, nothing_to_do, with_delivery
from warren.notifier.record import Incident, MessageRecord
from warren.notifier.rules import SLACK_MS, Moment, Told
from warren.notifier.store import Case
from warren.snapshot.model import GroupStatus

OK, WARN, ERR = Status.OK, Status.WARN, Status.ERR


@dataclass(frozen=True)
class Telling:
    """Settings of one module, what it sees at which second, and what it is told then."""

    name: str
    looks: list[tuple[float, Status, str]]
    settings: dict[str, object] = field(default_factory=dict)


TELLINGS = [
    Telling("nothing of a group that is OK", [(0, OK, ""), (5, OK, "")]),
    Telling("a repeat at every look by default", [(0, ERR, "open ERR"), (5, ERR, "open ERR")]),
    Telling(
        "a look that comes a little early is still a whole interval later",
        [(0, ERR, "open ERR"), (4.95, ERR, "open ERR"), (9.0, ERR, "")],
    ),
    Telling(
        "send-interval is kept between messages",
        [(0, ERR, "open ERR"), (5, ERR, ""), (10, ERR, ""), (15, ERR, ""), (20, ERR, "open ERR")],
        {"send-interval": 20},
    ),
    Telling(
        "a slower module is looked at with the others and told when its time has come",
        [(0, WARN, "open WARN"), (5, WARN, ""), (10, WARN, ""), (15, WARN, "open WARN")],
        {"interval": 12},
    ),
    Telling(
        "send-interval holds into the next incident without send-close",
        [(0, ERR, "open ERR"), (5, OK, ""), (10, ERR, ""), (20, ERR, "open ERR")],
        {"send-interval": 20},
    ),
    Telling(
        "a close lets the next incident be told at once",
        [(0, ERR, "open ERR"), (5, OK, "close OK"), (10, ERR, "open ERR")],
        {"send-interval": 20, "send-close": True},
    ),
    Telling(
        "below the threshold nothing is said",
        [(0, WARN, ""), (5, ERR, "open ERR"), (10, WARN, ""), (15, OK, "")],
        {"threshold": 3},
    ),
    Telling(
        "the close is told whatever the threshold",
        [(0, WARN, ""), (5, OK, "close OK"), (10, OK, "")],
        {"threshold": 3, "send-close": True},
    ),
    Telling(
        "threshold 1 hears of groups that are OK",
        [(0, OK, "open OK"), (5, OK, "open OK"), (10, ERR, "open ERR"), (15, OK, "open OK")],
        {"threshold": 1},
    ),
    Telling(
        "threshold 1 with send-close hears the close instead of the OK",
        [(0, ERR, "open ERR"), (5, OK, "close OK"), (10, OK, "open OK")],
        {"threshold": 1, "send-close": True},
    ),
    Telling(
        "send-once says the first of an incident and the close",
        [(0, WARN, "open WARN"), (5, ERR, ""), (10, OK, "close OK"), (15, ERR, "open ERR"), (20, ERR, "")],
        {"send-once": True, "send-close": True},
    ),
    Telling(
        "send-once without send-close hears of the next incident, unlike in Burrow until it is restarted",
        [(0, ERR, "open ERR"), (5, ERR, ""), (10, OK, ""), (15, WARN, "open WARN"), (20, WARN, "")],
        {"send-once": True},
    ),
    Telling(
        "on-change says every status once",
        [
            (0, WARN, "open WARN"),
            (5, WARN, ""),
            (10, ERR, "open ERR"),
            (15, ERR, ""),
            (20, WARN, "open WARN"),
        ],
        {"on-change": True},
    ),
    Telling(
        "on-change tells the close, and the same status again in the next incident",
        [(0, ERR, "open ERR"), (5, ERR, ""), (10, OK, "close OK"), (15, ERR, "open ERR")],
        {"on-change": True, "send-close": True},
    ),
    Telling(
        "on-change without send-close tells the same status again in the next incident",
        [(0, ERR, "open ERR"), (5, OK, ""), (10, ERR, "open ERR"), (15, ERR, "")],
        {"on-change": True},
    ),
    Telling(
        "on-change tells the same status again in the next incident, when send-interval has passed",
        [(0, ERR, "open ERR"), (5, OK, ""), (10, ERR, ""), (20, ERR, "open ERR"), (40, ERR, "")],
        {"on-change": True, "send-interval": 20},
    ),
    Telling(
        "on-change waits for send-interval",
        [(0, WARN, "open WARN"), (5, ERR, ""), (20, ERR, "open ERR")],
        {"on-change": True, "send-interval": 20},
    ),
    Telling(
        "on-change with threshold 1 says OK once",
        [
            (0, OK, "open OK"),
            (5, OK, ""),
            (10, ERR, "open ERR"),
            (15, OK, "open OK"),
            (99, OK, ""),
            (199, OK, ""),
        ],
        {"on-change": True, "threshold": 1},
    ),
    Telling(
        "quiet-start holds the open back, not the incident",
        [(0, ERR, ""), (25, ERR, ""), (30, ERR, "open ERR"), (35, OK, "close OK")],
        {"quiet-start": 30, "send-close": True},
    ),
    Telling(
        "an incident that came and went in the quiet is not closed either",
        [(0, ERR, ""), (5, OK, "")],
        {"quiet-start": 30, "send-close": True},
    ),
]


@pytest.mark.parametrize("case", TELLINGS, ids=lambda case: case.name)
def test_what_a_module_is_told(case: Telling) -> None:
    story = Story([module("", **case.settings)])
    heard = [(at, status, "; ".join(told(story.look(at, status))).strip()) for at, status, _ in case.looks]
    assert heard == case.looks


def test_an_incident_keeps_id_and_start_until_the_group_is_ok() -> None:
    story = Story([module(send_close=True)])
    first, second = story.look(0, WARN), story.look(5, ERR)
    incident = second.case.incident
    assert incident is not None
    assert (incident.id, incident.start_ms, incident.status, incident.worst) == ("g-1", NOW, ERR, ERR)
    third = story.look(10, OK)
    assert third.case == Case("local", "g")
    assert third.ended is not None
    assert (third.ended.end_ms, third.ended.ending, third.ended.worst) == (NOW + 10_000, "ok", ERR)
    messages = first.messages + second.messages + third.messages
    assert {(each.incident, each.start_ms) for each in messages} == {("g-1", NOW)}
    assert [(each.kind, each.status, each.state) for each in third.ended.messages] == [
        ("open", WARN, "owed"),
        ("open", ERR, "owed"),
        ("close", OK, "owed"),
    ]
    assert len({each.id for each in messages}) == 3
    again = story.look(15, WARN).case.incident
    assert again is not None
    assert again.id not in {"g-1", *(each.id for each in messages)}


def test_an_ok_group_is_told_of_without_an_incident() -> None:
    (message,) = Story([module(threshold=1)]).look(0, OK).messages
    assert (message.incident, message.start_ms, message.result.partitions) == ("", None, ())


def test_a_message_has_only_the_partitions_that_are_not_ok() -> None:
    (message,) = Story([module()]).look(0, ERR).messages
    assert [each.status for each in message.result.partitions] == [Status.STOP]
    assert (message.result.partition_count, message.result.totallag) == (2, 100)


class TestGone:
    def test_who_was_told_hears_that_the_group_is_gone(self) -> None:
        story = Story([module("told", send_close=True), module("plain")])
        story.look(0, ERR)
        outcome = story.gone(5)
        assert told(outcome) == ["told close NOTFOUND"]
        assert outcome.ended is not None
        assert (outcome.ended.ending, outcome.ended.status, outcome.ended.worst) == (
            "gone",
            Status.NOTFOUND,
            ERR,
        )
        assert story.case.is_empty

    def test_who_was_not_told_hears_nothing(self) -> None:
        story = Story([module(threshold=3, send_close=True)])
        story.look(0, WARN)
        assert told(story.gone(5)) == []

    def test_a_group_that_comes_back_is_a_new_one(self) -> None:
        story = Story([module(send_interval=60)])
        story.look(0, ERR)
        story.gone(5)
        assert told(story.look(10, ERR)) == ["hook open ERR"]


class TestTopicDenylist:
    modules = (module("all", send_close=True), module("some", send_close=True, topic_denylist="^dead"))

    def test_denied_topics_do_not_count(self) -> None:
        seen = group_of("g", partition("dead-letters", 0, Status.STOP, 900), partition("orders", 0, WARN, 7))
        first, second = Story([*self.modules]).look(0, seen).messages
        assert (first.result.status, first.result.totallag, first.result.partition_count) == (ERR, 907, 2)
        assert (second.result.status, second.result.totallag, second.result.partition_count) == (WARN, 7, 1)
        assert second.result.maxlag == seen.partitions[1]
        assert [each.topic for each in second.result.partitions] == ["orders"]

    def test_a_module_that_saw_no_trouble_hears_of_no_close(self) -> None:
        story = Story([*self.modules])
        story.look(0, group_of("g", partition("dead-letters", 0, Status.STOP, 900), partition("orders", 0)))
        assert told(story.look(5, OK)) == ["all close OK"]

    def test_a_module_hears_the_close_when_its_topics_are_ok_again(self) -> None:
        story = Story([*self.modules])
        both = group_of("g", partition("dead-letters", 0, Status.STOP), partition("orders", 0, WARN))
        one = group_of("g", partition("dead-letters", 0, Status.STOP), partition("orders", 0))
        assert told(story.look(0, both)) == ["all open ERR", "some open WARN"]
        outcome = story.look(5, one)
        assert told(outcome) == ["all open ERR", "some close OK"]
        assert outcome.ended is None
        assert told(story.look(10, both)) == ["all open ERR", "some open WARN"]
        assert {each.incident for each in story.look(15, OK).messages} == {"g-1"}

    def test_trouble_it_does_not_see_is_no_incident_to_a_module_that_hears_of_ok(self) -> None:
        story = Story([module("all"), module("some", threshold=1, topic_denylist="^dead")])
        outcome = story.look(
            0, group_of("g", partition("dead-letters", 0, Status.STOP), partition("orders", 0))
        )
        assert [(each.module, each.incident != "") for each in outcome.messages] == [
            ("all", True),
            ("some", False),
        ]
        assert outcome.case.incident is not None
        assert [each.module for each in outcome.case.incident.messages] == ["all"]

    def test_nothing_but_denied_topics_is_ok(self) -> None:
        story = Story([module(threshold=1, topic_denylist=".")])
        (message,) = story.look(0, ERR).messages
        assert (message.result.status, message.result.maxlag, message.result.complete) == (OK, None, 1.0)


class TestMinimumComplete:
    incomplete = group_of("g", partition("orders", 0, Status.STOP, 5, 0.4), partition("orders", 1))
    complete = group("g", ERR)

    def test_half_filled_windows_are_not_told_of(self) -> None:
        story = Story([module(minimum_complete=0.8, send_close=True)])
        assert told(story.look(0, self.incomplete)) == []
        assert told(story.look(5, self.complete)) == ["hook open ERR"]
        assert told(story.look(10, group_of("g", partition("orders", 0, complete=0.1)))) == ["hook close OK"]

    def test_an_incident_that_was_held_back_is_not_closed(self) -> None:
        story = Story([module(minimum_complete=0.8, send_close=True)])
        story.look(0, self.incomplete)
        assert told(story.look(5, OK)) == []


class TestMinimumLag:
    """A message only when the total lag is at least that."""

    @staticmethod
    def behind(*lags: int) -> GroupStatus:
        return group_of("g", *(partition("orders", at, Status.STOP, lag) for at, lag in enumerate(lags)))

    def test_the_opening_comes_when_the_sum_of_the_lags_reaches_it(self) -> None:
        story = Story([module(minimum_lag=100, send_close=True), module("other")])
        assert told(story.look(0, self.behind(60, 39))) == ["other open ERR"]
        reached = story.look(5, self.behind(60, 40))
        assert told(reached) == ["hook open ERR", "other open ERR"]
        # one incident, whose start is when the status became worse than OK
        assert {message.start_ms for message in reached.messages} == {NOW}
        assert told(story.look(10, self.behind(99))) == ["other open ERR"]
        assert told(story.look(15, self.behind(500))) == ["hook open ERR", "other open ERR"]
        assert told(story.look(20, OK)) == ["hook close OK"]

    def test_an_incident_that_never_reached_it_is_not_closed(self) -> None:
        story = Story([module(minimum_lag=100, send_close=True)])
        assert told(story.look(0, self.behind(99))) == []
        assert told(story.look(5, OK)) == []
        assert told(story.look(10, self.behind(100))) == ["hook open ERR"]
        assert told(story.gone(15)) == ["hook close NOTFOUND"]

    def test_it_does_not_use_up_send_once(self) -> None:
        story = Story([module(minimum_lag=100, send_once=True)])
        found = [told(story.look(5 * at, self.behind(lag))) for at, lag in enumerate((50, 100, 150))]
        assert found == [[], ["hook open ERR"], []]

    def test_topics_that_do_not_count_do_not_count(self) -> None:
        story = Story([module(minimum_lag=100, topic_denylist="^audit$")])
        audit = partition("audit", 0, Status.STOP, 500)
        assert told(story.look(0, group_of("g", audit, partition("orders", 0, Status.STOP, 99)))) == []
        assert told(story.look(5, group_of("g", audit, partition("orders", 0, Status.STOP, 100)))) == [
            "hook open ERR"
        ]

    def test_a_cluster_that_is_unreachable_has_no_lag_and_is_told_of(self) -> None:
        outcome = cluster_unreachable(
            Case("local", ""), "down", [module(minimum_lag=100)], Moment(NOW, 0), iter("abc").__next__
        )
        assert told(outcome) == ["hook open ERR"]


@dataclass(frozen=True)
class Idle:
    """A group that is known so; whether a look can be spared 3 s after the module was last told."""

    name: str
    status: Status
    told: Told | None
    spared: bool
    incident: bool = True
    settings: dict[str, object] = field(default_factory=dict)


IDLES = [
    Idle("told a moment ago", ERR, Told(NOW, ERR, "i"), spared=True),
    Idle("told long ago", ERR, Told(NOW - 60_000, ERR, "i"), spared=False),
    Idle("not told yet", ERR, None, spared=False),
    Idle("below the threshold", WARN, None, spared=True, settings={"threshold": 3}),
    Idle("worse than at the last look", Status.ERR, Told(NOW, WARN, "i"), spared=False, settings={"x": 1}),
    Idle("told once", ERR, Told(NOW - 60_000, ERR, "i"), spared=True, settings={"send-once": True}),
    Idle("a view of its own", ERR, Told(NOW, ERR, "i"), spared=False, settings={"topic-denylist": "x"}),
    Idle("OK and nothing known", OK, None, spared=True, incident=False),
    Idle("OK, and wants to hear it", OK, None, spared=False, incident=False, settings={"threshold": 1}),
    Idle(
        "OK, and what was told can be forgotten",
        OK,
        Told(NOW - 60_000, ERR, "i"),
        spared=False,
        incident=False,
    ),
    Idle("OK, and what was told still counts", OK, Told(NOW, ERR, "i"), spared=True, incident=False),
]


@pytest.mark.parametrize("case", IDLES, ids=lambda case: case.name)
def test_a_look_is_spared_only_when_it_would_change_nothing(case: Idle) -> None:
    settings = {key: value for key, value in case.settings.items() if key != "x"}
    modules = [module(**settings)]
    before = WARN if "x" in case.settings else case.status
    incident = Incident("i", "local", "g", NOW, None, "", before, before) if case.incident else None
    known = Case("local", "g", incident, {"hook": case.told} if case.told else {})
    assert nothing_to_do(known, case.status, modules, NOW + 3000) is case.spared
    if case.spared:
        story = Story(modules, case=known)
        outcome = story.look(3, case.status)
        assert (outcome.messages, outcome.ended, outcome.case) == ((), None, known)


def test_news_of_a_message_is_noted() -> None:
    story = Story([module("a"), module("b")])
    outcome = story.look(0, ERR)
    assert outcome.case.incident is not None
    after = with_delivery(
        outcome.case.incident, DeliveryResult(outcome.messages[1], "sent", 2, NOW + 9, "HTTP 200")
    )
    assert [(each.state, each.attempts, each.answer) for each in after.messages] == [
        ("owed", 0, ""),
        ("sent", 2, "HTTP 200"),
    ]


def test_a_long_incident_keeps_its_first_and_newest_messages_and_what_is_owed() -> None:
    story = Story([module()])
    for look in range(80):
        outcome = story.look(look * 5, ERR)
        assert outcome.case.incident is not None
        if look != 30:
            delivery = DeliveryResult(outcome.messages[0], "sent", 1, NOW, "")
            incident = with_delivery(outcome.case.incident, delivery)
            story.case = Case("local", "g", incident, outcome.case.told)
    assert story.case.incident is not None
    kept: tuple[MessageRecord, ...] = story.case.incident.messages
    at = [(each.decided_ms - NOW) // 5000 for each in kept]
    assert at == [*range(10), 30, *range(40, 80)]


settings = st.fixed_dictionaries(
    {},
    optional={
        "send-interval": st.sampled_from([5, 12, 20]),
        "threshold": st.sampled_from([0, 1, 2, 3]),
        "send-once": st.booleans(),
        "send-close": st.booleans(),
        "on-change": st.booleans(),
        "quiet-start": st.sampled_from([0, 8]),
        "minimum-complete": st.sampled_from([0.0, 0.6]),
        "topic-denylist": st.sampled_from(["^dead", "nothing"]),
    },
)
sights = st.lists(
    st.none()
    | st.builds(
        lambda first, second, full: group_of(
            "g", partition("dead-letters", 0, first), partition("orders", 0, second, 3, full)
        ),
        st.sampled_from([OK, OK, WARN, Status.STOP]),
        st.sampled_from([OK, OK, WARN, Status.STALL]),
        st.sampled_from([1.0, 1.0, 0.2]),
    ),
    max_size=12,
)


@given(st.lists(settings, min_size=1, max_size=3), sights)
def test_whatever_is_seen_and_configured(
    configured: list[dict[str, object]], seen: list[GroupStatus | None]
) -> None:
    story = Story([module(f"m{number}", **each) for number, each in enumerate(configured)])
    for at, result in enumerate(seen):
        before, now_ms = story.case, NOW + at * 5000
        outcome = story.gone(at * 5) if result is None else story.look(at * 5, result)
        if result is not None and nothing_to_do(before, result.status, story.modules, now_ms):
            assert (outcome.case, outcome.messages, outcome.ended) == (before, (), None)
        troubled = result is not None and result.status > OK
        assert (story.case.incident is not None) is troubled
        assert (outcome.ended is not None) is (before.incident is not None and not troubled)
        current = story.case.incident or outcome.ended
        for message in outcome.messages:
            if message.incident:
                assert current is not None
                assert (message.incident, message.start_ms) == (current.id, current.start_ms)
                assert [each.id for each in current.messages].count(message.id) == 1
            else:
                assert (message.kind, message.result.status) == ("open", OK)
            if message.kind == "close":
                assert message.result.status <= OK
            last = before.told.get(message.module)
            if message.kind == "open" and last is not None:
                its = next(each for each in story.modules if each.name == message.module).settings
                assert now_ms - last.at_ms >= its.repeat_after * 1000 - SLACK_MS
                assert not (its.send_once and message.incident and last.incident == message.incident)
