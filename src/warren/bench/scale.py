"""`warren bench scale`: time and memory with ten and a hundred times as many windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from warren.bench import machine
from warren.bench.figures import Figure, Report
from warren.bench.plot import Panel
from warren.bench.process_tree import DRIVER, WORKERS
from warren.bench.steady import GIB, SteadyPlan, measured
from warren.bench.workload import DEFAULT_SIZES, INTERVALS, Sizes, Tell, site

# of the largest level
TRIGGER_S: Final = 5.0
MEMORY_GIB: Final = 6.0
BYTES_PER_WINDOW: Final = 1_500.0


@dataclass(frozen=True, slots=True)
class Level:
    """A number of windows and a rate of commits per second."""

    windows: int
    rate: float


LEVELS: Final = (Level(10_000, 2_000), Level(100_000, 2_000), Level(1_000_000, 5_000))


@dataclass(frozen=True, slots=True)
class ScalePlan:
    """The levels from few windows to many, and how long to measure each."""

    levels: Sequence[Level] = LEVELS
    partitions: int = DEFAULT_SIZES.partitions
    offsets_partitions: int = DEFAULT_SIZES.offsets_partitions
    warm_up_s: float = 20.0
    seconds: float = 60.0
    entries: int = INTERVALS

    def steady(self, level: Level) -> SteadyPlan:
        """The plan for one level."""
        groups = max(level.windows // self.partitions, 1)
        sizes = Sizes(groups, self.partitions, self.offsets_partitions)
        return SteadyPlan(sizes, level.rate, self.warm_up_s, self.seconds, self.entries)


def scale(plan: ScalePlan, tell: Tell) -> Report:
    """The same as `steady` at each level, each on a broker of its own."""
    began, facts = datetime.now(UTC), machine.facts()
    found = []
    for level in plan.levels:
        steps = plan.steady(level)

        def tell_level(step: str, done: float, total: float | None, of: int = steps.sizes.windows) -> None:
            tell(f"{of:,} windows: {step}", done, total)

        with site(tell_level) as where:
            found.append(measured(steps, where, tell_level) | {"plan": steps.to_dict()})
    sizes = {"levels": [each["plan"] for each in found]}
    return Report("scale", began, sizes, figures(found), facts, {"levels": found})


def figures(found: Sequence[dict[str, Any]]) -> list[Figure]:
    """Of each level, and of the growth between them; the last level has the targets."""
    figures = []
    for level in found:
        last = level is found[-1]
        windows, memory = f"{_windows(level):,} windows", level["memory"]
        figures += [
            Figure(f"{windows}: trigger p50", level["trigger_ms"]["p50"] / 1000, "s"),
            Figure(
                f"{windows}: trigger p95", level["trigger_ms"]["p95"] / 1000, "s", TRIGGER_S if last else None
            ),
            Figure(f"{windows}: commit to snapshot p99", level["visible_ms"]["p99"] / 1000, "s"),
            Figure(f"{windows}: memory, peak", memory["peak"] / GIB, "GiB", MEMORY_GIB if last else None),
            Figure(f"{windows}: checkpoint", level["checkpoint"] / 2**20, "MiB"),
        ]
    for smaller, larger in pairwise(found):
        last = larger is found[-1]
        step = f"{_windows(smaller):,} to {_windows(larger):,}"
        growth = growths(smaller, larger)
        ours = growth.get(DRIVER, 0) + growth.get(WORKERS, 0)
        target = BYTES_PER_WINDOW if last else None
        figures += [
            Figure(f"{step}: per additional window, driver and workers", ours, "bytes", target),
            Figure(f"{step}: per additional window, all processes", sum(growth.values()), "bytes"),
        ]
        figures += [Figure(f"{step}: of which {role}", size, "bytes") for role, size in growth.items()]
    return figures


def growths(smaller: dict[str, Any], larger: dict[str, Any]) -> dict[str, float]:
    """Role: bytes for each additional window."""
    windows = max(_windows(larger) - _windows(smaller), 1)
    few, many = smaller["memory"]["typical"], larger["memory"]["typical"]
    return {
        role: (many.get(role, 0) - few.get(role, 0)) / windows for role in sorted(few.keys() | many.keys())
    }


def panels(report: Report) -> list[Panel]:
    """The report as charts."""
    levels = report.detail["levels"]
    labels = [f"{_windows(level):,}" for level in levels]
    roles = sorted({role for level in levels for role in level["memory"]["typical"]})
    return [
        Panel(
            "time per trigger by windows",
            "s",
            labels,
            {name: [level["trigger_ms"][name] / 1000 for level in levels] for name in ("p50", "p95")},
            target=TRIGGER_S,
        ),
        Panel(
            "memory by windows",
            "GiB",
            labels,
            {role: [level["memory"]["typical"].get(role, 0) / GIB for level in levels] for role in roles},
            stacked=True,
            target=MEMORY_GIB,
        ),
        Panel(
            "memory per window",
            "kB",
            labels,
            {
                "all processes": [
                    sum(level["memory"]["typical"].values()) / _windows(level) / 1000 for level in levels
                ]
            },
        ),
        Panel(
            "checkpoint by windows",
            "MiB",
            labels,
            {"files": [level["checkpoint"] / 2**20 for level in levels]},
        ),
    ]


def levels(windows: Sequence[int], rate: float | None) -> tuple[Level, ...]:
    """Levels with these numbers of windows; without a rate those from a million on get more commits."""
    few, many = LEVELS[0].rate, LEVELS[-1].rate
    return tuple(
        Level(each, rate or (many if each >= LEVELS[-1].windows else few)) for each in sorted(set(windows))
    )


def _windows(level: dict[str, Any]) -> int:
    return int(level["plan"]["sizes"]["windows"])
