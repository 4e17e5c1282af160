"""What follows when a group is looked at: its incident, and who is told what. Pure: time and ids come from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from warren.evaluator.status import Status
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

    incident: Incident | None
    moment: Moment
    new_id: NewId
    # module: what it was last told
    told: dict[str, Told]
    messages: list[Message] = field(default_factory=list)

    @property
    def incident_id(self) -> str:
        return self.incident.id if self.incident else ""

    def tell(self, module: Module, kind: Kind, view: GroupStatus) -> None:
        start_ms = self.incident.start_ms if self.incident else None
        identity = self.new_id(), module.name, kind, self.incident_id, start_ms, self.moment.now_ms
        self.messages.append(Message(*identity, _troubled(view)))
        if kind == "open":
            self.told[module.name] = Told(self.moment.now_ms, view.status, self.incident_id)
        else:
            # the next incident is told of at once
            self.told.pop(module.name, None)


def looked_at(
    case: Case, result: GroupStatus, modules: Sequence[Module], moment: Moment, new_id: NewId
) -> Outcome:
    """A look at a group that is there; `modules` are those whose lists accept it."""
    incident = _standing(case, result.status, moment.now_ms, new_id)
    telling = _Telling(incident, moment, new_id, dict(case.told))
    seen_by = set()
    for module in modules:
        view = view_of(module, result)
        # Burrow's modules see every incident; with a view of its own, one has to have seen it
        seen = module.name in case.seen_by if module.has_own_view else incident is not None
        if view.status > Status.OK and module.has_own_view:
            seen_by.add(module.name)
        told = telling.told.get(module.name)
        if seen and view.status == Status.OK and closes(module, told, telling.incident_id):
            telling.tell(module, "close", view)
        elif opens(module, view, told, telling.incident_id, moment):
            telling.tell(module, "open", view)
    return _outcome(case, telling, modules, frozenset(seen_by), "ok" if result.status == Status.OK else "")


def vanished(case: Case, modules: Sequence[Module], moment: Moment, new_id: NewId) -> Outcome:
    """The group is not there any more: its incident ends, and who was told of it hears so."""
    telling = _Telling(case.incident, moment, new_id, dict(case.told))
    nothing = GroupStatus(case.cluster, case.group, Status.NOTFOUND, 1.0, (), 0, None, 0)
    for module in modules:
        told = telling.told.get(module.name)
        if case.incident and module.settings.send_close and told_of(told, telling.incident_id):
            telling.tell(module, "close", nothing)
    # as Burrow: a group that comes back is a new one
    telling.told.clear()
    return _outcome(case, telling, modules, frozenset(), "gone")


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


def _outcome(
    case: Case, telling: _Telling, modules: Sequence[Module], seen_by: frozenset[str], ending: Ending
) -> Outcome:
    incident, now_ms = telling.incident, telling.moment.now_ms
    if incident is not None:
        records = incident.messages + tuple(
            MessageRecord(each.id, each.module, each.kind, each.result.status, "owed", now_ms, 0, now_ms, "")
            for each in telling.messages
        )
        incident = msgspec.structs.replace(incident, messages=_bounded(records))
    over = None
    if incident is not None and ending:
        status = Status.NOTFOUND if ending == "gone" else Status.OK
        over = msgspec.structs.replace(incident, end_ms=now_ms, ending=ending, status=status)
        incident = None
    told = telling.told if incident else _remembered(telling.told, modules, now_ms)
    return Outcome(
        Case(case.cluster, case.group, incident, told, seen_by), tuple(telling.messages), ended=over
    )


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
