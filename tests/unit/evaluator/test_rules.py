"""Each rule, where it holds, where it just does not, and which of two comes first."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.facts import Digest
from warren.evaluator.rules import Rule
from warren.evaluator.verdict import CACHING, TREND, RuleSettings, Verdict, digest, judge
from warren.storage.windows import Windows

NOW_MS = 1_000_000_999


@dataclass(frozen=True)
class Case:
    """A window: offsets, lags; commits come 10 s apart, the last 5 s ago, unless ages say otherwise."""

    name: str
    rule: Rule
    status: Status
    offsets: list[int]
    lags: list[int]
    head: int
    complete: float = 1.0
    current_lag: int | None = None
    # seconds before now
    ages: list[int] = field(default_factory=list)
    lowest_sample: int = UNKNOWN
    intervals: int = 4
    allowed_lag: int = 0
    minimum_complete: float = 0.0


CASES = [
    Case("no commit", Rule.NO_COMMIT, Status.OK, [], [], head=50, complete=0, current_lag=0),
    Case(
        "too few commits",
        Rule.TOO_FEW_COMMITS,
        Status.OK,
        [10],
        [5],
        head=50,
        complete=0.25,
        minimum_complete=0.5,
        ages=[900],
    ),
    Case(
        "just enough commits",
        Rule.STALLED,
        Status.STALL,
        [10, 10],
        [5, 5],
        head=50,
        complete=0.5,
        minimum_complete=0.5,
    ),
    Case(
        "at the head",
        Rule.NO_LAG_NOW,
        Status.OK,
        [10, 20, 30, 40],
        [9, 9, 9, 9],
        head=40,
        ages=[9, 8, 7, 900],
    ),
    Case(
        "ahead of the head",
        Rule.NO_LAG_NOW,
        Status.OK,
        [40, 40, 40, 40],
        [1, 1, 1, 1],
        head=30,
        current_lag=0,
    ),
    Case("no head yet", Rule.NO_LAG_NOW, Status.OK, [40] * 4, [UNKNOWN] * 4, head=UNKNOWN, current_lag=0),
    Case("a lag that is allowed", Rule.NO_LAG_NOW, Status.OK, [40] * 4, [11] * 4, head=50, allowed_lag=10),
    Case("a lag beyond the allowed", Rule.STALLED, Status.STALL, [40] * 4, [11] * 4, head=51, allowed_lag=10),
    Case(
        "silent for longer than the window",
        Rule.STOPPED,
        Status.STOP,
        [1, 2, 3, 4],
        [5] * 4,
        9,
        ages=[61, 51, 41, 31],
    ),
    Case(
        "silent for just as long as the window",
        Rule.FALLING_BEHIND,
        Status.WARN,
        [1, 2, 3, 4],
        [5] * 4,
        9,
        ages=[60, 50, 40, 30],
    ),
    Case(
        "stopped, though the lag was gone at a commit",
        Rule.STOPPED,
        Status.STOP,
        [1, 2, 3, 4],
        [5, 0, 5, 5],
        9,
        ages=[90, 80, 70, 60],
    ),
    Case(
        "silent, but at the head a moment ago",
        Rule.FALLING_BEHIND,
        Status.WARN,
        [1, 2, 3, 4],
        [5] * 4,
        9,
        ages=[90, 80, 70, 60],
        lowest_sample=4,
    ),
    Case(
        "silent, and just not at the head a moment ago",
        Rule.STOPPED,
        Status.STOP,
        [1, 2, 3, 4],
        [5] * 4,
        9,
        ages=[90, 80, 70, 60],
        lowest_sample=5,
    ),
    Case("one commit of this second", Rule.STALLED, Status.STALL, [4], [5], 9, complete=0.25, ages=[0]),
    Case("one commit of a second ago", Rule.STOPPED, Status.STOP, [4], [5], 9, complete=0.25, ages=[1]),
    Case("the offset fell", Rule.REWOUND, Status.REWIND, [8, 9, 3, 5], [5, 5, 9, 9], 20),
    Case(
        "the offset fell, though the lag was gone",
        Rule.REWOUND,
        Status.REWIND,
        [8, 9, 3, 5],
        [0, 0, 9, 9],
        20,
    ),
    Case("the offset fell last", Rule.REWOUND, Status.REWIND, [7, 8, 9, 3], [5, 5, 5, 9], 20),
    Case("the offset fell and came back", Rule.FALLING_BEHIND, Status.WARN, [8, 9, 3, 9], [5, 5, 9, 9], 20),
    Case("the offset fell and nearly came back", Rule.REWOUND, Status.REWIND, [8, 9, 3, 8], [5, 5, 9, 9], 20),
    Case(
        "only the first fall counts",
        Rule.FALLING_BEHIND,
        Status.WARN,
        [9, 3, 9, 4],
        [5, 9, 9, 9],
        20,
    ),
    Case(
        "stopped comes before the fall",
        Rule.STOPPED,
        Status.STOP,
        [8, 9, 3, 5],
        [5, 5, 9, 9],
        20,
        ages=[90, 80, 70, 60],
    ),
    Case("the lag was gone at some commit", Rule.CAUGHT_UP, Status.OK, [1, 2, 3, 4], [5, 0, 5, 6], 20),
    Case(
        "the lag was gone, and the offsets do not move", Rule.CAUGHT_UP, Status.OK, [4] * 4, [0, 5, 6, 7], 20
    ),
    Case(
        "the lag was within the allowed",
        Rule.CAUGHT_UP,
        Status.OK,
        [1, 2, 3, 4],
        [15, 10, 15, 16],
        20,
        allowed_lag=10,
    ),
    Case("an unknown lag is not no lag", Rule.STALLED, Status.STALL, [4] * 4, [UNKNOWN] * 4, 20),
    Case("the offsets do not move", Rule.STALLED, Status.STALL, [4] * 4, [5, 4, 3, 2], 20),
    Case("the offsets move once", Rule.FALLING_BEHIND, Status.WARN, [4, 4, 4, 5], [5, 5, 5, 5], 20),
    Case("the lag stays", Rule.FALLING_BEHIND, Status.WARN, [1, 2, 3, 4], [5, 5, 5, 5], 20),
    Case("the lag grows", Rule.FALLING_BEHIND, Status.WARN, [1, 2, 3, 4], [5, 6, 7, 8], 20),
    Case("the lag shrinks once", Rule.KEEPING_PACE, Status.OK, [1, 2, 3, 4], [5, 6, 5, 8], 20),
    Case("unknown lags are stepped over", Rule.KEEPING_PACE, Status.OK, [1, 2, 3, 4], [5, UNKNOWN, 4, 8], 20),
    Case(
        "unknown lags do not shrink",
        Rule.FALLING_BEHIND,
        Status.WARN,
        [1, 2, 3, 4],
        [5, UNKNOWN, 6, UNKNOWN],
        20,
    ),
    Case("no lag is known", Rule.FALLING_BEHIND, Status.WARN, [1, 2, 3, 4], [UNKNOWN] * 4, 20),
]


def window(case: Case) -> Windows:
    made = Windows.empty(1, case.intervals)
    count = len(case.offsets)
    ages = case.ages or [5 + 10 * (count - 1 - at) for at in range(count)]
    for at in range(count):
        column = case.intervals - count + at
        made.offset[0, column] = case.offsets[at]
        # whole seconds before a whole second
        made.timestamp[0, column] = NOW_MS // 1000 * 1000 - ages[at] * 1000
        made.lag[0, column] = case.lags[at]
        made.order[0, column] = at
    return made


def judged(windows: Windows, case: Case) -> Verdict:
    return judge(
        digest(windows, case.allowed_lag),
        np.full(windows.rows, case.head),
        np.full(windows.rows, case.lowest_sample),
        NOW_MS,
        RuleSettings(case.intervals, case.allowed_lag, case.minimum_complete),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Case) -> None:
    verdict = judged(window(case), case)

    assert (Rule(verdict.rule[0]), Status(verdict.status[0])) == (case.rule, case.status)
    lag = case.head - case.offsets[-1] if case.current_lag is None else case.current_lag
    assert verdict.current_lag.tolist() == [lag]
    assert verdict.complete.tolist() == [np.float32(case.complete)]


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == {rule for rule in Rule if rule <= Rule.KEEPING_PACE}
    of_both = [rule for rule in Rule if rule < Rule.FALLING_BEHIND]
    assert [spec.rule for spec in CACHING.rules] == [*of_both, Rule.FALLING_BEHIND, Rule.KEEPING_PACE]
    assert [spec.rule for spec in TREND.rules] == [*of_both, Rule.GROWING, Rule.NOT_GROWING]


def test_windows_are_judged_side_by_side() -> None:
    alike = [case for case in CASES if (case.intervals, case.minimum_complete) == (4, 0.0)]
    together = Windows.concat([window(case) for case in alike])
    allowed = np.array([case.allowed_lag for case in alike])

    verdict = judge(
        digest(together, allowed),
        np.array([case.head for case in alike]),
        np.array([case.lowest_sample for case in alike]),
        NOW_MS,
        RuleSettings(4, allowed),
    )

    assert [Rule(rule) for rule in verdict.rule] == [case.rule for case in alike]
    kinds = [
        array.dtype.name for array in (verdict.status, verdict.rule, verdict.current_lag, verdict.complete)
    ]
    assert kinds == ["int8", "int8", "int64", "float32"]


def test_now_counts_in_whole_seconds() -> None:
    # 10 ms of window, 500 ms of silence by the clock, none by whole seconds
    windows = Windows.empty(1, 2)
    windows.offset[0] = [1, 2]
    windows.timestamp[0] = [7_000_000, 7_000_010]
    windows.lag[0] = [5, 5]
    windows.order[0] = [0, 1]
    facts = digest(windows, 0)
    head = np.array([9])

    within = judge(facts, head, head, 7_000_999, RuleSettings(2))
    after = judge(facts, head, head, 7_001_000, RuleSettings(2))

    assert (Rule(within.rule[0]), Rule(after.rule[0])) == (Rule.FALLING_BEHIND, Rule.STOPPED)


def test_digests_can_be_taken_apart_and_put_together() -> None:
    facts = digest(Windows.concat([window(case) for case in CASES]), 0)

    again = Digest.concat([facts.take(slice(0, 5)), facts.take(np.arange(5, len(facts)))])

    assert len(again) == len(CASES)
    for one, other in zip(facts.arrays(), again.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_to_judge() -> None:
    nothing = np.empty(0, dtype=np.int64)
    verdict = judge(
        digest(Windows.empty(0, 10), 0),
        nothing,
        nothing,
        NOW_MS,
        RuleSettings(10),
    )

    assert len(verdict.status) == 0


def test_the_numbers_in_the_docs_are_those_of_the_rules() -> None:
    page = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
    rows = re.findall(r"^\| ([0-9]+) \| `(\w+)` \|.*\| (\w+) \|$", page, re.MULTILINE)
    specs = {spec.rule: spec.status for book in (CACHING, TREND) for spec in book.rules}

    assert [(int(number), name, status) for number, name, status in rows] == [
        (rule, rule.name.lower(), specs[rule].name) for rule in Rule
    ]
