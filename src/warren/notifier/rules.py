"""When one module is told about one group: one function per rule, and the list of them in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from warren.common.status import Status
from warren.config.modules import Notifier
from warren.snapshot.model import GroupStatus

_MS: Final = 1000
# looks come at a fixed pace, give or take: one that is so little early still counts as a whole interval later
SLACK_MS: Final = 100
# clocks of two instances may differ by so much; a time that lies further ahead was written by a clock that was wrong
SKEW_MS: Final = 60_000


class Told(msgspec.Struct, frozen=True):
    """What a module was last told about a group."""

    at_ms: int
    status: Status
    # id of the incident that was told of; "": the group was OK
    incident: str


@dataclass(frozen=True, slots=True)
class Module:
    """A [notifier.N] section and its name."""

    name: str
    settings: Notifier

    @property
    def hears_of_ok(self) -> bool:
        """Whether it is told of groups that are OK, too."""
        return self.settings.threshold <= Status.OK

    @property
    def has_own_view(self) -> bool:
        """Whether a group's status can be another one for this module."""
        return self.settings.topic_denylist is not None

    @property
    def holds_back(self) -> bool:
        """Whether a rule beyond Burrow's can keep it from hearing of an incident at all."""
        return self.settings.minimum_complete > 0 or self.settings.quiet_start > 0


@dataclass(frozen=True, slots=True)
class Moment:
    """One look: when it is, and for how long this process has been looking, whatever the clock did meanwhile."""

    now_ms: int
    running_ms: int


def view_of(module: Module, result: GroupStatus) -> GroupStatus:
    """The group as the module sees it: without the topics that do not count for it."""
    denied = module.settings.topic_denylist
    if denied is None or not result.partitions:
        return result
    kept = tuple(each for each in result.partitions if not denied.matches(each.topic))
    full = sum(each.complete == 1 for each in kept)
    return GroupStatus(
        result.cluster,
        result.group,
        Status(max((min(each.status, Status.ERR) for each in kept), default=Status.OK)),
        full / len(kept) if kept else 1.0,
        kept,
        len(kept),
        max(kept, key=lambda each: each.current_lag, default=None),
        sum(each.current_lag for each in kept),
    )


def told_of(told: Told | None, incident: str) -> bool:
    """Whether the module has heard of this incident; without one, whether it has heard anything."""
    return told is not None and (not incident or told.incident == incident)


def below_threshold(module: Module, status: Status) -> bool:
    """Not bad enough for this module."""
    return status < module.settings.threshold


def said_once(module: Module, told: Told | None, incident: str) -> bool:
    """`send-once`: the first message of an incident was all.

    Burrow without `send-close` also keeps silent about every later incident of the group until it is restarted; here
    what was said outlives restarts, and silence would be for ever.
    """
    return module.settings.send_once and told_of(told, incident)


def too_soon(module: Module, told: Told | None, now_ms: int) -> bool:
    """`send-interval` has not passed since the last message, also when that was of an earlier incident.

    A message that was told hours ahead of now was told by a clock that was wrong: nobody knows how long ago that is.
    """
    if told is None:
        return False
    return -SKEW_MS <= now_ms - told.at_ms < module.settings.repeat_after * _MS - SLACK_MS


def unchanged(module: Module, told: Told | None, status: Status, incident: str) -> bool:
    """`on-change`: the module knows this status already."""
    if not module.settings.on_change or told is None:
        return False
    return told.status == status and told_of(told, incident)


def too_incomplete(module: Module, complete: float) -> bool:
    """`minimum-complete`: too few windows are full to say anything."""
    return complete < module.settings.minimum_complete


def quiet(module: Module, moment: Moment) -> bool:
    """`quiet-start`: too soon after the start of this process."""
    return moment.running_ms < module.settings.quiet_start * _MS


def opens(module: Module, view: GroupStatus, told: Told | None, incident: str, moment: Moment) -> bool:
    """Whether the module gets the open message, the first or a repeat."""
    return not (
        below_threshold(module, view.status)
        or said_once(module, told, incident)
        or too_soon(module, told, moment.now_ms)
        or unchanged(module, told, view.status, incident)
        or too_incomplete(module, view.complete)
        or quiet(module, moment)
    )


def closes(module: Module, told: Told | None, incident: str) -> bool:
    """Whether the module gets the close message of an incident that it could see.

    Whatever its threshold and though it may never have been told, as in Burrow; but not when one of Warren's own rules
    kept the whole incident from it. No rule holds a close back: there is no later look that would send it.
    """
    return module.settings.send_close and (told_of(told, incident) or not module.holds_back)


def may_open(module: Module, status: Status, told: Told | None, incident: str, now_ms: int) -> bool:
    """What can be said of `opens` without the partitions: False is certain."""
    return not (
        below_threshold(module, status)
        or said_once(module, told, incident)
        or too_soon(module, told, now_ms)
        or unchanged(module, told, status, incident)
    )


def outlives(module: Module, told: Told, now_ms: int) -> bool:
    """Whether what was told still matters when the incident is over."""
    remembers = module.hears_of_ok and (module.settings.send_once or module.settings.on_change)
    return remembers or too_soon(module, told, now_ms)
