"""`warren bench steady`: Warren's resources and delay at a steady rate of commits."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from warren.bench import machine
from warren.bench.figures import Figure, Report
from warren.bench.line import BenchError, Child
from warren.bench.process_tree import Sampler, cores_used, peak, typical
from warren.bench.workload import DEFAULT_SIZES, INTERVALS, Site, Sizes, Tell, fill, site, start_writer

SUBJECT: Final = "warren.bench.subject"
GIB: Final = 2**30
TRIGGER_P95_S: Final = 1.5
VISIBLE_P99_S: Final = 8.0
MEMORY_GIB: Final = 1.6
CORES: Final = 0.15
_SAMPLE_S: Final = 1.0
# minimum number of snapshots, and how much longer to wait for them
_FEWEST: Final = 3
_LONGER_S: Final = 60.0
# a phase with a smaller share of the trigger is in the JSON only
_SHOWN_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class SteadyPlan:
    """How many commits a second, and for how long."""

    sizes: Sizes = DEFAULT_SIZES
    rate: float = 2_000
    warm_up_s: float = 20.0
    seconds: float = 60.0
    # commits of each window before the measurement; full windows by default
    entries: int = INTERVALS

    @property
    def filling(self) -> int:
        """Number of these commits."""
        return self.sizes.windows * self.entries

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"sizes": self.sizes.to_dict()}


def steady(plan: SteadyPlan, tell: Tell) -> Report:
    """Trigger times, times to visibility, processor and memory."""
    began, facts = datetime.now(UTC), machine.facts()
    with site(tell) as where:
        found = measured(plan, where, tell)
    return Report("steady", began, plan.to_dict(), _figures(found), facts, found)


def phases(found: dict[str, Any]) -> list[Figure]:
    """The times of a trigger's phases, the long ones only."""
    whole = found["phases_ms"].get("triggerExecution", {}).get("p50", 0)
    return [
        Figure(f"trigger p50, {phase}", spent["p50"] / 1000, "s")
        for phase, spent in sorted(found["phases_ms"].items(), key=lambda item: -item[1]["p50"])
        if phase != "triggerExecution" and spent["p50"] >= whole * _SHOWN_SHARE
    ]


def processor(found: dict[str, Any]) -> list[Figure]:
    """Processor time of a trigger, by process."""
    triggers = found["trigger_ms"]["count"] / found["seconds"]
    return [
        Figure("processor per trigger", found["cores"] / triggers, "s"),
        *(
            Figure(f"processor per trigger, {role}", cores / triggers, "s")
            for role, cores in sorted(found["cores_by_role"].items(), key=lambda item: -item[1])
        ),
    ]


def _figures(found: dict[str, Any]) -> list[Figure]:
    trigger, visible, memory = found["trigger_ms"], found["visible_ms"], found["memory"]
    return [
        Figure("trigger p50", trigger["p50"] / 1000, "s"),
        Figure("trigger p95", trigger["p95"] / 1000, "s", TRIGGER_P95_S),
        *phases(found),
        Figure("commit to snapshot p50", visible["p50"] / 1000, "s"),
        Figure("commit to snapshot p99", visible["p99"] / 1000, "s", VISIBLE_P99_S),
        Figure("commits seen, the newest of each window", visible["count"] / found["seconds"], "per s"),
        Figure("processor", found["cores"], "cores", CORES),
        *processor(found),
        Figure("memory of all processes, peak", memory["peak"] / GIB, "GiB", MEMORY_GIB),
        Figure("memory with the first replay, peak", memory["peak_since_start"] / GIB, "GiB"),
        *(Figure(f"memory of {role}", size / GIB, "GiB") for role, size in memory["typical"].items()),
        Figure("checkpoint", found["checkpoint"] / 2**20, "MiB"),
    ]


@dataclass(frozen=True, slots=True)
class Running:
    """A Warren whose windows are full, while commits come at a steady rate."""

    subject: Child
    sampler: Sampler
    url: str
    checkpoint: Path
    # how long it took to write the first commits, and from the process' start to the snapshot that shows them
    written_s: float
    first_snapshot_s: float


@contextmanager
def running(
    plan: SteadyPlan,
    where: Site,
    tell: Tell,
    sample_s: float,
    *,
    sinks: Mapping[str, Any] | None = None,
    clusters: int = 1,
    others: Mapping[str, Any] | None = None,
) -> Iterator[Running]:
    """Fill the windows, start Warren and the commits, and warm up; at the end everything stops."""
    directory = where.warren_directory(sinks=sinks, clusters=clusters, others=others)
    with start_writer(where, plan.sizes, round(plan.sizes.windows / plan.rate * 1000)) as writer:
        written_s = fill(writer, plan.filling, tell)
        with (
            Child(SUBJECT, {"directory": str(directory)}, where.directory) as subject,
            Sampler(subject.pid, sample_s) as sampler,
        ):
            url = subject.hear("started")["urls"][0]
            filled_s = _caught_up(subject, plan, tell)
            writer.ask("run", rate=plan.rate)
            wait("warm up", plan.warm_up_s, tell)
            yield Running(subject, sampler, url, directory / "checkpoint", written_s, filled_s)
            writer.ask("stop")
            writer.hear("ran")
    shutil.rmtree(directory, ignore_errors=True)


def measured(plan: SteadyPlan, where: Site, tell: Tell) -> dict[str, Any]:
    """The resources and the delay of a running Warren."""
    with running(plan, where, tell, _SAMPLE_S) as warren:
        found = observed(warren.subject, warren.sampler, "measure", plan.seconds, tell)
        found["memory"]["peak_since_start"] = peak(warren.sampler.between(0, time.time()))
        found["checkpoint"] = size_of(warren.checkpoint)
    return found | {"written_s": warren.written_s, "first_snapshot_s": warren.first_snapshot_s}


def _caught_up(subject: Child, plan: SteadyPlan, tell: Tell) -> float:
    """Wait until all windows are there; returns the seconds since the process was started."""
    tell("first snapshot", 0, None)
    subject.ask("complete", windows=plan.sizes.windows, records=plan.filling)
    complete = subject.hear("complete")
    tell("first snapshot", 1, 1)
    return float(complete["at"]) - subject.started


def observed(subject: Child, sampler: Sampler, step: str, seconds: float, tell: Tell) -> dict[str, Any]:
    """Measure for some seconds, and until there are enough snapshots."""
    begin = time.time()
    wait(step, seconds, tell)
    while _snapshots(subject, begin) < _FEWEST and time.time() - begin < seconds + _LONGER_S:
        time.sleep(1)
    end = time.time()
    samples = sampler.between(begin, end)
    subject.ask("measured", begin=begin, end=end)
    found = subject.hear("measured")
    if not found["trigger_ms"] or not found["visible_ms"]:
        raise BenchError(
            f"in {seconds:.0f} s there were {found['trigger_ms'].get('count', 0)} triggers and "
            f"{found['snapshots']} snapshots, which showed {found['visible_ms'].get('count', 0)} commits: "
            "measure for longer, or on an idle machine"
        )
    cores = cores_used(samples)
    return found | {
        "seconds": end - begin,
        "cores": sum(cores.values()),
        "cores_by_role": cores,
        "memory": {"peak": peak(samples), "typical": typical(samples)},
        "processes": max((each.processes for each in samples), default=0),
    }


def _snapshots(subject: Child, begin: float) -> int:
    subject.ask("sights", begin=begin, end=time.time())
    return len(subject.hear("sights")["at"])


def wait(step: str, seconds: float, tell: Tell) -> None:
    """Wait, with progress."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        tell(step, passed, seconds)
        time.sleep(min(0.5, seconds - passed))
    tell(step, seconds, seconds)


def size_of(directory: Path) -> int:
    """Bytes of all files in it; files may be deleted meanwhile."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total
