"""The runs of `warren lab`, their findings, and the comparison with the targets."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from warren.errors import WarrenError
from warren.lab.forward import Judge, Looks, Run, run
from warren.lab.scenarios import SCENARIOS, Kind, Scenario
from warren.lab.score import Score, merged, scores

DEFAULT_SEED: Final = 1
# a common threshold: a thousand messages
DEFAULT_THRESHOLD: Final = 1_000
_DAY_S: Final = 86_400.0
# how often a group that lags evenly may change its verdict, per hour
_MOST_FLIPS: Final = 1.0
# tolerance when the accuracy of two judges is compared: the looks while windows fill
_AS_RIGHT: Final = 0.001


class LabError(WarrenError):
    """There is nothing to run."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Part:
    """One polling setting, and how often each scenario is simulated with it."""

    looks: Looks
    seeds: int
    # counts for the table of classes, and for the targets
    main: bool = True


@dataclass(frozen=True, slots=True)
class Programme:
    """All runs of one call."""

    parts: tuple[Part, ...]
    length_s: float


FULL: Final = Programme(
    (
        Part(Looks("looks every second", every_s=1), 1),
        Part(Looks("looks every 5 s", every_s=5), 2),
        Part(Looks("looks every 10 s", every_s=10), 4),
        Part(Looks("looks every 5 s, one in fifty fails", every_s=5, failing=0.02), 1),
        Part(Looks("first start in the middle", every_s=5, start_s=1200), 1),
        Part(Looks("intervals 20", every_s=10, intervals=20), 1, main=False),
        Part(Looks("allowed-lag 100", every_s=10, allowed_lag=100), 1, main=False),
        Part(Looks("min-distance 30", every_s=10, min_distance_s=30), 1, main=False),
        Part(Looks("min-distance 0", every_s=5, min_distance_s=0), 1, main=False),
    ),
    length_s=2400,
)
QUICK: Final = Programme((Part(Looks("looks every 5 s", every_s=5), 1),), length_s=1500)


@dataclass(frozen=True, slots=True)
class Target:
    """A target, and what was found."""

    promise: str
    found: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What one call found."""

    seed: int
    threshold: int
    group_days: float
    groups: int
    # per class and judge, over the main polling settings
    classes: list[Score]
    # polling setting: scores per kind, by Warren's rules
    ways: dict[str, dict[Kind, Score]]
    targets: list[Target]

    def of(self, name: str, judge: Judge) -> Score:
        """The score of a class."""
        return next(each for each in self.classes if (each.name, each.judge) == (name, judge))

    @property
    def names(self) -> list[str]:
        """The classes, in the order of the scenarios."""
        return list(dict.fromkeys(each.name for each in self.classes))

    @property
    def kept(self) -> bool:
        return all(target.kept for target in self.targets)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "seed": self.seed,
            "threshold": self.threshold,
            "groups": self.groups,
            "group_days": round(self.group_days, 2),
            "targets": [
                {"promise": each.promise, "found": each.found, "kept": each.kept} for each in self.targets
            ],
            "classes": [_figures(each) for each in self.classes],
            "ways": {
                way: {str(kind): _figures(each) for kind, each in kinds.items()}
                for way, kinds in self.ways.items()
            },
        }


def chosen(patterns: Sequence[str], scenarios: tuple[Scenario, ...] = SCENARIOS) -> tuple[Scenario, ...]:
    """The scenarios whose class matches one of the patterns; all of them without any."""
    if not patterns:
        return scenarios
    found = tuple(
        each
        for each in scenarios
        if any(fnmatch.fnmatchcase(each.name, f"*{pattern}*") for pattern in patterns)
    )
    if not found:
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(each.name for each in scenarios))
        raise LabError(f"no class matches {' or '.join(patterns)}; there are {names}")
    return found


def carry_out(
    programme: Programme,
    scenarios: Sequence[Scenario],
    *,
    seed: int = DEFAULT_SEED,
    threshold: int = DEFAULT_THRESHOLD,
    tell: Callable[[str, float], None] = lambda what, share: None,
) -> Findings:
    """Run everything; `tell` gets the current step and its share."""
    main: list[Score] = []
    ways: dict[str, dict[Kind, Score]] = {}
    group_s, groups = 0.0, 0
    for number, part in enumerate(programme.parts):
        looks = replace(part.looks, start_s=min(part.looks.start_s, programme.length_s / 2))
        done = run(
            looks,
            scenarios,
            seeds=part.seeds,
            seed=seed + number,
            length_s=programme.length_s,
            threshold=threshold,
            tell=lambda share, name=looks.name: tell(name, share),  # type: ignore[misc]
        )
        found = scores([done])
        ways[looks.name] = _by_kind(found)
        group_s += len(done.played.groups) * _watched_s(done)
        groups += len(done.played.groups)
        if part.main:
            main = merged([*main, *found])
    return Findings(seed, threshold, group_s / _DAY_S, groups, main, ways, targets(main))


def _watched_s(done: Run) -> float:
    return float(done.asked_s[-1] - done.asked_s[0])


def _by_kind(found: list[Score]) -> dict[Kind, Score]:
    own = [replace(each, name=each.kind) for each in found if each.judge is Judge.TREND]
    return {each.kind: each for each in merged(own)}


def targets(classes: Sequence[Score]) -> list[Target]:
    """The targets for the rules `trend` and the findings; only for what was run."""
    own = [each for each in classes if each.judge is Judge.TREND]
    made: list[Target] = []
    healthy = [each for each in own if each.kind is Kind.HEALTHY]
    if healthy:
        count = sum(each.false_alarms for each in healthy)
        days = sum(each.quiet_s for each in healthy) / _DAY_S
        promise = "no false alarm on healthy traffic"
        made.append(Target(promise, f"{count} in {days:.1f} group-days", count == 0))
    even = [each for each in own if each.kind is Kind.EVEN]
    if even:
        worst = max(even, key=lambda each: each.flips_an_hour)
        found = f"{worst.flips_an_hour:.2f} ({worst.name})"
        promise = "a group that lags evenly changes its verdict less than once an hour"
        made.append(Target(promise, found, worst.flips_an_hour <= _MOST_FLIPS))
    slow = [each for each in own if each.kind is Kind.SLOW]
    if slow:
        unseen = sum(each.unseen for each in slow)
        total = sum(len(each.seen_after_s) for each in slow)
        made.append(Target("slow consumers are always detected", f"{total - unseen} of {total}", unseen == 0))
        late = [each.name for each in slow if not each.mostly_in_a_window]
        promise = "the median delay is at most a window's length after the first lag that is certain"
        made.append(Target(promise, f"not: {', '.join(late)}" if late else "all classes", not late))
    behind = [
        each.name for each in own if each.right_share < _plain(classes, each.name).right_share - _AS_RIGHT
    ]
    promise = "every class at least as accurate as Burrow's own rules"
    made.append(Target(promise, f"not: {', '.join(behind)}" if behind else "all classes", not behind))
    return made


def _plain(classes: Sequence[Score], name: str) -> Score:
    return next(each for each in classes if (each.name, each.judge) == (name, Judge.BURROW))


def _figures(score: Score) -> dict[str, Any]:
    return {
        "class": score.name,
        "kind": str(score.kind),
        "judge": str(score.judge),
        "groups": score.groups,
        "looks": score.looks,
        "right": round(score.right_share, 5),
        "false_alarms": score.false_alarms,
        "false_alarms_per_group_and_day": round(score.false_alarms_a_day, 3),
        "flips_per_group_and_hour": round(score.flips_an_hour, 3),
        "troubles": len(score.seen_after_s),
        "unseen": score.unseen,
        "seen_after_s": _spread(score.seen_after_s),
        "seen_after_certain_s": _spread(score.seen_after_certain_s),
    }


def _spread(values: Sequence[float]) -> dict[str, float | None] | None:
    """Median and worst; None where it was never detected."""
    if not values:
        return None
    both = {"median": float(np.median(values)), "worst": max(values)}
    return {name: round(value, 1) if np.isfinite(value) else None for name, value in both.items()}
