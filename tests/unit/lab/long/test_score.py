"""What is counted in a long run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from warren.lab.consumers import ANY, OK, STOP, Label
from warren.lab.forward import Judge
from warren.lab.long.plan import long_targets
from warren.lab.long.score import LongScore, total
from warren.lab.scenarios import Kind

EVERY_S = 60.0
# one character is a look, a minute apart
QUIET = (Label(0, OK),)
TROUBLE = (Label(0, OK), Label(300, STOP))
OVER = (Label(0, OK), Label(300, STOP), Label(600, ANY), Label(900, OK))


def counted(verdicts: str, labels: tuple[Label, ...]) -> LongScore:
    """The score of one group with these verdicts: . is OK."""
    score = LongScore("some", Kind.BROKEN, Judge.TREND)
    asked_s = np.arange(1.0, EVERY_S * len(verdicts), EVERY_S)
    score.add(labels, asked_s, np.array([each != "." for each in verdicts]), len(verdicts) * EVERY_S)
    return score


@dataclass(frozen=True)
class Case:
    name: str
    verdicts: str
    labels: tuple[Label, ...]
    false_alarms: int = 0
    flaps: int = 0
    seen_after_s: tuple[float, ...] = ()
    looks: int = 0
    right: int = 0
    closes: int = 0


CASES = [
    Case("nothing happens", "....................", QUIET),
    Case("an alarm from the first look on", "xx..................", QUIET, false_alarms=1),
    Case("two alarms", "..xx............x...", QUIET, false_alarms=2),
    Case("opens again after three minutes", "..xx...x............", QUIET, false_alarms=2, flaps=1),
    Case("opens again after ten minutes", "..xx..........x.....", QUIET, false_alarms=2),
    Case("opens again after nine", "..xx.........x......", QUIET, false_alarms=2, flaps=1),
    Case("seen at once", ".....xxxxx", TROUBLE, seen_after_s=(1,), looks=5, right=5),
    Case("seen after two minutes", ".......xxx", TROUBLE, seen_after_s=(121,), looks=3, right=3),
    Case("never seen", "..........", TROUBLE, seen_after_s=(math.inf,), looks=5),
    Case("given up", "......xx..", TROUBLE, seen_after_s=(61,), looks=4, right=2, closes=1),
    Case(
        "seen, given up, seen", ".....x.xx.", TROUBLE, flaps=1, seen_after_s=(1,), looks=5, right=3, closes=2
    ),
    Case("an alarm before", "..xxxxxxxx", TROUBLE, false_alarms=1, seen_after_s=(1,), looks=5, right=5),
    Case("over in time", "......xxxxxx....", OVER, seen_after_s=(61,), looks=4, right=4),
    Case("held for too long", "......xxxxxxxxxxxx..", OVER, 1, seen_after_s=(61,), looks=4, right=4),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_counts(case: Case) -> None:
    score = counted(case.verdicts, case.labels)
    found = Case(
        case.name,
        case.verdicts,
        case.labels,
        score.false_alarms,
        score.flaps,
        tuple(score.seen_after_s),
        score.looks,
        score.right,
        score.closes,
    )
    assert found == case
    assert score.groups == 1


def test_figures_are_per_group_and_day() -> None:
    # a day of looks, every minute
    day = "." * 1438 + "x."
    sum_of_two = total([counted(day, QUIET), counted("." * 1440, QUIET)])
    assert sum_of_two.groups == 2
    assert sum_of_two.false_per_1000 == pytest.approx(500)
    # all of it is in the sum
    given_up = counted("......xx..", TROUBLE)
    twice = total([given_up, given_up])
    assert (twice.looks, twice.right, twice.closes, twice.unseen) == (8, 4, 2, 0)
    assert twice.closes_a_day == given_up.closes_a_day
    flapping = counted("x.x." + "." * 1436, QUIET)
    assert flapping.flaps_a_day == pytest.approx(1)


def test_closes_are_per_day_of_trouble_and_right_is_from_the_first_sight_on() -> None:
    score = counted("." * 720 + "....x.xx" + "x" * 712, (Label(0, OK), Label(720 * EVERY_S, STOP)))
    # half a day
    assert score.closes_a_day == pytest.approx(2)
    assert score.right_share == pytest.approx(715 / 716)
    assert score.seen_s == 241


def test_the_median_is_never_where_most_are_not_seen() -> None:
    score = total([counted("......xxxx", TROUBLE), *[counted("..........", TROUBLE)] * 2])
    assert score.seen_s == math.inf
    assert score.unseen == 2
    assert counted("....", QUIET).seen_s is None


DAY_S = 86_400.0
GOOD = [
    LongScore("calm", Kind.HEALTHY, Judge.TREND, 100, 100 * DAY_S, 100 * DAY_S, 5, 100),
    *(
        LongScore(name, Kind.SLOW, Judge.TREND, 1, DAY_S, seen_after_s=[seen_s], looks=100, right=95)
        for name, seen_s in (
            ("load 1.1", 150.0),
            ("load 1.02", 600.0),
            ("dead, commits every 5 s", 95.0),
            ("dead, Kafka Connect", 200.0),
            ("dead, checkpoints every 5 min", 1_000.0),
            ("three outages", 100.0),
        )
    ),
]
for each in GOOD[1:]:
    each.trouble_s, each.closes, each.flaps = DAY_S, 1, 1


def missed(scores: list[LongScore]) -> list[str]:
    return [target.promise for target in long_targets(scores) if not target.kept]


def test_what_just_keeps_every_target_keeps_them() -> None:
    assert missed(GOOD) == []
    assert len(list(long_targets(GOOD))) == 9


def test_targets_are_for_our_own_rules_and_what_was_run() -> None:
    assert list(long_targets([replace(each, judge=Judge.BURROW) for each in GOOD])) == []
    assert len(list(long_targets(GOOD[:1]))) == 2


@pytest.mark.parametrize(
    ("name", "worse", "promise"),
    [
        ("calm", {"false_alarms": 6}, "at most 50 false alarms per 1,000 healthy groups and day"),
        ("load 1.1", {"seen_after_s": [151.0]}, "load 1.1: seen within 150 s (median)"),
        ("load 1.1", {"right": 94}, "load 1.1: once seen, not OK in 95%, at most 1 close a day"),
        ("load 1.1", {"closes": 2}, "load 1.1: once seen, not OK in 95%, at most 1 close a day"),
        ("load 1.02", {"seen_after_s": [601.0]}, "load 1.02: seen within 600 s (median)"),
        (
            "dead, commits every 5 s",
            {"seen_after_s": [96.0]},
            "dead, commits every 5 s: seen within 95 s (median)",
        ),
        ("dead, Kafka Connect", {"seen_after_s": [201.0]}, "dead, Kafka Connect: seen within 200 s (median)"),
        (
            "dead, checkpoints every 5 min",
            {"seen_after_s": [math.inf]},
            "dead, checkpoints every 5 min: seen within 1,000 s (median)",
        ),
        ("three outages", {"seen_after_s": [90.0, 90.0, math.inf]}, "three outages: each is seen"),
        ("calm", {"flaps": 101}, "at most 1 flap per group and day"),
    ],
)
def test_a_target_is_missed(name: str, worse: dict[str, object], promise: str) -> None:
    changed = [replace(each, **worse) if each.name == name else each for each in GOOD]  # type: ignore[arg-type]
    assert missed(changed) == [promise]
