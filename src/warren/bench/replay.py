"""`warren bench replay`: how fast a topic full of commits becomes a snapshot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from warren.bench import machine
from warren.bench.figures import Better, Figure, Report
from warren.bench.line import Child, Words
from warren.bench.workload import DEFAULT_SIZES, Site, Sizes, Tell, fill, site, start_writer
from warren.demo.commit_writer import DEFAULT_INTERVAL_MS

SUBJECT: Final = "warren.bench.subject"
# of the bare drain's rate
WARM_TARGET: Final = 0.7
# 12 s where the drain takes 7.4 s
COLD_TARGET: Final = 12 / 7.4


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What to replay, and how often."""

    sizes: Sizes = DEFAULT_SIZES
    commits: int = 4_000_000
    # of each kind; the best counts
    runs: int = 3
    # `min-distance` of the windows; None: that of the configuration's defaults
    min_distance_s: int | None = None


def replay(plan: ReplayPlan, tell: Tell) -> Report:
    """A bare drain, Warren warm, and Warren from the start of its process, all on the same topic."""
    began, facts = datetime.now(UTC), machine.facts()
    with site(tell) as where:
        with start_writer(where, plan.sizes, DEFAULT_INTERVAL_MS) as child:
            written_s = fill(child, plan.commits, tell)
        drains = _drains(where, plan, tell)
        warm = _warm(where, plan, tell)
        cold = [_cold(where, plan, tell, run) for run in range(plan.runs)]
    detail = {"written_s": written_s, "drain_s": drains, "warm": warm, "cold_s": cold}
    sizes = plan.sizes.to_dict() | {
        "commits": plan.commits,
        "runs": plan.runs,
        "min_distance_s": plan.min_distance_s,
    }
    return Report("replay", began, sizes, _figures(plan.commits, drains, warm, cold), facts, detail)


def _figures(
    commits: int, drains: list[float], warm: list[dict[str, Any]], cold: list[float]
) -> list[Figure]:
    drain_s, cold_s = min(drains), min(cold)
    warm_s, started_s = (min(each[name] for each in warm) for name in ("seconds", "with_start_s"))
    return [
        Figure("bare drain", commits / drain_s, "records/s"),
        Figure("bare drain, time", drain_s, "s"),
        Figure("warm, planning to snapshot", commits / warm_s, "records/s"),
        Figure("warm, time", warm_s, "s"),
        Figure("warm, to the bare drain's rate", drain_s / warm_s, "x", WARM_TARGET, Better.HIGHER),
        Figure("warm, with the start of the query", started_s, "s"),
        Figure("cold, process start to snapshot", cold_s, "s"),
        Figure("cold, to the bare drain's time", cold_s / drain_s, "x", COLD_TARGET),
    ]


def _drains(where: Site, plan: ReplayPlan, tell: Tell) -> list[float]:
    shape = plan.sizes.shape
    task = {
        "servers": where.servers,
        "topic": shape.offsets_topic,
        "partitions": shape.offsets_partitions,
        "records": plan.commits,
        "runs": plan.runs,
    }
    times = []
    with Child("warren.bench.bare_drain", task, where.directory) as child:
        for run in range(plan.runs):
            step = f"bare drain {run + 1} of {plan.runs}"
            drained = child.hear("drained", other=partial(_tell_done, tell, step, plan.commits))
            tell(step, plan.commits, plan.commits)
            times.append(float(drained["seconds"]))
    return times


def _tell_done(tell: Tell, step: str, total: int, event: Words) -> None:
    tell(step, event["done"], total)


def _warm(where: Site, plan: ReplayPlan, tell: Tell) -> list[dict[str, Any]]:
    """One process; its first replay is the warming up."""
    runs = []
    with _subject(where, plan, runs=plan.runs + 1) as child:
        for run in range(plan.runs + 1):
            step = f"warm replay {run} of {plan.runs}" if run else "warming up"
            tell(step, 0, None)
            replayed = child.hear("replayed")
            tell(step, 1, 1)
            runs.append(
                {
                    "seconds": replayed["at"] - replayed["planned"],
                    "with_start_s": replayed["at"] - replayed["began"],
                    "triggers": replayed["triggers"],
                }
            )
    return runs[1:]


def _cold(where: Site, plan: ReplayPlan, tell: Tell, run: int) -> float:
    step = f"cold replay {run + 1} of {plan.runs}"
    tell(step, 0, None)
    with _subject(where, plan) as child:
        child.ask("complete", windows=plan.sizes.windows, records=plan.commits)
        complete = child.hear("complete")
        tell(step, 1, 1)
        return float(complete["at"]) - child.started


@contextmanager
def _subject(where: Site, plan: ReplayPlan, **more: int) -> Iterator[Child]:
    directory = where.warren_directory(plan.min_distance_s)
    task = {"directory": str(directory), "windows": plan.sizes.windows, "records": plan.commits, **more}
    with Child(SUBJECT, task, where.directory) as child:
        yield child
    shutil.rmtree(directory, ignore_errors=True)
