"""The runs of `warren lab --long`, their findings, and the comparison with the targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from warren.lab.forward import Judge, Looks, run
from warren.lab.long.score import DAY_S, LongScore, long_scores, total
from warren.lab.plan import DEFAULT_SEED, DEFAULT_THRESHOLD, Target
from warren.lab.scenarios import Kind, Scenario

_HOUR_S: Final = 3_600.0
_LOOKS: Final = Looks("looks every 5 s", every_s=5)
# the judges that are compared
JUDGES: Final = (Judge.TREND, Judge.CACHING, Judge.BURROW)
# per 1,000 groups and day, over all healthy classes
_MOST_FALSE: Final = 50.0
# per group and day
_MOST_FLAPS: Final = 1.0
# class: the longest median of seconds until it is seen
_SEEN_WITHIN_S: Final = {
    "load 1.1": 150.0,
    "load 1.02": 600.0,
    "dead, commits every 5 s": 95.0,
    "dead, Kafka Connect": 200.0,
    "dead, checkpoints every 5 min": 1_000.0,
}
# the class in which the same trouble comes again: each time it must be seen
_AGAIN: Final = "three outages"
# the class in which the verdict must hold once it is there: the least share of looks, and the most closes a day
_HOLDS: Final = "load 1.1"
_LEAST_RIGHT: Final = 0.95
_MOST_CLOSES: Final = 1.0


@dataclass(frozen=True, slots=True)
class LongProgramme:
    """How long the traffic is, and how often each scenario is simulated."""

    length_s: float
    seeds: int


LONG: Final = LongProgramme(DAY_S, 2)
LONG_QUICK: Final = LongProgramme(6 * _HOUR_S, 1)


@dataclass(frozen=True, slots=True)
class LongFindings:
    """What one call found."""

    seed: int
    group_days: float
    groups: int
    # per class and judge
    classes: list[LongScore]
    targets: list[Target]

    def of(self, name: str, judge: Judge) -> LongScore:
        """The score of a class."""
        return next(each for each in self.classes if (each.name, each.judge) == (name, judge))

    def names(self, *, healthy: bool) -> list[str]:
        """The classes of healthy groups, or of those in trouble."""
        wanted = [each.name for each in self.classes if (each.kind is Kind.HEALTHY) == healthy]
        return list(dict.fromkeys(wanted))

    def healthy(self, judge: Judge) -> LongScore:
        """All healthy classes together."""
        return total(self.of(name, judge) for name in self.names(healthy=True))

    @property
    def kept(self) -> bool:
        return all(target.kept for target in self.targets)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "seed": self.seed,
            "groups": self.groups,
            "group_days": round(self.group_days, 2),
            "targets": [
                {"promise": each.promise, "found": each.found, "kept": each.kept} for each in self.targets
            ],
            "classes": [_figures(each) for each in self.classes],
        }


def carry_out_long(
    programme: LongProgramme,
    scenarios: Sequence[Scenario],
    *,
    seed: int = DEFAULT_SEED,
    tell: Callable[[str, float], None] = lambda what, share: None,
) -> LongFindings:
    """Run everything; `tell` gets the current step and its share."""
    done = run(
        _LOOKS,
        scenarios,
        seeds=programme.seeds,
        seed=seed,
        length_s=programme.length_s,
        threshold=DEFAULT_THRESHOLD,
        tell=lambda share: tell(f"{programme.length_s / _HOUR_S:.0f} hours, {_LOOKS.name}", share),
    )
    classes = long_scores(done, JUDGES)
    groups = len(done.played.groups)
    days = groups * programme.length_s / DAY_S
    return LongFindings(seed, days, groups, classes, list(long_targets(classes)))


def long_targets(classes: Sequence[LongScore]) -> Iterator[Target]:
    """The targets for the rules `trend` and the findings; only for what was run."""
    own = {each.name: each for each in classes if each.judge is Judge.TREND}
    healthy = [each for each in own.values() if each.kind is Kind.HEALTHY]
    if healthy:
        rate = total(healthy).false_per_1000
        promise = f"at most {_MOST_FALSE:.0f} false alarms per 1,000 healthy groups and day"
        yield Target(promise, f"{rate:,.0f}", rate <= _MOST_FALSE)
    for name, within_s in _SEEN_WITHIN_S.items():
        if name in own:
            seen_s = own[name].seen_s
            found_s = math.inf if seen_s is None else seen_s
            found = f"{found_s:,.0f} s" if math.isfinite(found_s) else "never"
            yield Target(f"{name}: seen within {within_s:,.0f} s (median)", found, found_s <= within_s)
    if _HOLDS in own:
        score = own[_HOLDS]
        promise = f"{_HOLDS}: once seen, not OK in {_LEAST_RIGHT:.0%}, at most {_MOST_CLOSES:.0f} close a day"
        kept = score.right_share >= _LEAST_RIGHT and score.closes_a_day <= _MOST_CLOSES
        yield Target(promise, f"{score.right_share:.1%}, {score.closes_a_day:.1f}", kept)
    if _AGAIN in own:
        score = own[_AGAIN]
        count = len(score.seen_after_s)
        yield Target(f"{_AGAIN}: each is seen", f"{count - score.unseen} of {count}", score.unseen == 0)
    if own:
        flaps = total(own.values()).flaps_a_day
        worst = max(own.values(), key=lambda each: each.flaps_a_day)
        found = f"{flaps:.2f} (most: {worst.name}, {worst.flaps_a_day:.1f})"
        promise = f"at most {_MOST_FLAPS:.0f} flap per group and day"
        yield Target(promise, found, flaps <= _MOST_FLAPS)


def _figures(score: LongScore) -> dict[str, Any]:
    seen_s = score.seen_s
    return {
        "class": score.name,
        "kind": str(score.kind),
        "judge": str(score.judge),
        "groups": score.groups,
        "group_days": round(score.watched_s / DAY_S, 3),
        "false_alarms": score.false_alarms,
        "false_alarms_per_1000_groups_and_day": round(score.false_per_1000, 1),
        "flaps_per_group_and_day": round(score.flaps_a_day, 3),
        "troubles": len(score.seen_after_s),
        "unseen": score.unseen,
        "seen_after_median_s": round(seen_s, 1) if seen_s is not None and math.isfinite(seen_s) else None,
        "right_once_seen": round(score.right_share, 5) if score.seen_after_s else None,
        "closes_per_day": round(score.closes_a_day, 2) if score.seen_after_s else None,
    }
