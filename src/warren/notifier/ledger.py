"""The book in memory: what is known of every group, what is owed, and every change written down before it counts."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import structlog

from warren.notifier.book import PAST_COUNT, PAST_MS, Book, BookError, Case, Change, Contents
from warren.notifier.incidents import News, Outcome, noted
from warren.notifier.message import Message
from warren.notifier.record import Incident, MessageRecord

log = structlog.get_logger("warren.notifier")

_NOBODY: Final = Case("", "")


class Ledger:
    """Changes come from several threads; readers never wait for the book, only for each other's copying.

    `needs_book`: whether a change that could not be written down must not happen. It must not among several
    instances: the next one would not know of it. One that is alone goes on in memory: a full disk must not keep
    people from hearing of trouble, and the worst that follows is a second open message after a restart.
    """

    def __init__(self, book: Book, *, needs_book: bool) -> None:
        self._book = book
        self._needs_book = needs_book
        # one change at a time; held while the book is written
        self._writing = threading.Lock()
        # held for moments only
        self._memory = threading.Lock()
        # cluster and group: what is known
        self._cases: dict[tuple[str, str], Case] = {}
        # incident: itself; oldest end first
        self._past: dict[str, Incident] = {}
        # message id: itself, in the order of their decisions
        self._owed: dict[str, Message] = {}
        # message id: how it went, where that could not be written down
        self._unwritten: dict[str, News] = {}
        self._told_of_fault = False

    def load(self) -> list[Message]:
        """Begin with what the book says; returns what is owed, oldest first."""
        with self._writing:
            contents = self._book.load()
            self._take(contents)
            unwritten = list(self._unwritten.values())
        # what this process knows to be out is not sent again, though the book does not say so
        self.note(news for news in unwritten if news.message.id in self._owed)
        with self._writing, self._memory:
            for news in unwritten:
                self._unwritten.pop(news.message.id, None)
            return list(self._owed.values())

    def glance(self) -> None:
        """Look into a book that another instance writes."""
        with self._writing:
            with self._memory:
                known = Contents(tuple(self._cases.values()), tuple(self._past.values()))
            self._take(self._book.glance(known))

    def decide(self, outcomes: Sequence[Outcome], now_ms: int) -> list[Message]:
        """Write decisions down; returns the messages that may now be sent."""
        with self._writing:
            changes: list[Change] = []
            messages: list[Message] = []
            for outcome in outcomes:
                fitted = self._book.fitted(outcome.messages) if outcome.messages else ()
                past = (outcome.ended,) if outcome.ended else ()
                changes.append(Change(outcome.case, past, owed=fitted))
                messages += fitted
            forgotten = self._too_old([each.past[0] for each in changes if each.past], now_ms)
            if forgotten:
                changes.append(Change(forgotten=forgotten))
            self._write(changes)
        return messages

    def note(self, news: Iterable[News]) -> None:
        """Write down how messages went."""
        with self._writing:
            for each in news:
                if each.message.id in self._owed:
                    self._note(each)

    def open_cases(self, cluster: str) -> dict[str, Case]:
        """Group: what is known of it, for the groups of a cluster of which anything is."""
        with self._memory:
            return {group: case for (name, group), case in self._cases.items() if name == cluster}

    def clusters(self) -> set[str]:
        """The clusters with any case."""
        with self._memory:
            return {cluster for cluster, _ in self._cases}

    def incidents(self) -> list[Incident]:
        """Open ones first, each kind with the newest first."""
        with self._memory:
            standing = [case.incident for case in self._cases.values() if case.incident is not None]
            past = list(self._past.values())
        standing.sort(key=lambda each: each.start_ms, reverse=True)
        past.sort(key=lambda each: (each.end_ms or 0, each.start_ms), reverse=True)
        return standing + past

    def record_of(self, message: Message) -> MessageRecord | None:
        """What is known of a message of an incident."""
        with self._memory:
            incident = self._incident_of(message)
        records = incident.messages if incident else ()
        return next((each for each in records if each.id == message.id), None)

    def is_owed(self, message: Message) -> bool:
        """Whether it is still to be sent."""
        with self._memory:
            return message.id in self._owed

    def owed(self) -> Counter[str]:
        """Module: messages that it is owed."""
        with self._memory:
            return Counter(message.module for message in self._owed.values())

    def close(self) -> None:
        with self._writing:
            self._book.close()

    def _note(self, news: News) -> None:
        message, case = news.message, None
        past: tuple[Incident, ...] = ()
        incident = self._incident_of(message)
        if incident is not None:
            after = noted(incident, news)
            if incident.is_open:
                known = self._cases[incident.cluster, incident.group]
                case = Case(known.cluster, known.group, after, known.told, known.seen_by)
            else:
                past = (after,)
        settled = () if news.state == "owed" else (message.id,)
        if case is None and not past and not settled:
            return
        try:
            self._write([Change(case, past, settled=settled)])
        except BookError:
            self._unwritten[message.id] = news
            raise

    def _incident_of(self, message: Message) -> Incident | None:
        case = self._cases.get((message.result.cluster, message.result.group), _NOBODY)
        if case.incident is not None and case.incident.id == message.incident:
            return case.incident
        return self._past.get(message.incident)

    def _write(self, changes: Sequence[Change]) -> None:
        try:
            self._book.write(changes)
        except BookError as error:
            if self._needs_book:
                raise
            if not self._told_of_fault:
                log.error("incidents are not written down", error=str(error))  # noqa: TRY400 - the error says it all
            self._told_of_fault = True
        else:
            self._told_of_fault = False
        with self._memory:
            for change in changes:
                self._apply(change)

    def _apply(self, change: Change) -> None:
        if change.case is not None:
            if change.case.is_empty:
                self._cases.pop(change.case.key, None)
            else:
                self._cases[change.case.key] = change.case
        self._past.update((each.id, each) for each in change.past)
        for each in change.forgotten:
            self._past.pop(each.id, None)
        self._owed.update((each.id, each) for each in change.owed)
        for message in change.settled:
            self._owed.pop(message, None)

    def _take(self, contents: Contents) -> None:
        past = sorted(contents.past, key=lambda each: each.end_ms or 0)
        owed = sorted(contents.owed, key=lambda each: each.decided_ms)
        with self._memory:
            self._cases = {case.key: case for case in contents.cases}
            self._past = {each.id: each for each in past}
            self._owed = {each.id: each for each in owed}

    def _too_old(self, coming: Sequence[Incident], now_ms: int) -> tuple[Incident, ...]:
        """Past incidents that have to go; those with an owed message stay until it is settled."""
        if not coming:
            return ()
        excess = len(self._past) + len(coming) - PAST_COUNT
        return tuple(
            each
            for number, each in enumerate(self._past.values())
            if (number < excess or (each.end_ms or 0) < now_ms - PAST_MS)
            and not any(record.id in self._owed for record in each.messages)
        )
