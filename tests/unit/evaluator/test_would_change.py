"""What is said to change a verdict changes it, and a little less does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from warren.common.sentinels import UNKNOWN
from warren.evaluator.captures import Defaults, cases
from warren.evaluator.cases import Case, Entry, explain
from warren.evaluator.rules import Rule

NOW_MS: Final = 1_000_000_000
STEP_MS: Final = 10_000
CAPTURED: Final = Path(__file__).parents[2] / "data" / "windows" / "captured.jsonl"


def case(offsets: list[int], lags: list[int], head: int, *, age_s: int = 5, rules: str = "caching") -> Case:
    """Commits ten seconds apart, the last so many seconds ago."""
    last = len(offsets) - 1
    entries = tuple(
        Entry(offset, NOW_MS - age_s * 1000 - (last - at) * STEP_MS, lag)
        for at, (offset, lag) in enumerate(zip(offsets, lags, strict=True))
    )
    return Case({"id": "x"}, entries, 10, head, (), NOW_MS, 0, 0.0, rules)


def after(before: Case, *commits: tuple[int, int]) -> Case:
    """The case with more commits, (offset, lag), and the time and the head of the last of them."""
    begin = before.entries[-1].timestamp if before.entries else before.now_ms
    entries = [
        *before.entries,
        *(Entry(offset, begin + number * STEP_MS, lag) for number, (offset, lag) in enumerate(commits, 1)),
    ]
    last = entries[-1]
    head = max(before.head, last.offset + last.lag)
    return replace(before, entries=tuple(entries[-before.intervals :]), now_ms=last.timestamp, head=head)


def later(before: Case, seconds: float) -> Case:
    return replace(before, now_ms=before.now_ms + round(seconds * 1000))


GROWING: Final = case([*range(0, 900, 90)], [*range(5, 105, 10)], 1000, rules="trend")


@dataclass(frozen=True)
class Change:
    name: str
    case: Case
    rule: Rule
    would_change: str
    decided_by: tuple[int, ...]
    # what is said, and a little less
    enough: Callable[[Case], Case]
    too_little: Callable[[Case], Case]


CHANGES = [
    Change(
        "a first commit",
        case([], [], 9),
        Rule.NO_COMMIT,
        "A first commit of the group for this partition.",
        (),
        lambda one: after(one, (5, 4)),
        lambda one: later(one, 3600),
    ),
    Change(
        "enough commits",
        replace(case([1, 2], [5, 5], 9), minimum_complete=0.5),
        Rule.TOO_FEW_COMMITS,
        "3 more commits: then the window is judged.",
        (0, 1),
        lambda one: after(one, *[(3, 6)] * 3),
        lambda one: after(one, *[(3, 6)] * 2),
    ),
    Change(
        "a third commit",
        case([5, 6], [7, 9], 20, rules="trend"),
        Rule.TOO_FEW_COMMITS,
        "1 more commit, or none for another 295 s: then the window is judged.",
        (0, 1),
        lambda one: after(one, (7, 9)),
        lambda one: later(one, 295),
    ),
    Change(
        "a long silence of a consumer with hardly any commits",
        case([5, 6], [7, 9], 20, rules="trend"),
        Rule.TOO_FEW_COMMITS,
        "1 more commit, or none for another 295 s: then the window is judged.",
        (0, 1),
        lambda one: later(one, 296),
        lambda one: later(one, 295),
    ),
    Change(
        "more lag",
        replace(case([1, 9], [5, 0], 10), allowed_lag=3),
        Rule.NO_LAG_NOW,
        "A lag above 3, which is 3 more messages without a commit: then the window is judged.",
        (1,),
        lambda one: replace(one, head=13),
        lambda one: replace(one, head=12),
    ),
    Change(
        "a head",
        case([1, 9], [UNKNOWN] * 2, UNKNOWN),
        Rule.NO_LAG_NOW,
        "A head of the partition from the brokers.",
        (1,),
        lambda one: replace(one, head=20),
        lambda one: one,
    ),
    Change(
        "a commit of a stopped consumer",
        replace(case([1, 2, 3], [6, 6, 6], 20, age_s=60), allowed_lag=2),
        Rule.STOPPED,
        "One commit. With offset 18 or above the partition is OK at once; below that its window is judged again.",
        (0, 2),
        lambda one: after(one, (4, 16)),
        lambda one: later(one, 60),
    ),
    Change(
        "a rewound consumer that comes back",
        case([5, 9, 4, 6], [1, 1, 9, 9], 20),
        Rule.REWOUND,
        "A commit of 9 or above, 3 more messages; or 8 more commits, with which the fall leaves the window. STOP, when "
        "no commit comes for more than another 25 s.",
        (1, 2),
        lambda one: after(one, (9, 11)),
        lambda one: after(one, (8, 12)),
    ),
    Change(
        "a fall that leaves the window",
        case([5, 9, 4, 6], [1, 1, 9, 9], 20),
        Rule.REWOUND,
        "A commit of 9 or above, 3 more messages; or 8 more commits, with which the fall leaves the window. STOP, when "
        "no commit comes for more than another 25 s.",
        (1, 2),
        lambda one: after(one, *[(6, 14)] * 8),
        lambda one: after(one, *[(6, 14)] * 7),
    ),
    Change(
        "the second of two falls leaves the window",
        case([90, 5, 80, 4, 6], [1, 1, 9, 9, 9], 100),
        Rule.REWOUND,
        "A commit of 90 or above, 84 more messages; or 8 more commits, with which the fall leaves the window. STOP, "
        "when no commit comes for more than another 35 s.",
        (0, 1),
        lambda one: after(one, *[(6, 14)] * 8),
        lambda one: after(one, *[(6, 14)] * 7),
    ),
    Change(
        "the commit that had caught up leaves the window",
        case([5, 6, 7], [0, 0, 9], 20),
        Rule.CAUGHT_UP,
        "9 more commits, all with a lag above 0: then no commit of the window has caught up, and its trend decides. "
        "STOP, when no commit comes for more than another 15 s.",
        (1,),
        lambda one: after(one, *[(8, 12)] * 9),
        lambda one: after(one, *[(8, 12)] * 8),
    ),
    Change(
        "a stalled consumer that moves",
        case([5, 5, 5], [7, 7, 9], 20),
        Rule.STALLED,
        "One commit above offset 5; with 20 or above the partition is OK at once. STOP, when no commit comes for more "
        "than another 15 s.",
        (0, 1, 2),
        lambda one: after(one, (6, 14)),
        lambda one: after(one, (5, 15)),
    ),
    Change(
        "a lower lag",
        case([5, 6, 7], [7, UNKNOWN, 9], 20),
        Rule.FALLING_BEHIND,
        "One commit with a lag below 9. STOP, when no commit comes for more than another 15 s.",
        (0, 2),
        lambda one: after(one, (12, 8)),
        lambda one: after(one, (11, 9)),
    ),
    Change(
        "no lower lag",
        case([5, 6, 7, 8], [9, UNKNOWN, 7, 8], 20),
        Rule.KEEPING_PACE,
        "WARN, when the lag does not shrink in 7 more commits. STOP, when no commit comes for more than another 25 s.",
        (0, 2),
        lambda one: after(one, *[(9, 11)] * 7),
        lambda one: after(one, *[(9, 11)] * 6),
    ),
    Change(
        "a line that bends",
        GROWING,
        Rule.GROWING,
        "A lag below 93 at the next commit, where the line leads to 105; with offset 1000 or above the partition is OK "
        "at once. STOP, when no commit comes for more than another 85 s.",
        (0, 1, 2, 3, 4, 5, 6, 7, 8),
        lambda one: after(one, (1005 - 92, 92), (1000, 110)),
        lambda one: after(one, (1005 - 93, 93), (1000, 110)),
    ),
    Change(
        "a full window",
        case([5, 6, 7], [7, 8, 9], 20, rules="trend"),
        Rule.NOT_GROWING,
        "7 more commits: growth shows in a full window. STOP, when no commit comes for more than another 15 s.",
        (0, 1),
        lambda one: later(one, 16),
        lambda one: later(one, 15),
    ),
    Change(
        "growth",
        case([*range(0, 900, 90)], [50, 51] * 5, 1000, rules="trend"),
        Rule.NOT_GROWING,
        "WARN, when the lag rises along a line over 10 commits, by 10 messages and 3% of what comes in at least. STOP, "
        "when no commit comes for more than another 85 s.",
        (0, 1, 2, 3, 4, 5, 6, 7, 8),
        lambda one: after(one, *((900 + at * 90, 60 + at * 10) for at in range(10))),
        lambda one: after(one, *((900 + at * 90, 60) for at in range(10))),
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_what_would_change_a_verdict_does_and_a_little_less_does_not(change: Change) -> None:
    found = explain(change.case)

    assert (found.rule, found.would_change, found.decided_by) == (
        change.rule,
        change.would_change,
        change.decided_by,
    )
    assert explain(change.enough(change.case)).rule != change.rule
    assert explain(change.too_little(change.case)).rule == change.rule


def test_every_rule_says_what_would_change_it() -> None:
    assert {change.rule for change in CHANGES} == set(Rule)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_the_time_until_a_stop_is_right(change: Change) -> None:
    found = re.search(r"STOP, when no commit comes for more than another (\d+) s\.", change.would_change)
    if found is None:
        return
    assert explain(later(change.case, int(found[1]))).rule != Rule.STOPPED
    assert explain(later(change.case, int(found[1]) + 1)).rule == Rule.STOPPED


def test_an_offset_that_is_said_to_be_enough_is() -> None:
    for change in CHANGES:
        found = re.search(r"ith (?:offset )?(\d+) or above the partition is OK at once", change.would_change)
        if found is None:
            continue
        offset = int(found[1])
        assert explain(after(change.case, (offset, 0))).rule == Rule.NO_LAG_NOW
        below = after(change.case, (offset - 1, change.case.head - offset + 1))
        assert explain(below).rule not in {Rule.NO_LAG_NOW, Rule.STOPPED}


def test_every_captured_window_says_what_would_change_it() -> None:
    for line in CAPTURED.read_text().splitlines():
        (one,) = cases(json.loads(line), Defaults(now_ms=0))
        for rules in ("caching", "trend"):
            found = explain(replace(one, class_name=rules))
            assert found.would_change.endswith(".")
            assert all(0 <= at < len(one.entries) for at in found.decided_by)
