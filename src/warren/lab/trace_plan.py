"""The run of `warren lab --traces`: its findings, and the comparison with the targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from warren.common.status import Status
from warren.lab import klag
from warren.lab.forward import ZERO_MS, Judge, Looks, Moments, Watched, moments, watch
from warren.lab.groups import Timetable
from warren.lab.plan import Target
from warren.lab.trace_score import LONG_S, SHORT_S, TraceScore, best_threshold, score, total, truth, watched
from warren.lab.traces import Cadence, Trace, rebuilt

LOOKS: Final = Looks("looks every 5 s", every_s=5.0)
# judges beside those of `Judge`, on the lags of the looks
KLAG: Final = "klag"
BEST: Final = "best threshold"
# the rules that the targets are for
DEFAULT: Final = Judge.TREND


@dataclass(frozen=True, slots=True)
class TraceFindings:
    """What one call found."""

    cadence: Cadence
    seed: int
    threshold: int
    # judge: figures of each trace, by its name
    scores: dict[str, dict[str, TraceScore]]
    # trace: the best threshold in hindsight
    thresholds: dict[str, int]

    @property
    def totals(self) -> dict[str, TraceScore]:
        """The figures of each judge over all traces."""
        return {judge: total(list(each.values())) for judge, each in self.scores.items()}

    @property
    def targets(self) -> list[Target]:
        return targets(self.totals[DEFAULT])

    @property
    def kept(self) -> bool:
        return all(target.kept for target in self.targets)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "cadence": str(self.cadence),
            "seed": self.seed,
            "threshold": self.threshold,
            "targets": [
                {"promise": each.promise, "found": each.found, "kept": each.kept} for each in self.targets
            ],
            "judges": {str(judge): figures.to_dict() for judge, figures in self.totals.items()},
            "best_thresholds": self.thresholds,
            "traces": {
                name: {str(judge): each[name].to_dict() for judge, each in self.scores.items()}
                for name in self.thresholds
            },
        }


def replay(
    traces: Sequence[Trace],
    cadence: Cadence,
    *,
    seed: int,
    threshold: int,
    until_s: float = math.inf,
    tell: Callable[[float], None] = lambda share: None,
) -> tuple[Moments, Watched]:
    """Evaluate the traces side by side from their start, at every look; those until a moment are always the same."""
    length_s = max(trace.length_s for trace in traces)
    when = moments(LOOKS, length_s, seed).until(until_s)
    timetable = Timetable(length_s, LOOKS.every_s, when.heads_s, when.polls_s)
    played = rebuilt(traces, cadence, seed, timetable, ZERO_MS)
    return when, watch(LOOKS, played, when, threshold=threshold, tell=tell)


def judge_traces(
    traces: Sequence[Trace],
    cadence: Cadence,
    *,
    seed: int,
    threshold: int,
    tell: Callable[[float], None] = lambda share: None,
) -> TraceFindings:
    """Replay the traces and score all judges; `tell` gets the share of looks that are done."""
    when, found = replay(traces, cadence, seed=seed, threshold=threshold, tell=tell)
    alarms: dict[str, Any] = {judge: statuses != Status.OK for judge, statuses in found.statuses.items()}
    alarms[KLAG] = klag.growing(when.asked_s, found.lag)
    scores: dict[str, dict[str, TraceScore]] = {judge: {} for judge in [*alarms, BEST]}
    thresholds: dict[str, int] = {}
    for number, trace in enumerate(traces):
        there, count = truth(trace), watched(trace, when.asked_s)
        asked_s = when.asked_s[:count]
        for judge, alarm in alarms.items():
            scores[judge][trace.name] = score(there, asked_s, alarm[:count, number], LOOKS.every_s)
        thresholds[trace.name], scores[BEST][trace.name] = best_threshold(
            there, asked_s, found.lag[:count, number], LOOKS.every_s
        )
    return TraceFindings(cadence, seed, threshold, scores, thresholds)


def targets(found: TraceScore) -> list[Target]:
    """The targets and these figures; only for what the traces contain."""
    made: list[Target] = []

    def at_least(promise: str, share: float | None, least: float, shown: str) -> None:
        if share is not None:
            made.append(Target(promise, shown, share >= least))

    def at_most(promise: str, rate: float | None, most: float) -> None:
        if rate is not None:
            made.append(Target(promise, f"{rate:.2f}", rate <= most))

    at_least(
        f"at least 95 % of the troubles of {LONG_S} s and more are seen",
        found.long_share,
        0.95,
        f"{found.long_seen} of {found.long}",
    )
    at_least(
        "they are not OK for at least 70 % of their time until the lag shrinks",
        found.growing_share,
        0.7,
        f"{100 * (found.growing_share or 0):.1f} %",
    )
    at_least(
        f"at least 50 % of the troubles of {SHORT_S} to {LONG_S} s are seen",
        found.short_share,
        0.5,
        f"{found.short_seen} of {found.short}",
    )
    at_most("at most 0.1 false alarms per quiet group-day", found.false_a_day, 0.1)
    at_most("at most one flap per group and day", found.flaps_a_day, 1.0)
    return made
