"""`warren bench clusters`: what many small clusters in one instance cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from warren.bench import machine
from warren.bench.figures import Figure, Report
from warren.bench.line import BenchError
from warren.bench.steady import GIB, SteadyPlan, observed, running, wait
from warren.bench.workload import Site, Sizes, Tell, site

MIB: Final = 2**20
# the default of trigger-interval: with longer triggers clusters would wait for each other
TRIGGER_P95_S: Final = 5.0
SIZES: Final = Sizes(groups=20, partitions=5, offsets_partitions=4)
_SAMPLE_S: Final = 1.0
# until every cluster has caught up
_READY_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class ClustersPlan:
    """How many clusters at once, and how small they are."""

    counts: tuple[int, ...] = (1, 10, 30)
    # of each cluster: they are one broker under many names, so that only Warren is measured
    sizes: Sizes = SIZES
    rate: float = 10
    warm_up_s: float = 20.0
    seconds: float = 30.0

    @property
    def steady(self) -> SteadyPlan:
        """The load of each cluster."""
        return SteadyPlan(self.sizes, self.rate, 0.0, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"sizes": self.sizes.to_dict()}


def clusters(plan: ClustersPlan, tell: Tell) -> Report:
    """Memory, processor and trigger times, from few clusters to many."""
    began, facts = datetime.now(UTC), machine.facts()
    found = []
    for count in plan.counts:
        # a broker each: the topics of the last one would be in the way
        with site(tell) as where:
            found.append(_measured(plan, count, where, tell))
    return Report("clusters", began, plan.to_dict(), list(_figures(found)), facts, {"levels": found})


def _measured(plan: ClustersPlan, count: int, where: Site, tell: Tell) -> dict[str, Any]:
    def told(step: str, done: float, total: float | None) -> None:
        tell(f"{count} clusters: {step}", done, total)

    began = time.monotonic()
    with running(plan.steady, where, told, _SAMPLE_S, clusters=count) as warren:
        _await_ready(warren.url)
        ready_s = time.monotonic() - began
        wait("warm up", plan.warm_up_s, told)
        found = observed(warren.subject, warren.sampler, "measure", plan.seconds, told)
    return found | {"clusters": count, "ready_s": ready_s}


def _await_ready(url: str) -> None:
    deadline = time.monotonic() + _READY_S
    while httpx.get(f"{url}/burrow/admin/ready", timeout=30).status_code != httpx.codes.OK:
        if time.monotonic() > deadline:
            raise BenchError(f"not every cluster has caught up after {_READY_S:.0f} s")
        time.sleep(0.2)


def _figures(levels: Sequence[dict[str, Any]]) -> Iterator[Figure]:
    for found in levels:
        count, memory = found["clusters"], found["memory"]
        yield Figure(f"{count} clusters: memory, peak", memory["peak"] / GIB, "GiB")
        yield Figure(f"{count} clusters: processor", found["cores"], "cores")
        yield Figure(f"{count} clusters: processes", found["processes"])
        yield Figure(f"{count} clusters: trigger p50", found["trigger_ms"]["p50"] / 1000, "s")
        yield Figure(f"{count} clusters: trigger p95", found["trigger_ms"]["p95"] / 1000, "s", TRIGGER_P95_S)
        yield Figure(f"{count} clusters: all ready after", found["ready_s"], "s")
        for role, size in memory["typical"].items():
            yield Figure(f"{count} clusters: memory of {role}", size / GIB, "GiB")
    if len(levels) > 1:
        first, last = levels[0], levels[-1]
        more = last["clusters"] - first["clusters"]
        spent = last["memory"]["peak"] - first["memory"]["peak"]
        yield Figure("each further cluster: memory", spent / more / MIB, "MiB")
        yield Figure("each further cluster: processor", (last["cores"] - first["cores"]) / more, "cores")
