"""The accuracy of the verdicts against the labels of the traffic, per class and judge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

import numpy as np
import numpy.typing as npt

from warren.common.status import Status
from warren.lab.consumers import OK, Label
from warren.lab.forward import Judge, Run, Statuses
from warren.lab.groups import Group
from warren.lab.producers import Floats, Mask
from warren.lab.scenarios import Kind

_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600.0


@dataclass(slots=True)
class Score:
    """The accuracy of one judge on the groups of one class."""

    name: str
    kind: Kind
    judge: Judge
    groups: int = 0
    watched_s: float = 0.0
    looks: int = 0
    right: int = 0
    # time in which only OK was right, and how often an alarm began in it
    quiet_s: float = 0.0
    false_alarms: int = 0
    flips: int = 0
    # of every problem: seconds until its status was right; infinite when it never was
    seen_after_s: list[float] = field(default_factory=list)
    # the same, from the moment at which it was certain that messages stay unread
    seen_after_certain_s: list[float] = field(default_factory=list)
    # of every problem: whether it was detected within a window's length from that moment
    in_a_window: list[bool] = field(default_factory=list)

    @property
    def right_share(self) -> float:
        return self.right / max(self.looks, 1)

    @property
    def false_alarms_a_day(self) -> float:
        """Per group and day."""
        return self.false_alarms / max(self.quiet_s, 1.0) * _DAY_S

    @property
    def flips_an_hour(self) -> float:
        """Per group and hour, where nothing had changed."""
        return self.flips / max(self.watched_s, 1.0) * _HOUR_S

    @property
    def unseen(self) -> int:
        """Problems that were never detected."""
        return sum(math.isinf(each) for each in self.seen_after_s)

    @property
    def median_s(self) -> float | None:
        return median(self.seen_after_s) if self.seen_after_s else None

    @property
    def worst_s(self) -> float | None:
        return max(self.seen_after_s) if self.seen_after_s else None

    @property
    def mostly_in_a_window(self) -> bool:
        """Whether at least half of the problems were detected within a window's length."""
        return 2 * sum(self.in_a_window) >= len(self.in_a_window)


def scores(runs: Iterable[Run]) -> list[Score]:
    """One score per class and judge, in the order of the scenarios."""
    found: dict[tuple[str, Judge], Score] = {}
    for run in runs:
        for number, group in enumerate(run.played.groups):
            for judge, statuses in run.statuses.items():
                key = group.scenario.name, judge
                score = found.setdefault(key, Score(group.scenario.name, group.scenario.kind, judge))
                _add(score, run, group, statuses[:, number])
    return list(found.values())


def _add(score: Score, run: Run, group: Group, status: Statuses) -> None:
    asked_s = run.asked_s
    period_s = group.scenario.period_s
    window_s = run.looks.window_s(period_s)
    # how long old and new verdicts are both right after a change: windows fill, and the head samples are replaced
    settle_s = window_s + run.looks.a_moment_s + 2 * run.looks.every_s
    label, without_changes = _labels_at(group.labels, asked_s, settle_s, run.looks.start_s)
    right = _is_right(score.judge, status, group.labels, label)
    earlier = _is_right(score.judge, status, group.labels, np.maximum(label - 1, 0))
    good = right | (~without_changes & earlier)
    alarm = status != Status.OK
    quiet = without_changes & np.array([each.right == OK for each in group.labels])[label]
    score.groups += 1
    score.looks += len(asked_s)
    score.right += int(np.count_nonzero(good))
    score.watched_s += float(asked_s[-1] - asked_s[0])
    score.quiet_s += float(np.count_nonzero(quiet)) * run.looks.every_s
    begins = alarm & quiet
    begins[1:] &= ~(alarm[:-1] & quiet[:-1])
    score.false_alarms += int(np.count_nonzero(begins))
    same = without_changes[1:] & without_changes[:-1] & (label[1:] == label[:-1])
    score.flips += int(np.count_nonzero((alarm[1:] != alarm[:-1]) & same))
    for index, each in enumerate(group.labels):
        if each.right == OK:
            continue
        end_s = group.labels[index + 1].since_s if index + 1 < len(group.labels) else run.length_s
        seen = np.flatnonzero(right & (label == index))
        first_s = float(asked_s[seen[0]]) if len(seen) else math.inf
        if first_s > end_s and end_s - each.since_s < settle_s:
            # too short to be detected
            continue
        start_s = max(each.since_s, run.looks.start_s)
        score.seen_after_s.append(first_s - start_s)
        certain_s = max(group.certain_s if index + 1 == len(group.labels) else start_s, start_s)
        score.seen_after_certain_s.append(max(first_s - certain_s, 0.0))
        score.in_a_window.append(first_s - certain_s <= window_s + run.looks.every_s)


def _labels_at(
    labels: Sequence[Label], asked_s: Floats, settle_s: float, start_s: float
) -> tuple[npt.NDArray[np.int64], Mask]:
    """The label of each look, and whether it has held, with looks, for long enough."""
    since = np.array([label.since_s for label in labels])
    label = np.maximum(np.searchsorted(since, asked_s, side="right") - 1, 0)
    without_changes = (asked_s - np.maximum(since[label], start_s) > settle_s) | (label == 0)
    return label, without_changes


def _is_right(judge: Judge, status: Statuses, labels: Sequence[Label], label: npt.NDArray[np.int64]) -> Mask:
    """Whether each verdict is among the right ones; a threshold only has two results."""
    if judge is Judge.THRESHOLD:
        trouble = np.array([Status.OK not in each.right for each in labels])
        return np.asarray(trouble[label] == (status != Status.OK))
    bits = np.array([sum(1 << each for each in label.right) for label in labels])
    return np.asarray((bits[label] >> status) & 1, dtype=np.bool_)


def merged(parts: Sequence[Score]) -> list[Score]:
    """Scores of the same class and judge as one, in the order in which they come."""
    found: dict[tuple[str, Judge], Score] = {}
    for part in parts:
        score = found.setdefault((part.name, part.judge), Score(part.name, part.kind, part.judge))
        for name in ("groups", "watched_s", "looks", "right", "quiet_s", "false_alarms", "flips"):
            setattr(score, name, getattr(score, name) + getattr(part, name))
        for name in ("seen_after_s", "seen_after_certain_s", "in_a_window"):
            getattr(score, name).extend(getattr(part, name))
    return list(found.values())
