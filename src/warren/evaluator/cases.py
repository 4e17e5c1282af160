"""One partition in detail: its window, its heads and the time, and the verdict with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.facts import Numbers
from warren.evaluator.rules import Rule
from warren.evaluator.verdict import RULES, RuleSettings, digest, judge, whole_seconds
from warren.storage.windows import Windows


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of a window."""

    offset: int
    timestamp: int
    # UNKNOWN when there was no head to compare with
    lag: int
    # the floor of the lag; UNKNOWN when it is not in the input
    floor: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class Case:
    """The input of the rules for one partition."""

    # an id, or group, topic and partition
    name: dict[str, str | int]
    # oldest first, without empty slots
    entries: tuple[Entry, ...]
    intervals: int
    # the newest head, UNKNOWN when there is none
    head: int
    # the stored head samples, oldest first; may be none
    samples: tuple[int, ...]
    now_ms: int
    allowed_lag: int
    minimum_complete: float
    # of the evaluator: which rules
    class_name: str = "caching"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The verdict on a case, and why."""

    case: Case
    status: Status
    current_lag: int
    complete: float
    rule: Rule
    because: str
    # positions of the entries that decided
    decided_by: tuple[int, ...]
    would_change: str


def explain(case: Case) -> Explanation:
    """Judge a case by the rules of the pipeline, and explain which one decided."""
    book = RULES[case.class_name]
    lowest_sample = min(case.samples, default=UNKNOWN)
    verdict = judge(
        digest(_window(case), case.allowed_lag),
        np.array([case.head]),
        np.array([lowest_sample]),
        case.now_ms,
        RuleSettings(case.intervals, case.allowed_lag, case.minimum_complete, book),
    )
    spec = book.spec(verdict.rule[0])
    # the shortest decimal of a single-precision number: 0.8, not 0.800000011920929
    complete = float(str(verdict.complete[0]))
    current_lag = int(verdict.current_lag[0])
    numbers = Numbers(
        offsets=[entry.offset for entry in case.entries],
        timestamps=[entry.timestamp for entry in case.entries],
        lags=[entry.lag for entry in case.entries],
        floors=[entry.floor for entry in case.entries],
        intervals=case.intervals,
        complete=complete,
        minimum_complete=case.minimum_complete,
        current_lag=current_lag,
        allowed_lag=case.allowed_lag,
        head=case.head,
        lowest_sample=lowest_sample,
        now_ms=whole_seconds(case.now_ms),
    )
    return Explanation(
        case,
        spec.status,
        current_lag,
        complete,
        spec.rule,
        spec.because(numbers),
        tuple(spec.decided_by(numbers)),
        spec.would_change(numbers),
    )


def _window(case: Case) -> Windows:
    """The case as arrays of one row."""
    window = Windows.empty(1, max(case.intervals, len(case.entries), 1))
    first = window.intervals - len(case.entries)
    for column, entry in enumerate(case.entries, start=first):
        window.offset[0, column] = entry.offset
        window.timestamp[0, column] = entry.timestamp
        window.lag[0, column] = entry.lag
        window.floor[0, column] = entry.floor
        window.order[0, column] = column
    return window
