"""The rules of the class `trend`, where they are not Burrow's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.line import fit
from warren.evaluator.rules import Rule
from warren.evaluator.verdict import TREND, RuleSettings, Verdict, digest, judge
from warren.storage.windows import Windows

NOW_MS = 1_700_000_000_000
INTERVALS = 10


@dataclass(frozen=True)
class Case:
    """A window of commits ten seconds apart, the last a second ago; 200 messages come in between two commits."""

    name: str
    rule: Rule
    status: Status
    lags: list[int]
    # as the lags unless given
    floors: list[int] | None = None
    offsets: list[int] | None = None
    came_in: int = 200


GROWING = [100 + 20 * at for at in range(INTERVALS)]
OFFSETS = [1_000 + 180 * at for at in range(INTERVALS)]
CASES = [
    Case("a consumer at 90 %", Rule.GROWING, Status.WARN, GROWING),
    Case(
        "a consumer at 90 % that wavers",
        Rule.GROWING,
        Status.WARN,
        [100, 124, 136, 163, 178, 203, 217, 243, 258, 280],
    ),
    Case("even lag", Rule.NOT_GROWING, Status.OK, [100] * 10),
    Case(
        "even lag with rounding",
        Rule.NOT_GROWING,
        Status.OK,
        [100, 100, 100, 101, 101, 101, 101, 102, 102, 102],
    ),
    Case("one step up", Rule.NOT_GROWING, Status.OK, [100] * 5 + [300] * 5),
    Case(
        "growth that a busy morning brings", Rule.NOT_GROWING, Status.OK, [6000 + 4 * at for at in range(10)]
    ),
    Case("growth of a few messages", Rule.NOT_GROWING, Status.OK, list(range(1, 11)), came_in=2),
    Case("shrinking lag", Rule.NOT_GROWING, Status.OK, GROWING[::-1]),
    Case(
        "growth that was not there for certain", Rule.CAUGHT_UP, Status.OK, GROWING, floors=[0, *GROWING[1:]]
    ),
    Case("growth in a window that is not full", Rule.NOT_GROWING, Status.OK, GROWING[:9]),
    Case(
        "growth with lags that are not known",
        Rule.GROWING,
        Status.WARN,
        [UNKNOWN, *GROWING[1:4], UNKNOWN, *GROWING[5:]],
        offsets=OFFSETS,
    ),
    Case(
        "growth with few lags that are known",
        Rule.NOT_GROWING,
        Status.OK,
        [*GROWING[:5], *[UNKNOWN] * 4, GROWING[9]],
        offsets=OFFSETS,
    ),
    Case("the newest slot is still open", Rule.GROWING, Status.WARN, [*GROWING[:9], GROWING[8]]),
    Case("stands still", Rule.STALLED, Status.STALL, GROWING, offsets=[50] * 10),
    Case("stands still, but not for a window", Rule.NOT_GROWING, Status.OK, GROWING[:9], offsets=[50] * 9),
    Case("went back", Rule.REWOUND, Status.REWIND, GROWING[:3], offsets=[500, 100, 300]),
    Case("went back, two commits", Rule.TOO_FEW_COMMITS, Status.OK, GROWING[:2], offsets=[500, 100]),
]


def judged(windows: Windows, now_ms: int = NOW_MS) -> Verdict:
    head = windows.offset[:, -1] + 1000
    return judge(
        digest(windows, 0),
        head,
        head,
        now_ms,
        RuleSettings(windows.intervals, 0, 0.0, TREND),
    )


def window(case: Case, intervals: int = INTERVALS) -> Windows:
    made = Windows.empty(1, intervals)
    count = len(case.lags)
    columns = slice(intervals - count, intervals)
    made.lag[0, columns] = case.lags
    made.floor[0, columns] = case.lags if case.floors is None else case.floors
    heads = 10_000 + case.came_in * np.arange(count)
    made.offset[0, columns] = heads - np.array(case.lags) if case.offsets is None else case.offsets
    made.timestamp[0, columns] = NOW_MS - 1000 - 10_000 * np.arange(count)[::-1]
    made.order[0, columns] = np.arange(count)
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rule(case: Case) -> None:
    verdict = judged(window(case))

    assert (Rule(verdict.rule[0]), Status(verdict.status[0])) == (case.rule, case.status)


@pytest.mark.parametrize("age_s", [0, 1, 5, 300])
def test_a_first_commit_is_no_ground_for_an_error(age_s: int) -> None:
    made = window(Case("", Rule.TOO_FEW_COMMITS, Status.OK, [100]))
    verdict = judged(made, int(made.timestamp[0, -1]) + age_s * 1000)

    assert (Rule(verdict.rule[0]), Status(verdict.status[0])) == (Rule.TOO_FEW_COMMITS, Status.OK)


def test_a_group_that_ended_after_its_first_commit_is_found_in_the_end() -> None:
    made = window(Case("", Rule.STOPPED, Status.STOP, [100]))
    verdict = judged(made, int(made.timestamp[0, -1]) + 301_000)

    assert Status(verdict.status[0]) == Status.STOP


def test_three_commits_are_ground_enough_for_a_stop() -> None:
    made = window(Case("", Rule.STOPPED, Status.STOP, [100, 120, 140]))
    verdict = judged(made, int(made.timestamp[0, -1]) + 21_000)

    assert Status(verdict.status[0]) == Status.STOP


@pytest.mark.parametrize("intervals", [1, 2, 3])
def test_windows_too_short_for_a_line_show_no_growth(intervals: int) -> None:
    made = window(Case("", Rule.NOT_GROWING, Status.OK, GROWING[:intervals]), intervals)

    assert not digest(made, 0).growing.any()


def test_a_line_through_great_offsets_is_as_exact_as_through_small_ones() -> None:
    head = np.array([2**61 + 200 * np.arange(9)])
    lag = np.array([100 + 20 * np.arange(9)])
    line = fit(head, lag, np.ones_like(lag, dtype=np.bool_))

    assert line.slope[0] == pytest.approx(0.1)
    assert line.straightness[0] == pytest.approx(1)


def test_windows_of_many_kinds_are_judged_side_by_side() -> None:
    together = Windows.concat([window(case) for case in CASES])

    assert [Rule(rule) for rule in judged(together).rule] == [case.rule for case in CASES]
