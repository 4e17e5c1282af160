"""How often a judge cries wolf in long runs, how soon it sees one, and whether it stays with it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Final

import numpy as np

from warren.common.status import Status
from warren.lab.consumers import OK, Label
from warren.lab.forward import Judge, Run
from warren.lab.producers import Floats, Mask
from warren.lab.scenarios import Kind

DAY_S: Final = 86_400.0
# an incident that opens again so soon was none that had ended
_AGAIN_S: Final = 600.0
# what is added up where scores are taken together
_SUMMED: Final = (
    "groups",
    "watched_s",
    "quiet_s",
    "false_alarms",
    "flaps",
    "looks",
    "right",
    "trouble_s",
    "closes",
)


@dataclass(slots=True)
class LongScore:
    """The figures of one judge on the groups of one class."""

    name: str
    kind: Kind
    judge: Judge
    groups: int = 0
    watched_s: float = 0.0
    # time in which only OK was right, and how often an alarm began in it or was held into it
    quiet_s: float = 0.0
    false_alarms: int = 0
    # incidents that opened again within ten minutes
    flaps: int = 0
    # of every trouble: seconds until any status but OK; infinite when there was none
    seen_after_s: list[float] = field(default_factory=list)
    # looks in trouble from the first that saw it, and those of them that were not OK; all looks where none saw it
    looks: int = 0
    right: int = 0
    # time in trouble, and how often the judge went back to OK in it
    trouble_s: float = 0.0
    closes: int = 0

    @property
    def false_per_1000(self) -> float:
        """False alarms per 1,000 groups and day."""
        return 1_000 * self.false_alarms / max(self.quiet_s, 1.0) * DAY_S

    @property
    def flaps_a_day(self) -> float:
        """Per group and day."""
        return self.flaps / max(self.watched_s, 1.0) * DAY_S

    @property
    def seen_s(self) -> float | None:
        """The median; infinite where more than half was not seen."""
        return median(self.seen_after_s) if self.seen_after_s else None

    @property
    def unseen(self) -> int:
        return sum(math.isinf(each) for each in self.seen_after_s)

    @property
    def right_share(self) -> float:
        return self.right / max(self.looks, 1)

    @property
    def closes_a_day(self) -> float:
        """Per group and day of trouble."""
        return self.closes / max(self.trouble_s, 1.0) * DAY_S

    def add(self, labels: tuple[Label, ...], asked_s: Floats, alarm: Mask, length_s: float) -> None:
        """Count one group: whether the verdict was not OK at each look."""
        every_s = float(asked_s[-1] - asked_s[0]) / max(len(asked_s) - 1, 1)
        since = np.array([label.since_s for label in labels])
        label = np.maximum(np.searchsorted(since, asked_s, side="right") - 1, 0)
        quiet = np.array([each.right == OK for each in labels])[label]
        false = alarm & quiet
        self.groups += 1
        self.watched_s += len(asked_s) * every_s
        self.quiet_s += int(np.count_nonzero(quiet)) * every_s
        self.false_alarms += int(np.count_nonzero(false[1:] & ~false[:-1])) + int(false[0])
        self.flaps += _flaps(asked_s, alarm)
        for index, each in enumerate(labels):
            if Status.OK not in each.right:
                end_s = labels[index + 1].since_s if index + 1 < len(labels) else length_s
                self._add_trouble(asked_s[label == index], alarm[label == index], each.since_s, end_s)

    def _add_trouble(self, asked_s: Floats, alarm: Mask, start_s: float, end_s: float) -> None:
        seen = np.flatnonzero(alarm)
        first = int(seen[0]) if len(seen) else 0
        self.seen_after_s.append(float(asked_s[first]) - start_s if len(seen) else math.inf)
        self.looks += len(alarm) - first
        self.right += len(seen)
        self.trouble_s += end_s - start_s
        self.closes += int(np.count_nonzero(alarm[:-1] & ~alarm[1:]))


def _flaps(asked_s: Floats, alarm: Mask) -> int:
    """How often an alarm begins within ten minutes of the end of the last."""
    opens = 1 + np.flatnonzero(alarm[1:] & ~alarm[:-1])
    closes = 1 + np.flatnonzero(alarm[:-1] & ~alarm[1:])
    last = np.searchsorted(closes, opens) - 1
    opens, last = opens[last >= 0], last[last >= 0]
    return int(np.count_nonzero(asked_s[opens] - asked_s[closes[last]] < _AGAIN_S))


def long_scores(run: Run, judges: Iterable[Judge]) -> list[LongScore]:
    """One score per class and judge, in the order of the scenarios."""
    found: dict[tuple[str, Judge], LongScore] = {}
    for judge in judges:
        alarms = run.statuses[judge] != Status.OK
        for number, group in enumerate(run.played.groups):
            name, kind = group.scenario.name, group.scenario.kind
            score = found.setdefault((name, judge), LongScore(name, kind, judge))
            score.add(group.labels, run.asked_s, alarms[:, number], run.length_s)
    return list(found.values())


def total(scores: Iterable[LongScore]) -> LongScore:
    """The sum of several scores of one judge."""
    scores = list(scores)
    made = LongScore("all", scores[0].kind, scores[0].judge)
    for each in scores:
        for name in _SUMMED:
            setattr(made, name, getattr(made, name) + getattr(each, name))
        made.seen_after_s.extend(each.seen_after_s)
    return made
