"""When a module gets a message about a group: one function per rule, and the list of them in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from warren.common.status import Status
from warren.config.modules import Notifier
from warren.snapshot.model import GroupStatus

_MS: Final = 1000
# rounds come at a fixed interval with some jitter: one that is this early still counts as a whole interval later
SLACK_MS: Final = 100
# clocks of two instances may differ by this much; a time further in the future is from a clock that was wrong
SKEW_MS: Final = 60_000


class Told(msgspec.Struct, frozen=True):
    """The last message of a module about a group."""

    at_ms: int
    status: Status
    # id of its incident; "": the group was OK
    incident: str


@dataclass(frozen=True, slots=True)
class Module:
    """A [notifier.N] section and its name."""

    name: str
    settings: Notifier

    @property
    def notifies_ok(self) -> bool:
        """Whether it also gets messages about groups that are OK."""
        return self.settings.threshold <= Status.OK

    @property
    def has_own_view(self) -> bool:
        """Whether a group's status can differ for this module."""
        return self.settings.topic_denylist is not None

    @property
    def may_suppress(self) -> bool:
        """Whether one of Warren's own rules can suppress all messages of an incident."""
        return (
            self.settings.minimum_complete > 0
            or self.settings.minimum_lag > 0
            or self.settings.quiet_start > 0
        )


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a round, and how long this process has been running by the monotonic clock."""

    now_ms: int
    running_ms: int


def view_of(module: Module, result: GroupStatus) -> GroupStatus:
    """The group without the topics that the module ignores."""
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


def was_notified(told: Told | None, incident: str) -> bool:
    """Whether the module was notified of this incident; without one, whether it got any message."""
    return told is not None and (not incident or told.incident == incident)


def below_threshold(module: Module, status: Status) -> bool:
    """The status is below the module's threshold."""
    return status < module.settings.threshold


def already_sent(module: Module, told: Told | None, incident: str) -> bool:
    """`send-once`: the first message of an incident is the only one.

    Burrow without `send-close` also sends nothing about later incidents of the group until it is restarted; here the
    last message survives restarts, and that would be for ever.
    """
    return module.settings.send_once and was_notified(told, incident)


def too_soon(module: Module, told: Told | None, now_ms: int) -> bool:
    """`send-interval` has not passed since the last message, also when that was of an earlier incident.

    A last message from hours in the future is from a clock that was wrong: its age is not known.
    """
    if told is None:
        return False
    return -SKEW_MS <= now_ms - told.at_ms < module.settings.repeat_after * _MS - SLACK_MS


def unchanged(module: Module, told: Told | None, status: Status, incident: str) -> bool:
    """`on-change`: the last message had the same status."""
    if not module.settings.on_change or told is None:
        return False
    return told.status == status and was_notified(told, incident)


def too_incomplete(module: Module, complete: float) -> bool:
    """`minimum-complete`: too few windows are full."""
    return complete < module.settings.minimum_complete


def too_little_lag(module: Module, view: GroupStatus) -> bool:
    """`minimum-lag`: the total lag of the group is too small; a cluster that is unreachable has none."""
    return bool(view.group) and view.totallag < module.settings.minimum_lag


def in_quiet_start(module: Module, moment: Moment) -> bool:
    """`quiet-start`: too soon after the start of this process."""
    return moment.running_ms < module.settings.quiet_start * _MS


def opens(module: Module, view: GroupStatus, told: Told | None, incident: str, moment: Moment) -> bool:
    """Whether the module gets the open message, the first or a repeat."""
    return not (
        below_threshold(module, view.status)
        or already_sent(module, told, incident)
        or too_soon(module, told, moment.now_ms)
        or unchanged(module, told, view.status, incident)
        or too_incomplete(module, view.complete)
        or too_little_lag(module, view)
        or in_quiet_start(module, moment)
    )


def closes(module: Module, told: Told | None, incident: str) -> bool:
    """Whether the module gets the close message of an incident.

    Whatever its threshold and even without an open message, as in Burrow; but not when one of Warren's own rules
    suppressed the whole incident. No rule delays a close: no later round would send it.
    """
    return module.settings.send_close and (was_notified(told, incident) or not module.may_suppress)


def may_open(module: Module, status: Status, told: Told | None, incident: str, now_ms: int) -> bool:
    """`opens` without the partitions: False is certain."""
    return not (
        below_threshold(module, status)
        or already_sent(module, told, incident)
        or too_soon(module, told, now_ms)
        or unchanged(module, told, status, incident)
    )


def still_relevant(module: Module, told: Told, now_ms: int) -> bool:
    """Whether the last message is still relevant after the incident."""
    needs_last = module.notifies_ok and (module.settings.send_once or module.settings.on_change)
    return needs_last or too_soon(module, told, now_ms)
