"""The sentence for each rule has the numbers that made it hold."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from warren.common.sentinels import UNKNOWN
from warren.evaluator.captures import Defaults, cases
from warren.evaluator.cases import Case, Entry, explain
from warren.evaluator.rules import Rule

NOW_MS: Final = 1_000_000_000
CAPTURED: Final = Path(__file__).parents[2] / "data" / "windows" / "captured.jsonl"


def case(
    offsets: list[int], lags: list[int], head: int, *, samples: tuple[int, ...] = (), age_s: int = 5
) -> Case:
    """Commits a second apart, the last so many seconds ago."""
    last = len(offsets) - 1
    entries = tuple(
        Entry(offset, NOW_MS - (age_s + last - at) * 1000, lag)
        for at, (offset, lag) in enumerate(zip(offsets, lags, strict=True))
    )
    return Case({"id": "x"}, entries, 10, head, samples, NOW_MS, 0, 0.0)


@dataclass(frozen=True)
class Reason:
    name: str
    case: Case
    rule: Rule
    because: str


REASONS = [
    Reason(
        "no commit",
        case([], [], 9),
        Rule.NO_COMMIT,
        "No commit of the group for this partition is known, so there is nothing to judge.",
    ),
    Reason(
        "too few commits",
        replace(case([1, 2], [5, 5], 9), minimum_complete=0.5),
        Rule.TOO_FEW_COMMITS,
        "The window has 2 of 10 commits: complete 0.2 is below the minimum-complete of 0.5, "
        "so it is not judged yet.",
    ),
    Reason(
        "at the head",
        case([1, 9], [5, 0], 9),
        Rule.NO_LAG_NOW,
        "The last committed offset 9 is at the head 9: a lag of 0, where 0 is allowed.",
    ),
    Reason(
        "ahead of the head",
        case([1, 9], [5, 0], 7),
        Rule.NO_LAG_NOW,
        "The last committed offset 9 is ahead of the head 7: a lag of 0, where 0 is allowed.",
    ),
    Reason(
        "near the head",
        replace(case([1, 9], [5, 0], 12), allowed_lag=3),
        Rule.NO_LAG_NOW,
        "The last committed offset 9 is near the head 12: a lag of 3, where 3 is allowed.",
    ),
    Reason(
        "no head",
        case([1, 9], [UNKNOWN, UNKNOWN], UNKNOWN),
        Rule.NO_LAG_NOW,
        "The head of the partition is not known yet, so there is no lag to judge.",
    ),
    Reason(
        "stopped",
        case([1, 2, 3], [6, 6, 6], 9, samples=(8, 9)),
        Rule.STOPPED,
        "The last commit is 5 s old, longer than the 2 s from the first to the last of the 3 commits in the "
        "window, and the lag is 6; the lowest stored head 8 is above the last committed offset 3, so the "
        "consumer was not at the head a moment ago either.",
    ),
    Reason(
        "stopped after one commit, without head samples",
        case([3], [6], 9),
        Rule.STOPPED,
        "The only commit is 5 s old, and the lag is 6; earlier heads are not known.",
    ),
    Reason(
        "rewound",
        case([5, 9, 4, 6], [1, 1, 9, 9], 20, age_s=1),
        Rule.REWOUND,
        "The offset fell from 9 to 4 at commit 3 of 4 and no later commit has come back to 9; "
        "the last is 6, the lag 14.",
    ),
    Reason(
        "caught up",
        case([5, 6, 7], [0, 0, 9], 20, age_s=1),
        Rule.CAUGHT_UP,
        "The lag is 13 now, but it was 0 at commit 2 of 3 (offset 6), where 0 is allowed: the consumer has "
        "caught up within the window.",
    ),
    Reason(
        "stalled",
        case([5, 5, 5], [7, 7, 9], 20, age_s=1),
        Rule.STALLED,
        "All 3 commits have offset 5, and the lag is 15: the consumer commits but does not move.",
    ),
    Reason(
        "one commit, silent but at the head a moment ago",
        case([5], [7], 20, samples=(4, 20)),
        Rule.STALLED,
        "The only commit has offset 5 and the lag is 15: the consumer commits but has not moved. The last "
        "commit is 5 s old, longer than the 0 s of the window, but the stored head 4 is not above 5: the "
        "consumer was at the head a moment ago and has not stopped.",
    ),
    Reason(
        "falling behind",
        case([5, 6, 7], [7, UNKNOWN, 9], 20, age_s=1),
        Rule.FALLING_BEHIND,
        "The offsets move from 5 to 7, but over 3 commits the lag never shrinks: 7, 9, and 13 now.",
    ),
    Reason(
        "falling behind by lags that are not known",
        case([5, 6, 7], [UNKNOWN] * 3, 20, age_s=1),
        Rule.FALLING_BEHIND,
        "The offsets move from 5 to 7, but no lag at a commit is known to have shrunk; the lag is 13 now.",
    ),
    Reason(
        "keeping pace",
        case([5, 6, 7], [9, UNKNOWN, 7], 20, age_s=1),
        Rule.KEEPING_PACE,
        "The lag is 13 now, but it shrank from 9 to 7 between commits 1 and 3 of 3: the consumer moves and "
        "catches up at times.",
    ),
    Reason(
        "hardly any commits",
        replace(case([5, 6], [7, 9], 20, age_s=1), class_name="trend"),
        Rule.TOO_FEW_COMMITS,
        "The window has 2 of 10 commits: with fewer than 3 the commit interval of the consumer is not known, so it is "
        "not judged for 300 s.",
    ),
    Reason(
        "caught up, for certain",
        Case(
            {"id": "x"},
            tuple(Entry(5 + at, NOW_MS - 4000 + at * 1000, 9, floor) for at, floor in enumerate((4, 0, 4))),
            10,
            20,
            (),
            NOW_MS,
            0,
            0.0,
        ),
        Rule.CAUGHT_UP,
        "The lag is 13 now, but it was 0 at commit 2 of 3 (offset 6), where 0 is allowed: the consumer has caught up "
        "within the window.",
    ),
    Reason(
        "growing",
        replace(case(list(range(0, 900, 90)), list(range(5, 105, 10)), 1000, age_s=1), class_name="trend"),
        Rule.GROWING,
        "The offsets move from 0 to 810, but over 10 commits the lag rises along a line, from 5 to 85: 10% of what "
        "comes in stays unread. It is 190 now.",
    ),
    Reason(
        "not growing",
        replace(case(list(range(0, 900, 90)), [50, 51] * 5, 1000, age_s=1), class_name="trend"),
        Rule.NOT_GROWING,
        "The lag is 190 now, and never within what is allowed in the window, but it does not rise along a line "
        "(50 to 50 over 10 commits, correlation 0.00): the consumer lags and keeps pace.",
    ),
    Reason(
        "not growing yet",
        replace(case([5, 6, 7], [7, 8, 9], 20, age_s=1), class_name="trend"),
        Rule.NOT_GROWING,
        "The lag is 13 now, and never within what is allowed in the window, but the window has only 3 of 10 commits: "
        "growth shows in a full one.",
    ),
    Reason(
        "not growing as far as one knows",
        replace(case(list(range(10)), [5, *[UNKNOWN] * 4, *range(4, 9)], 99, age_s=1), class_name="trend"),
        Rule.NOT_GROWING,
        "The lag is 90 now, and never within what is allowed in the window, but only 5 lags of the window are known, "
        "too few to see growth.",
    ),
]


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
def test_because(reason: Reason) -> None:
    found = explain(reason.case)

    assert found.rule == reason.rule
    assert found.because == reason.because


def test_every_rule_has_a_sentence() -> None:
    assert set(Rule) == {reason.rule for reason in REASONS}


def test_every_captured_window_can_be_explained() -> None:
    for line in CAPTURED.read_text().splitlines():
        document = json.loads(line)
        (one,) = cases(document, Defaults(now_ms=0))
        found = explain(one)
        assert (found.status.name, found.current_lag, found.complete) == (
            document["status"],
            document["current_lag"],
            document["complete"],
        )
        assert found.because.endswith(".")
        assert explain(replace(one, class_name="trend")).because.endswith(".")
