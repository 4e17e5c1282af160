"""What follows when a group is looked at: its incident, and who is told what. Pure: time and ids come from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from warren.common.status import Status
from warren.notifier.book import Case
from warren.notifier.message import Kind, Message
from warren.notifier.record import Ending, Incident, MessageRecord, State
from warren.notifier.rules import Module, Moment, Told, closes, may_open, opens, outlives, told_of, view_of
from warren.snapshot.model import GroupStatus

# of a long incident these many first and newest messages are kept in its record
_FIRST: Final = 10
_NEWEST: Final = 40

NewId = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a look at a group came to."""

    case: Case
    messages: tuple[Message, ...] = ()
    # the incident that is over with this look
    ended: Incident | None = None


@dataclass(frozen=True, slots=True)
class News:
    """How an attempt to send a message went, or why there will be none."""

    message: Message
    state: State
    attempts: int
    at_ms: int
    answer: str


@dataclass(slots=True)
class _Telling:
    """The messages of one look, as they are decided."""

    moment: Moment
    new_id: NewId
    # module: what it was last told
    told: dict[str, Told]
    messages: list[Message] = field(default_factory=list)

    def tell(self, module: Module, kind: Kind, view: GroupStatus, incident: Incident | None) -> None:
        number, start_ms = (incident.id, incident.start_ms) if incident else ("", None)
        identity = self.new_id(), module.name, kind, number, start_ms, self.moment.now_ms
        self.messages.append(Message(*identity, _troubled(view)))
        if kind == "open":
            self.told[module.name] = Told(self.moment.now_ms, view.status, number)
        else:
            # the next incident is told of at once
            self.told.pop(module.name, None)


def looked_at(
    case: Case, result: GroupStatus, modules: Sequence[Module], moment: Moment, new_id: NewId
) -> Outcome:
    """A look at a group that is there; `modules` are those whose lists accept it."""
    incident = _standing(case, result.status, moment.now_ms, new_id)
    telling = _Telling(moment, new_id, dict(case.told))
    seen_by = set()
    for module in modules:
        view, seen = view_of(module, result), incident is not None
        if module.has_own_view:
            # Burrow's modules see every incident; with a view of its own, one has to have seen trouble in it
            seen = module.name in case.seen_by
            if view.status > Status.OK:
                seen_by.add(module.name)
        its = incident if seen or view.status > Status.OK else None
        told, number = telling.told.get(module.name), its.id if its else ""
        if seen and view.status == Status.OK and closes(module, told, number):
            telling.tell(module, "close", view, its)
        elif opens(module, view, told, number, moment):
            telling.tell(module, "open", view, its)
    ending: Ending = "ok" if result.status == Status.OK else ""
    standing = Case(case.cluster, case.group, incident, seen_by=frozenset(seen_by))
    return _outcome(standing, telling, modules, ending)


def vanished(
    case: Case, modules: Sequence[Module], moment: Moment, new_id: NewId, ending: Ending = "gone"
) -> Outcome:
    """The group is not there any more: its incident ends, and who was told of it hears so."""
    telling, incident = _Telling(moment, new_id, dict(case.told)), case.incident
    nothing = GroupStatus(case.cluster, case.group, Status.NOTFOUND, 1.0, (), 0, None, 0)
    for module in modules:
        told = telling.told.get(module.name)
        if incident is not None and module.settings.send_close and told_of(told, incident.id):
            telling.tell(module, "close", nothing, incident)
    # as Burrow: a group that comes back is a new one
    telling.told.clear()
    return _outcome(Case(case.cluster, case.group, incident), telling, modules, ending)


def unseen(case: Case, reason: str, modules: Sequence[Module], moment: Moment, new_id: NewId) -> Outcome:
    """The cluster itself cannot be seen; `modules` are those that are told of that by now."""
    outcome = looked_at(case, _cluster(case, Status.ERR), modules, moment, new_id)
    incident = outcome.case.incident
    if incident is None or incident.reason == reason:
        return outcome
    told = msgspec.structs.replace(outcome.case, incident=msgspec.structs.replace(incident, reason=reason))
    return replace(outcome, case=told)


def seen_again(case: Case, modules: Sequence[Module], moment: Moment, new_id: NewId) -> Outcome:
    """The cluster can be seen again: who was told that it could not hears so. Nothing else is remembered of it."""
    telling = _Telling(moment, new_id, dict(case.told))
    for module in modules:
        told = telling.told.get(module.name)
        if case.incident is not None and module.settings.send_close and told_of(told, case.incident.id):
            telling.tell(module, "close", _cluster(case, Status.OK), case.incident)
    telling.told.clear()
    return _outcome(Case(case.cluster, case.group, case.incident), telling, modules, "ok")


def _cluster(case: Case, status: Status) -> GroupStatus:
    """A cluster as a message tells of it: a group without a name and without partitions."""
    return GroupStatus(case.cluster, case.group, status, 1.0, (), 0, None, 0)


def nothing_to_do(case: Case, status: Status, modules: Sequence[Module], now_ms: int) -> bool:
    """Whether a look at the group would surely change nothing, told without its partitions."""
    incident = case.incident
    if status != (incident.status if incident else Status.OK):
        return False
    if incident is None and len(_remembered(case.told, modules, now_ms)) < len(case.told):
        return False
    number = incident.id if incident else ""
    return not any(
        module.has_own_view or may_open(module, status, case.told.get(module.name), number, now_ms)
        for module in modules
    )


def noted(incident: Incident, news: News) -> Incident:
    """The incident with news of one of its messages."""
    changed = {name: getattr(news, name) for name in ("state", "attempts", "at_ms", "answer")}
    messages = tuple(
        msgspec.structs.replace(each, **changed) if each.id == news.message.id else each
        for each in incident.messages
    )
    return msgspec.structs.replace(incident, messages=messages)


def _standing(case: Case, status: Status, now_ms: int, new_id: NewId) -> Incident | None:
    """The incident that the group is in at this look, also when the look ends it."""
    incident = case.incident
    if incident is not None:
        return msgspec.structs.replace(incident, status=status, worst=max(incident.worst, status))
    if status > Status.OK:
        return Incident(new_id(), case.cluster, case.group, now_ms, None, "", status, status)
    return None


def _outcome(standing: Case, telling: _Telling, modules: Sequence[Module], ending: Ending) -> Outcome:
    """The end of a look: what was told goes into the record, and an incident that is over leaves the case."""
    incident, now_ms = standing.incident, telling.moment.now_ms
    if incident is not None:
        records = incident.messages + tuple(
            MessageRecord(each.id, each.module, each.kind, each.result.status, "owed", now_ms, 0, now_ms, "")
            for each in telling.messages
            if each.incident == incident.id
        )
        incident = msgspec.structs.replace(incident, messages=_bounded(records))
    over = None
    if incident is not None and ending:
        status = Status.OK if ending == "ok" else Status.NOTFOUND
        # a clock that was ahead at the beginning must not make it end before that
        end_ms = max(now_ms, incident.start_ms)
        over = msgspec.structs.replace(incident, end_ms=end_ms, ending=ending, status=status)
        incident = None
    told = telling.told if incident else _remembered(telling.told, modules, now_ms)
    case = msgspec.structs.replace(standing, incident=incident, told=told)
    return Outcome(case, tuple(telling.messages), ended=over)


def _remembered(told: Mapping[str, Told], modules: Sequence[Module], now_ms: int) -> dict[str, Told]:
    """What still matters of what was told, when there is no incident."""
    by_name = {module.name: module for module in modules}
    return {
        name: each for name, each in told.items() if name in by_name and outlives(by_name[name], each, now_ms)
    }


def _troubled(view: GroupStatus) -> GroupStatus:
    """What Burrow's templates see: only the partitions that are not OK."""
    kept = tuple(each for each in view.partitions if each.status != Status.OK)
    return msgspec.structs.replace(view, partitions=kept)


def _bounded(records: tuple[MessageRecord, ...]) -> tuple[MessageRecord, ...]:
    """Without the middle of a long story; what is owed stays, its outcome is still to be written."""
    middle = records[_FIRST:-_NEWEST]
    return (
        records[:_FIRST]
        + tuple(each for each in middle if each.state == "owed")
        + records[_FIRST:][-_NEWEST:]
    )
