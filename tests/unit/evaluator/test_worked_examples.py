"""The worked examples that Burrow's own page on its rules gives, and the five rules as it words them.

Group and topic have ten commits, a minute apart, from T to T + 540 s; it is T + 600 s unless said otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.groups import roll_up
from warren.evaluator.rules import Rule
from warren.evaluator.verdict import TREND, RuleSettings, Verdict, digest, judge
from warren.storage.windows import Commits, Windows, place

PAGE: Final = Path(__file__).parents[3] / "docs" / "rules.md"
T: Final = 1_700_000_000_000
MINUTE_MS: Final = 60_000
FORWARD: Final = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
STUCK: Final = [10] * 10


@dataclass(frozen=True)
class Example:
    name: str
    offsets: list[int]
    lags: list[int]
    rule: Rule
    status: Status
    group_status: Status
    # after T
    now_s: int = 600


EXAMPLES = [
    Example(
        "1: the lag was zero at some point",
        FORWARD,
        [0, 0, 0, 0, 0, 0, 1, 3, 5, 5],
        Rule.CAUGHT_UP,
        Status.OK,
        Status.OK,
    ),
    Example(
        "2: commits that do not move, with lag",
        STUCK,
        [1, 1, 1, 1, 1, 2, 2, 2, 3, 3],
        Rule.STALLED,
        Status.STALL,
        Status.ERR,
    ),
    Example(
        "3: moving, but the lag grows over the whole window",
        FORWARD,
        [1, 1, 1, 1, 1, 2, 2, 2, 3, 3],
        Rule.FALLING_BEHIND,
        Status.WARN,
        Status.WARN,
    ),
    Example(
        "4: the lag grew from first to last, but shrank between W3 and W4",
        FORWARD,
        [5, 3, 5, 2, 1, 1, 2, 1, 4, 6],
        Rule.KEEPING_PACE,
        Status.OK,
        Status.OK,
    ),
    Example(
        "5: the same, but it is T + 1200: 660 s of silence after 540 s of commits",
        FORWARD,
        [5, 3, 5, 2, 1, 1, 2, 1, 4, 6],
        Rule.STOPPED,
        Status.STOP,
        Status.ERR,
        now_s=1200,
    ),
]


def placed(offsets: list[int], lags: list[int]) -> Windows:
    """A window of commits that came a minute apart."""
    order = np.arange(len(offsets))
    times = T + order * MINUTE_MS
    lag = np.array(lags)
    commits = Commits(np.zeros_like(order), np.array(offsets), times, times, lag, lag, order)
    return place(Windows.empty(1, 10), commits, 0)[0]


def judged(windows: Windows, now_s: int, head: int | None = None) -> Verdict:
    """The verdict when the head is where the last commit's lag says, and was there all the time."""
    known = windows.offset[:, -1] + windows.lag[:, -1] if head is None else np.array([head])
    return judge(
        digest(windows, 0),
        known,
        known,
        T + now_s * 1000,
        RuleSettings(10),
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example: Example) -> None:
    verdict = judged(placed(example.offsets, example.lags), example.now_s)

    assert (Rule(verdict.rule[0]), Status(verdict.status[0])) == (example.rule, example.status)
    assert verdict.complete.tolist() == [1]
    group = roll_up(np.array([0]), 1, verdict, np.array([1]))
    assert Status(group.status[0]) == example.group_status


def judged_by_trend(example: Example, times: int) -> Verdict:
    """By Warren's own rules, with offsets and lags that many times as large."""
    windows = placed([each * times for each in example.offsets], [each * times for each in example.lags])
    head = windows.offset[:, -1] + windows.lag[:, -1]
    settings = RuleSettings(10, TREND.allowed_lag, book=TREND)
    return judge(digest(windows, TREND.allowed_lag), head, head, T + example.now_s * 1000, settings)


def shown(example: Example) -> str:
    """Its line on the page."""
    trend = judged_by_trend(example, 1)
    columns = (
        example.name[0],
        f"T+{example.now_s}",
        " ".join(map(str, example.offsets)),
        " ".join(map(str, example.lags)),
        example.status.name,
        example.group_status.name,
        f"`{example.rule.name.lower()}`",
        f"{Status(trend.status[0]).name}, `{Rule(trend.rule[0]).name.lower()}`",
    )
    return f"| {' | '.join(columns)} |"


def test_the_page_shows_the_examples_with_what_the_rules_say_of_them() -> None:
    section = PAGE.read_text().partition("## Burrow's five worked examples")[2].partition("\n## ")[0]

    assert re.findall(r"^\| \d.*$", section, re.MULTILINE) == [shown(example) for example in EXAMPLES]


def test_with_a_hundred_times_the_lag_trend_says_what_the_page_says() -> None:
    verdicts = [judged_by_trend(example, 100) for example in EXAMPLES]

    assert [Rule(verdict.rule[0]) for verdict in verdicts] == [
        *(Rule.CAUGHT_UP, Rule.STALLED, Rule.NOT_GROWING, Rule.NOT_GROWING, Rule.STOPPED)
    ]


def test_example_1_can_become_a_warning_after_six_more_commits() -> None:
    windows = placed(FORWARD, [0, 0, 0, 0, 0, 0, 1, 3, 5, 5])
    statuses = []
    for more in range(1, 7):
        at = np.array([9 + more])
        times = T + at * MINUTE_MS
        lag = np.array([5])
        commit = Commits(np.array([0]), np.array([100 + more * 10]), times, times, lag, lag, at)
        windows, _ = place(windows, commit, 0)
        statuses.append(Status(judged(windows, 600 + more * 60).status[0]))

    # with the sixth the last zero has left the window
    assert statuses == [Status.OK] * 5 + [Status.WARN]


def test_example_5_has_stopped_by_660_seconds_against_540() -> None:
    windows = placed(FORWARD, [5, 3, 5, 2, 1, 1, 2, 1, 4, 6])

    # as long as the silence is not longer than the window it has not
    assert Status(judged(windows, 540 + 540).status[0]) == Status.OK
    assert Status(judged(windows, 540 + 541).status[0]) == Status.STOP


@dataclass(frozen=True)
class Wording:
    name: str
    offsets: list[int]
    lags: list[int]
    status: Status
    now_s: int = 600
    head: int | None = None


WORDINGS = [
    Wording("1: any lag of zero in the window is fine", FORWARD, [9, 9, 9, 0, 9, 9, 9, 9, 9, 9], Status.OK),
    Wording("2: no move, the lag fixed: stalled", STUCK, [7] * 10, Status.STALL),
    Wording("2: no move, the lag growing: stalled", STUCK, list(range(1, 11)), Status.STALL),
    Wording("3: moving, the lag the same between every pair: warning", FORWARD, [7] * 10, Status.WARN),
    Wording(
        "3: moving, the lag growing between every pair: warning", FORWARD, list(range(1, 11)), Status.WARN
    ),
    Wording(
        "4: silent for longer than the window spans: stopped", FORWARD, [7] * 10, Status.STOP, now_s=1081
    ),
    Wording(
        "4: unless the consumer is at the broker's offset", FORWARD, [7] * 10, Status.OK, now_s=9999, head=100
    ),
    Wording(
        "5: no broker offset for the partition yet is fine",
        FORWARD,
        [UNKNOWN] * 10,
        Status.OK,
        now_s=9999,
        head=UNKNOWN,
    ),
]


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.name)
def test_rule_as_worded(wording: Wording) -> None:
    verdict = judged(placed(wording.offsets, wording.lags), wording.now_s, wording.head)

    assert Status(verdict.status[0]) == wording.status
