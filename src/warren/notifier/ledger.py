"""The notifier's state in memory: every change is stored before it is applied."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
import structlog

from warren.notifier.incidents import DeliveryResult, Outcome, with_delivery, with_records
from warren.notifier.message import Message
from warren.notifier.record import Incident, MessageRecord
from warren.notifier.store import PAST_COUNT, PAST_MS, Case, Change, Contents, Store, StoreError

log = structlog.get_logger("warren.notifier")

_NO_CASE: Final = Case("", "")


class Ledger:
    """Changes come from several threads; readers never wait for the store, only for copies in memory.

    `needs_store`: whether a change that could not be stored is refused. It is with several instances: the next leader
    would not have it. A single instance continues in memory, for a full disk must not suppress messages, and the store
    catches up later. Only a process that ends before that may send something twice.
    """

    def __init__(self, store: Store, *, needs_store: bool) -> None:
        self._store = store
        self._needs_store = needs_store
        # one change at a time; held during a write to the store
        self._writing = threading.Lock()
        # held briefly
        self._memory = threading.Lock()
        # cluster and group: what is known
        self._cases: dict[tuple[str, str], Case] = {}
        # incident: itself; oldest end first
        self._past: dict[str, Incident] = {}
        # message id: itself, in the order of their decisions
        self._owed: dict[str, Message] = {}
        # message id: its result, where that could not be stored
        self._unwritten: dict[str, DeliveryResult] = {}
        # when the last message was decided, by a clock that may have gone back since
        self._decided_ms = 0
        # whether the store lacks changes that are in memory
        self._behind = False

    def load(self) -> list[Message]:
        """Start with the contents of the store; returns the pending messages, oldest first."""
        with self._writing:
            contents = self._store.load()
            self._replace(contents)
            unwritten = list(self._unwritten.values())
        # messages that this process has sent are not sent again, though the store has them as owed
        self.note(delivery for delivery in unwritten if delivery.message.id in self._owed)
        with self._writing, self._memory:
            for delivery in unwritten:
                self._unwritten.pop(delivery.message.id, None)
            return list(self._owed.values())

    def refresh(self) -> None:
        """Read a store that another instance writes."""
        with self._writing:
            with self._memory:
                known = Contents(tuple(self._cases.values()), tuple(self._past.values()))
            self._replace(self._store.refresh(known))

    def catch_up(self) -> None:
        """Store what could not be stored before."""
        with self._writing:
            if not self._behind:
                return
            try:
                self._store.write(list(self._lacking(self._store.load())))
            except StoreError:
                return
            self._behind = False
        log.info("incidents are stored again")

    def decide(self, outcomes: Sequence[Outcome], now_ms: int) -> list[Message]:
        """Store decisions; returns the messages that may now be sent."""
        with self._writing:
            changes: list[Change] = []
            messages: list[Message] = []
            # on most days the clock goes on
            pending_ms = self._pending_ms() if now_ms < self._decided_ms else {}
            for outcome in map(self._with_results, outcomes):
                decided = _decided_after(outcome.messages, pending_ms.get(outcome.case.key, 0))
                fitted = self._store.fitted(decided) if decided else ()
                past = (outcome.ended,) if outcome.ended else ()
                changes.append(Change(outcome.case, past, owed=fitted))
                messages += fitted
            forgotten = self._too_old([each.past[0] for each in changes if each.past], now_ms)
            if forgotten:
                changes.append(Change(forgotten=forgotten))
            self._write(changes)
            self._decided_ms = max((self._decided_ms, *(each.decided_ms for each in messages)))
        return messages

    def note(self, deliveries: Iterable[DeliveryResult]) -> None:
        """Store the results of deliveries."""
        with self._writing:
            for each in deliveries:
                if each.message.id in self._owed:
                    self._note(each)

    def open_cases(self, cluster: str) -> dict[str, Case]:
        """Group: its case, for the groups of a cluster that have one."""
        with self._memory:
            return {group: case for (name, group), case in self._cases.items() if name == cluster}

    def clusters(self) -> set[str]:
        """The clusters with any case."""
        with self._memory:
            return {cluster for cluster, _ in self._cases}

    def incidents(self) -> list[Incident]:
        """Open ones first, each kind with the newest first."""
        with self._memory:
            ongoing = [case.incident for case in self._cases.values() if case.incident is not None]
            past = list(self._past.values())
        ongoing.sort(key=lambda each: each.start_ms, reverse=True)
        past.sort(key=lambda each: (each.end_ms or 0, each.start_ms), reverse=True)
        return ongoing + past

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
        """Module: its pending messages."""
        with self._memory:
            return Counter(message.module for message in self._owed.values())

    def close(self) -> None:
        self.catch_up()
        with self._writing:
            self._store.close()

    def _note(self, delivery: DeliveryResult) -> None:
        message, case = delivery.message, None
        past: tuple[Incident, ...] = ()
        incident = self._incident_of(message)
        if incident is not None:
            after = with_delivery(incident, delivery)
            if incident.is_open:
                known = self._cases[incident.cluster, incident.group]
                case = Case(known.cluster, known.group, after, known.told, known.seen_by)
            else:
                past = (after,)
        settled = () if delivery.state == "owed" else (message.id,)
        if case is None and not past and not settled:
            return
        try:
            self._write([Change(case, past, settled=settled)])
        except StoreError:
            self._unwritten[message.id] = delivery
            raise

    def _with_results(self, outcome: Outcome) -> Outcome:
        """It was decided on a copy of the case, and deliveries may have ended since then."""
        incident = self._cases.get(outcome.case.key, _NO_CASE).incident
        return with_records(outcome, incident.messages) if incident else outcome

    def _pending_ms(self) -> dict[tuple[str, str], int]:
        """Cluster and group: when the last of its pending messages was decided."""
        found: dict[tuple[str, str], int] = {}
        for each in self._owed.values():
            key = each.result.cluster, each.result.group
            found[key] = max(each.decided_ms, found.get(key, 0))
        return found

    def _incident_of(self, message: Message) -> Incident | None:
        case = self._cases.get((message.result.cluster, message.result.group), _NO_CASE)
        if case.incident is not None and case.incident.id == message.incident:
            return case.incident
        return self._past.get(message.incident)

    def _write(self, changes: Sequence[Change]) -> None:
        # a store that is behind gets everything at once, in `catch_up`
        if not self._behind:
            try:
                self._store.write(changes)
            except StoreError as error:
                if self._needs_store:
                    raise
                log.error("incidents cannot be stored", error=str(error))  # noqa: TRY400 - expected
                self._behind = True
        with self._memory:
            for change in changes:
                self._apply(change)

    def _lacking(self, stored: Contents) -> Iterator[Change]:
        """The changes that make the contents of the store those of memory."""
        cases = {case.key: case for case in stored.cases}
        past = {each.id: each for each in stored.past}
        owed = {each.id for each in stored.owed}
        for key in cases.keys() - self._cases.keys():
            yield Change(Case(*key))
        for key, case in self._cases.items():
            if case != cases.get(key):
                yield Change(case)
        yield Change(
            past=tuple(each for each in self._past.values() if each != past.get(each.id)),
            forgotten=tuple(each for each in stored.past if each.id not in self._past),
            owed=tuple(each for each in self._owed.values() if each.id not in owed),
            settled=tuple(owed - self._owed.keys()),
        )

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

    def _replace(self, contents: Contents) -> None:
        past = sorted(contents.past, key=lambda each: each.end_ms or 0)
        owed = sorted(contents.owed, key=lambda each: each.decided_ms)
        with self._memory:
            self._cases = {case.key: case for case in contents.cases}
            self._past = {each.id: each for each in past}
            self._owed = {each.id: each for each in owed}
            self._decided_ms = max((self._decided_ms, *(each.decided_ms for each in owed)))

    def _too_old(self, coming: Sequence[Incident], now_ms: int) -> tuple[Incident, ...]:
        """Closed incidents to remove; those with a pending message stay until it is sent or failed."""
        if not coming:
            return ()
        excess = len(self._past) + len(coming) - PAST_COUNT
        return tuple(
            each
            for number, each in enumerate(self._past.values())
            if (number < excess or (each.end_ms or 0) < now_ms - PAST_MS)
            and not any(record.id in self._owed for record in each.messages)
        )


def _decided_after(messages: tuple[Message, ...], pending_ms: int) -> tuple[Message, ...]:
    """Messages of a group, decided later than those that are pending, also by a clock that went back: the time is their
    order in the store."""
    return tuple(
        msgspec.structs.replace(each, decided_ms=max(each.decided_ms, pending_ms + 1)) for each in messages
    )
