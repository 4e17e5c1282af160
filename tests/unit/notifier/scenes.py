"""Groups to notify of: statuses by hand, a snapshot of them, and answers that a test changes as it goes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.unit.httpserver.memory import MemorySnapshot

from warren.common.status import Status
from warren.config.modules import Notifier
from warren.notifier.incidents import Outcome, evaluated, group_removed
from warren.notifier.message import Message
from warren.notifier.rules import Module, Moment
from warren.notifier.store import Case
from warren.snapshot.model import (
    Entry,
    GroupStatus,
    PartitionStatus,
)

NOW = 1_700_000_000_000
NOTHING = Case("", "")


def partition(
    topic: str, number: int, status: Status = Status.OK, lag: int = 0, complete: float = 1.0
) -> PartitionStatus:
    first, last = Entry(1, NOW - 9000, NOW - 9000, lag), Entry(10, NOW, NOW, lag)
    return PartitionStatus(topic, number, "/10.0.0.1", "app", status, first, last, lag, complete, 10 + lag, 0)


def group_of(name: str, *partitions: PartitionStatus, cluster: str = "local") -> GroupStatus:
    status = max((min(each.status, Status.ERR) for each in partitions), default=Status.OK)
    full = sum(each.complete == 1 for each in partitions)
    return GroupStatus(
        cluster,
        name,
        status,
        full / len(partitions) if partitions else 1.0,
        partitions,
        len(partitions),
        max(partitions, key=lambda each: each.current_lag, default=None),
        sum(each.current_lag for each in partitions),
    )


def group(name: str, status: Status, cluster: str = "local") -> GroupStatus:
    """Two partitions, one of which has the trouble."""
    worst = Status.STOP if status == Status.ERR else status
    lag = 0 if status == Status.OK else 100
    return group_of(name, partition("orders", 0, worst, lag), partition("orders", 1), cluster=cluster)


def module(name: str = "hook", /, **settings: object) -> Module:
    return Module(name, Notifier.model_validate({"interval": 5} | settings))


@dataclass
class Story:
    """One group through several looks; ids count upwards."""

    modules: list[Module]
    group: str = "g"
    case: Case = NOTHING
    numbers: Callable[[], int] = field(default_factory=lambda: itertools.count(1).__next__)

    def __post_init__(self) -> None:
        self.case = Case("local", self.group) if self.case.is_empty else self.case

    def new_id(self) -> str:
        return f"{self.group}-{self.numbers()}"

    def look(self, after_s: float, seen: Status | GroupStatus) -> Outcome:
        result = group(self.group, seen) if isinstance(seen, Status) else seen
        moment = Moment(NOW + round(after_s * 1000), max(0, round(after_s * 1000)))
        return self._went_on(evaluated(self.case, result, self.modules, moment, self.new_id))

    def gone(self, after_s: float) -> Outcome:
        moment = Moment(NOW + round(after_s * 1000), max(0, round(after_s * 1000)))
        return self._went_on(group_removed(self.case, self.modules, moment, self.new_id))

    def _went_on(self, outcome: Outcome) -> Outcome:
        self.case = outcome.case
        return outcome


def told(outcome: Outcome) -> list[str]:
    """Who was told what, in a word: `hook open ERR`."""
    return [in_a_word(each) for each in outcome.messages]


def in_a_word(message: Message) -> str:
    return f"{message.module} {message.kind} {message.result.status.name}"


def snapshot_of(**statuses: Status) -> MemorySnapshot:
    groups = {name: group(name, status) for name, status in statuses.items()}
    return MemorySnapshot(taken_at_ms=NOW, as_of_ms=NOW, statuses=groups)


@dataclass(frozen=True)
class Progress:
    caught_up: bool
    error: str = ""

    @property
    def blind(self) -> bool:
        return bool(self.error)


class Scene:
    """Implements `warren.notifier.coordinator.Snapshots`; one cluster, changed by the test."""

    def __init__(self, **statuses: Status) -> None:
        self.caught_up = True
        self.error = ""
        self.current: MemorySnapshot | None = None
        self.show(**statuses)

    def show(self, **statuses: Status) -> None:
        """From now on there are these groups."""
        self.current = snapshot_of(**statuses)

    def clusters(self) -> list[str]:
        return ["local"]

    def snapshot(self, cluster: str) -> MemorySnapshot | None:
        return self.current

    def progress(self, cluster: str) -> Progress:
        return Progress(self.caught_up, self.error)
