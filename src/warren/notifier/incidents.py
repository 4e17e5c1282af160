"""Evaluates a group: its incident, and which messages to send. Pure: time and ids are arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from warren.common.status import Status
from warren.notifier.message import Kind, Message
from warren.notifier.record import Ending, Incident, MessageRecord, State
from warren.notifier.rules import (
    Module,
    Moment,
    Told,
    closes,
    may_open,
    opens,
    still_relevant,
    view_of,
    was_notified,
)
from warren.notifier.store import Case
from warren.snapshot.model import GroupStatus

# of a long incident this many first and newest messages are kept in its record
_FIRST: Final = 10
_NEWEST: Final = 40

NewId = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of evaluating a group."""

    case: Case
    messages: tuple[Message, ...] = ()
    # the incident that this evaluation closed
    ended: Incident | None = None


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of an attempt to send a message, or why there will be none."""

    message: Message
    state: State
    attempts: int
    at_ms: int
    answer: str


@dataclass(slots=True)
class _MessageBuilder:
    """Collects the messages of one evaluation."""

    moment: Moment
    new_id: NewId
    # module: what it was last told
    told: dict[str, Told]
    messages: list[Message] = field(default_factory=list)

    def add(self, module: Module, kind: Kind, view: GroupStatus, incident: Incident | None) -> None:
        number, start_ms = (incident.id, incident.start_ms) if incident else ("", None)
        identity = self.new_id(), module.name, kind, number, start_ms, self.moment.now_ms
        self.messages.append(Message(*identity, _not_ok(view)))
        if kind == "open":
            self.told[module.name] = Told(self.moment.now_ms, view.status, number)
        else:
            # the next incident is notified at once
            self.told.pop(module.name, None)


def evaluated(
    case: Case, result: GroupStatus, modules: Sequence[Module], moment: Moment, new_id: NewId
) -> Outcome:
    """Evaluate an existing group; `modules` are those whose lists accept it."""
    incident = _current_incident(case, result.status, moment.now_ms, new_id)
    builder = _MessageBuilder(moment, new_id, dict(case.told))
    seen_by = set()
    for module in modules:
        view, seen = view_of(module, result), incident is not None
        if module.has_own_view:
            # as in Burrow, modules get every incident; with a topic-denylist only if their own status was not OK
            seen = module.name in case.seen_by
            if view.status > Status.OK:
                seen_by.add(module.name)
        its = incident if seen or view.status > Status.OK else None
        told, number = builder.told.get(module.name), its.id if its else ""
        if seen and view.status == Status.OK and closes(module, told, number):
            builder.add(module, "close", view, its)
        elif opens(module, view, told, number, moment):
            builder.add(module, "open", view, its)
    ending: Ending = "ok" if result.status == Status.OK else ""
    state = Case(case.cluster, case.group, incident, seen_by=frozenset(seen_by))
    return _outcome(state, builder, modules, ending)


def group_removed(
    case: Case, modules: Sequence[Module], moment: Moment, new_id: NewId, ending: Ending = "gone"
) -> Outcome:
    """The group no longer exists: its incident ends, and modules that were notified get the close."""
    builder, incident = _MessageBuilder(moment, new_id, dict(case.told)), case.incident
    nothing = GroupStatus(case.cluster, case.group, Status.NOTFOUND, 1.0, (), 0, None, 0)
    for module in modules:
        told = builder.told.get(module.name)
        if incident is not None and module.settings.send_close and was_notified(told, incident.id):
            builder.add(module, "close", nothing, incident)
    # as in Burrow, a group that comes back is a new one
    builder.told.clear()
    return _outcome(Case(case.cluster, case.group, incident), builder, modules, ending)


def cluster_unreachable(
    case: Case, reason: str, modules: Sequence[Module], moment: Moment, new_id: NewId
) -> Outcome:
    """The cluster itself is unreachable; `modules` are those whose delay has passed."""
    outcome = evaluated(case, _cluster(case, Status.ERR), modules, moment, new_id)
    incident = outcome.case.incident
    if incident is None or incident.reason == reason:
        return outcome
    told = msgspec.structs.replace(outcome.case, incident=msgspec.structs.replace(incident, reason=reason))
    return replace(outcome, case=told)


def cluster_reachable(case: Case, modules: Sequence[Module], moment: Moment, new_id: NewId) -> Outcome:
    """The cluster is reachable again: modules that were notified get the close. Its case is removed."""
    builder = _MessageBuilder(moment, new_id, dict(case.told))
    for module in modules:
        told = builder.told.get(module.name)
        if case.incident is not None and module.settings.send_close and was_notified(told, case.incident.id):
            builder.add(module, "close", _cluster(case, Status.OK), case.incident)
    builder.told.clear()
    return _outcome(Case(case.cluster, case.group, case.incident), builder, modules, "ok")


def _cluster(case: Case, status: Status) -> GroupStatus:
    """A cluster as the subject of a message: a group without a name and without partitions."""
    return GroupStatus(case.cluster, case.group, status, 1.0, (), 0, None, 0)


def nothing_to_do(case: Case, status: Status, modules: Sequence[Module], now_ms: int) -> bool:
    """Whether evaluating the group would certainly change nothing, decided without its partitions."""
    incident = case.incident
    if status != (incident.status if incident else Status.OK):
        return False
    if incident is None and len(_relevant(case.told, modules, now_ms)) < len(case.told):
        return False
    number = incident.id if incident else ""
    return not any(
        module.has_own_view or may_open(module, status, case.told.get(module.name), number, now_ms)
        for module in modules
    )


def with_delivery(incident: Incident, delivery: DeliveryResult) -> Incident:
    """The incident with the new state of one of its messages."""
    changed = {name: getattr(delivery, name) for name in ("state", "attempts", "at_ms", "answer")}
    messages = tuple(
        msgspec.structs.replace(each, **changed) if each.id == delivery.message.id else each
        for each in incident.messages
    )
    return msgspec.structs.replace(incident, messages=messages)


def with_records(outcome: Outcome, records: Sequence[MessageRecord]) -> Outcome:
    """The outcome with these records in place of older ones of the same messages."""
    newest = {each.id: each for each in records}

    def renewed(incident: Incident | None) -> Incident | None:
        if incident is None:
            return None
        messages = tuple(newest.get(each.id, each) for each in incident.messages)
        return msgspec.structs.replace(incident, messages=messages)

    case = msgspec.structs.replace(outcome.case, incident=renewed(outcome.case.incident))
    return replace(outcome, case=case, ended=renewed(outcome.ended))


def _current_incident(case: Case, status: Status, now_ms: int, new_id: NewId) -> Incident | None:
    """The incident that the group is in, also when this evaluation closes it."""
    incident = case.incident
    if incident is not None:
        return msgspec.structs.replace(incident, status=status, worst=max(incident.worst, status))
    if status > Status.OK:
        return Incident(new_id(), case.cluster, case.group, now_ms, None, "", status, status)
    return None


def _outcome(state: Case, builder: _MessageBuilder, modules: Sequence[Module], ending: Ending) -> Outcome:
    """The result: the messages go into the incident's record, and a closed incident leaves the case."""
    incident, now_ms = state.incident, builder.moment.now_ms
    if incident is not None:
        records = incident.messages + tuple(
            MessageRecord(each.id, each.module, each.kind, each.result.status, "owed", now_ms, 0, now_ms, "")
            for each in builder.messages
            if each.incident == incident.id
        )
        incident = msgspec.structs.replace(incident, messages=_bounded(records))
    closed = None
    if incident is not None and ending:
        status = Status.OK if ending == "ok" else Status.NOTFOUND
        # a clock that was ahead at the start must not make the end earlier than the start
        end_ms = max(now_ms, incident.start_ms)
        closed = msgspec.structs.replace(incident, end_ms=end_ms, ending=ending, status=status)
        incident = None
    told = builder.told if incident else _relevant(builder.told, modules, now_ms)
    case = msgspec.structs.replace(state, incident=incident, told=told)
    return Outcome(case, tuple(builder.messages), ended=closed)


def _relevant(told: Mapping[str, Told], modules: Sequence[Module], now_ms: int) -> dict[str, Told]:
    """The last messages that are still relevant when there is no incident."""
    by_name = {module.name: module for module in modules}
    return {
        name: each
        for name, each in told.items()
        if name in by_name and still_relevant(by_name[name], each, now_ms)
    }


def _not_ok(view: GroupStatus) -> GroupStatus:
    """What Burrow's templates get: only the partitions that are not OK."""
    kept = tuple(each for each in view.partitions if each.status != Status.OK)
    return msgspec.structs.replace(view, partitions=kept)


def _bounded(records: tuple[MessageRecord, ...]) -> tuple[MessageRecord, ...]:
    """Without the middle of a long record; pending messages stay, their outcome is still to be stored."""
    middle = records[_FIRST:-_NEWEST]
    return (
        records[:_FIRST]
        + tuple(each for each in middle if each.state == "owed")
        + records[_FIRST:][-_NEWEST:]
    )
