"""The ledger over a real file, and over books that fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.unit.notifier.scenes import NOW, Story, module

from warren.common.status import Status
from warren.notifier.incidents import DeliveryResult, Outcome
from warren.notifier.ledger import Ledger
from warren.notifier.message import Message
from warren.notifier.record import Incident
from warren.notifier.sqlite_store import FILE, SqliteStore
from warren.notifier.store import PAST_COUNT, PAST_MS, Change, StoreError


class FailingBook(SqliteStore):
    """Fails while it is told to."""

    failing = False

    def write(self, changes: Sequence[Change]) -> None:
        if self.failing:
            raise StoreError("no space left")
        super().write(changes)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FailingBook]:
    made = FailingBook(tmp_path, NOW)
    yield made
    made.close()


def opened(ledger: Ledger, group: str = "g", at_s: float = 0) -> Message:
    (message,) = ledger.decide([Story([module()], group).look(at_s, Status.ERR)], NOW)
    return message


def sent(message: Message) -> DeliveryResult:
    return DeliveryResult(message, "sent", 1, NOW + 50, "HTTP 200")


def again(tmp_path: Path) -> Ledger:
    """What another process finds."""
    ledger = Ledger(SqliteStore(tmp_path, NOW), needs_store=False)
    ledger.load()
    return ledger


def test_a_decision_is_owed_in_the_book_before_it_is_given_out(store: FailingBook, tmp_path: Path) -> None:
    ledger = Ledger(store, needs_store=False)
    message = opened(ledger)
    other = again(tmp_path)
    assert other.incidents() == ledger.incidents()
    assert other.owed() == {"hook": 1}
    assert other.load() == [message]
    other.close()


def test_what_was_sent_is_not_owed_any_more(store: FailingBook, tmp_path: Path) -> None:
    ledger = Ledger(store, needs_store=False)
    message = opened(ledger)
    ledger.note([DeliveryResult(message, "owed", 1, NOW + 10, "HTTP 503")])
    other = again(tmp_path)
    record = other.record_of(message)
    assert record is not None
    assert (record.state, record.attempts, record.at_ms, record.answer) == ("owed", 1, NOW + 10, "HTTP 503")
    other.close()
    ledger.note([sent(message)])
    other = again(tmp_path)
    record = other.record_of(message)
    assert other.load() == []
    assert record is not None
    assert (record.state, record.answer) == ("sent", "HTTP 200")
    other.close()


def test_news_of_a_message_reach_an_incident_that_is_over(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=False)
    story = Story([module(send_close=True)])
    ledger.decide([story.look(0, Status.ERR)], NOW)
    (close,) = ledger.decide([story.look(5, Status.OK)], NOW)
    ledger.note([sent(close)])
    ledger.load()
    (incident,) = ledger.incidents()
    assert [(each.kind, each.state) for each in incident.messages] == [("open", "owed"), ("close", "sent")]
    assert ledger.open_cases("local") == {}


def test_after_a_clock_was_set_back_and_a_restart_the_close_was_sent_before_its_open(
    store: FailingBook,
) -> None:
    ledger = Ledger(store, needs_store=False)
    story = Story([module(send_close=True)])
    ledger.decide([story.look(3 * 3600, Status.ERR)], NOW)
    ledger.decide([story.look(120, Status.OK)], NOW)
    ledger.decide([story.look(180, Status.ERR)], NOW)
    # another group has its own time
    opened(ledger, "h", 60)
    assert [(each.result.group, each.kind) for each in ledger.load()] == [
        ("h", "open"),
        ("g", "open"),
        ("g", "close"),
        ("g", "open"),
    ]


@pytest.mark.parametrize("then", [Status.ERR, Status.OK])
def test_the_result_of_a_delivery_that_ended_during_a_round_was_undone(
    store: FailingBook, then: Status
) -> None:
    ledger = Ledger(store, needs_store=False)
    story = Story([module(send_close=True)])
    (message,) = ledger.decide([story.look(0, Status.ERR)], NOW)
    # the round has its copy, then the attempt ends, then the round stores what it decided
    outcome = story.look(5, then)
    ledger.note([sent(message)])
    ledger.decide([outcome], NOW)
    ledger.load()
    (incident,) = ledger.incidents()
    assert [(each.state, each.attempts) for each in incident.messages] == [("sent", 1), ("owed", 0)]


def test_open_incidents_come_first_and_the_newest_of_each(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=False)
    stories = {name: Story([module()], name) for name in "abcd"}
    for at, name in enumerate("abcd"):
        ledger.decide([stories[name].look(at, Status.ERR)], NOW)
    for at, name in enumerate("ab"):
        ledger.decide([stories[name].look(10 + at, Status.OK)], NOW)
    assert [each.start_ms - NOW for each in ledger.incidents()] == [3000, 2000, 1000, 0]
    assert [each.is_open for each in ledger.incidents()] == [True, True, False, False]


def test_alone_a_book_that_fails_keeps_nobody_from_hearing_of_trouble(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=False)
    store.failing = True
    message = opened(ledger)
    ledger.note([sent(message)])
    assert [each.messages[0].state for each in ledger.incidents()] == ["sent"]


def test_a_message_that_was_sent_while_the_disk_was_full_was_sent_again_weeks_later(
    store: FailingBook, tmp_path: Path
) -> None:
    ledger = Ledger(store, needs_store=False)
    story = Story([module(send_close=True)])
    (message,) = ledger.decide([story.look(0, Status.ERR)], NOW)
    store.failing = True
    ledger.note([sent(message)])
    ledger.catch_up()
    store.failing = False
    story.case = ledger.open_cases("local")["g"]
    (close,) = ledger.decide([story.look(600, Status.OK)], NOW)
    ledger.note([sent(close)])
    ledger.catch_up()
    other = again(tmp_path)
    assert other.load() == []
    assert other.incidents() == ledger.incidents()
    other.close()


def test_an_incident_that_closed_while_the_disk_was_full_was_open_again_after_a_restart(
    store: FailingBook, tmp_path: Path
) -> None:
    ledger = Ledger(store, needs_store=False)
    ledger.decide([past(1, NOW)], NOW)
    story = Story([module(send_close=True)])
    (message,) = ledger.decide([story.look(0, Status.ERR)], NOW)
    ledger.note([sent(message)])
    story.case = ledger.open_cases("local")["g"]
    store.failing = True
    # the oldest incident is forgotten, another group opens and its message is pending
    (close,) = ledger.decide([story.look(PAST_MS / 1000 + 1, Status.OK)], NOW + PAST_MS + 1)
    ledger.note([sent(close)])
    pending = opened(ledger, "h")
    store.failing = False
    # an ordinary end makes up for it, too
    ledger.close()
    other = again(tmp_path)
    assert other.load() == [pending]
    assert [(each.group, each.is_open) for each in other.incidents()] == [("h", True), ("g", False)]
    assert other.incidents() == ledger.incidents()
    other.close()


def test_among_several_nothing_counts_that_is_not_written(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=True)
    store.failing = True
    with pytest.raises(StoreError, match="no space left"):
        opened(ledger)
    assert ledger.incidents() == []
    assert ledger.owed() == {}


def test_what_is_known_to_be_out_is_not_owed_after_the_book_is_back(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=True)
    message = opened(ledger)
    store.failing = True
    with pytest.raises(StoreError):
        ledger.note([sent(message)])
    store.failing = False
    assert ledger.load() == []
    record = ledger.record_of(message)
    assert record is not None
    assert record.state == "sent"


def past(number: int, end_ms: int) -> Outcome:
    incident = Incident(f"i{number}", "local", "g", end_ms - 1, end_ms, "ok", Status.OK, Status.ERR)
    return Outcome(Story([]).case, (), incident)


def test_past_incidents_are_bounded_in_number(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=False)
    ledger.decide([past(number, NOW + number) for number in range(PAST_COUNT)], NOW)
    for number in range(PAST_COUNT, PAST_COUNT + 5):
        ledger.decide([past(number, NOW + number)], NOW)
    assert len(ledger.incidents()) == PAST_COUNT
    ledger.load()
    assert [each.id for each in ledger.incidents()] == [f"i{n}" for n in range(PAST_COUNT + 4, 4, -1)]


def test_past_incidents_are_bounded_in_age(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=False)
    ledger.decide([past(1, NOW)], NOW)
    ledger.decide([past(2, NOW + PAST_MS)], NOW + PAST_MS)
    assert [each.id for each in ledger.incidents()] == ["i2", "i1"]
    ledger.decide([past(3, NOW + PAST_MS + 1)], NOW + PAST_MS + 1)
    assert [each.id for each in ledger.incidents()] == ["i3", "i2"]


def test_a_past_incident_stays_while_a_message_of_it_is_owed(store: FailingBook) -> None:
    ledger = Ledger(store, needs_store=False)
    story = Story([module(send_close=True)])
    (opened,) = ledger.decide([story.look(0, Status.ERR)], NOW)
    (close,) = ledger.decide([story.look(5, Status.OK)], NOW)
    ledger.note([sent(opened)])
    later_ms = NOW + 2 * PAST_MS
    ledger.decide([past(1, later_ms)], later_ms)
    assert [each.group for each in ledger.incidents()] == ["g", "g"]
    ledger.note([sent(close)])
    ledger.decide([past(2, later_ms)], later_ms)
    assert {each.id for each in ledger.incidents()} == {"i1", "i2"}


class TestUnreadableFile:
    def test_it_is_put_aside_and_a_new_one_begun(self, tmp_path: Path) -> None:
        (tmp_path / FILE).write_bytes(b"no database at all" * 100)
        ledger = Ledger(SqliteStore(tmp_path, NOW), needs_store=False)
        assert ledger.load() == []
        message = opened(ledger)
        assert (tmp_path / f"{FILE}.unreadable-{NOW}").read_bytes().startswith(b"no database")
        ledger.close()
        assert again(tmp_path).load() == [message]

    def test_so_is_one_with_a_content_that_is_none(self, tmp_path: Path) -> None:
        ledger = Ledger(SqliteStore(tmp_path, NOW), needs_store=False)
        opened(ledger)
        ledger.close()
        with sqlite3.connect(tmp_path / FILE) as connection:
            connection.execute("UPDATE owed SET content = x'00'")
        connection.close()
        assert again(tmp_path).incidents() == []
        assert (tmp_path / f"{FILE}.unreadable-{NOW}").exists()

    def test_a_place_that_cannot_be_written_is_an_error_that_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "notifier").write_text("a file, no directory")
        with pytest.raises(StoreError, match=r"correct spark\.checkpoint-dir"):
            SqliteStore(tmp_path / "notifier", NOW)
