"""`warren bench outages`: what clusters in trouble do to the others in the same instance."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from warren.bench import machine
from warren.bench.clusters import MIB, SIZES
from warren.bench.figures import Better, Figure, Report, percentiles
from warren.bench.line import BenchError
from warren.bench.process_tree import thread_count, typical
from warren.bench.steady import Running, SteadyPlan, running, wait
from warren.bench.workload import Site, Sizes, Tell, cluster_names, site
from warren.demo.broker import HOST, Broker
from warren.demo.commit_records import Shape
from warren.demo.credentials import Credentials
from warren.demo.ports import free_port

# of the triggers of clusters without trouble, beside those in trouble and without them
SLOWER: Final = 1.25
GROWTH_MIB: Final = 50.0
_SAMPLE_S: Final = 2.0
# until the clusters have caught up, or have again
_READY_S: Final = 180.0
# how long the slow broker is held, and how long it runs, in turn
_SLOW_S: Final = (0.45, 0.05)
_ASK_S: Final = 0.1
# the first and the last part of the measured time: what has grown between them
_PARTS: Final = 5
_TOPIC: Final = Shape().offsets_topic
_HEAP_MB: Final = 256


@dataclass(frozen=True, slots=True)
class OutagesPlan:
    """How many clusters without trouble, how small they are, and how long the outages last."""

    healthy: int = 6
    sizes: Sizes = SIZES
    rate: float = 10
    warm_up_s: float = 60.0
    seconds: float = 90.0

    @property
    def names(self) -> list[str]:
        """The clusters without trouble."""
        return cluster_names(self.healthy)

    @property
    def steady(self) -> SteadyPlan:
        """The load of each of them."""
        return SteadyPlan(self.sizes, self.rate, 0.0, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"sizes": self.sizes.to_dict()}


def outages(plan: OutagesPlan, tell: Tell) -> Report:
    """The same clusters without and with four others: down from the start, dying, slow, and refusing the login.

    The brokers of the four run in both parts, so that only Warren makes the difference.
    """
    began, facts = datetime.now(UTC), machine.facts()
    found = {}
    for name in ("without", "with"):
        with site(tell) as where, trouble(where.directory, tell) as bad:
            others = bad.clusters if name == "with" else {}
            found[name] = _measured(plan, where, bad, others, _named(name, tell))
    return Report("outages", began, plan.to_dict(), list(_figures(found)), facts, found)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Brokers of clusters in trouble."""

    # cluster: its servers, and its client profile
    clusters: Mapping[str, Mapping[str, Any]]
    dying: Broker


@contextmanager
def trouble(directory: Path, tell: Tell) -> Iterator[Trouble]:
    """Three brokers and a port where nobody listens."""
    with ExitStack() as stack:
        tell("start more brokers", 0, 3)
        dying, slow, guarded = (
            stack.enter_context(
                Broker(data=directory / name, offsets_partitions=1, heap_mb=_HEAP_MB, sasl=sasl)
            )
            for name, sasl in (
                ("dying", None),
                ("slow", None),
                ("guarded", Credentials("PLAIN", "warren", "right")),
            )
        )
        for broker in (dying, slow):
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
            admin.create_topics([NewTopic(_TOPIC, 4, 1)])[_TOPIC].result(30)
        tell("start more brokers", 3, 3)
        stack.enter_context(_slowed(slow))
        wrong = {"sasl": {"username": "warren", "password": "wrong", "mechanism": "PLAIN"}}
        yield Trouble(
            {
                "down": {"servers": f"{HOST}:{free_port(HOST)}"},
                "dying": {"servers": dying.bootstrap_servers},
                "slow": {"servers": slow.bootstrap_servers},
                "refused": {"servers": guarded.bootstrap_servers, **wrong},
            },
            dying,
        )


@contextmanager
def _slowed(broker: Broker) -> Iterator[None]:
    """Hold the broker's process for most of the time."""
    pid, ended = broker.pid, threading.Event()
    if pid is None:
        raise BenchError("the broker has ended")
    held_s, running_s = _SLOW_S

    def hold() -> None:
        try:
            while not ended.wait(running_s):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(held_s)
                os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return

    thread = threading.Thread(target=hold, name="hold", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _named(part: str, tell: Tell) -> Tell:
    return lambda step, done, total: tell(f"{part}: {step}", done, total)


def _measured(
    plan: OutagesPlan, where: Site, bad: Trouble, others: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    with running(plan.steady, where, tell, _SAMPLE_S, clusters=plan.healthy, others=others) as warren:
        _await_ready(warren.url, [*plan.names, *(name for name in ("dying", "slow") if name in others)])
        bad.dying.stop()
        wait("warm up", plan.warm_up_s, tell)
        found = _outage(plan, warren, tell)
        bad.dying.start()
        began = time.monotonic()
        if others:
            _await_ready(warren.url, ["dying"])
        found["back_s"] = time.monotonic() - began
        found["errors"] = {name: each["error"] for name, each in _health(warren.url).items()}
    return found


def _outage(plan: OutagesPlan, warren: Running, tell: Tell) -> dict[str, Any]:
    """What people notice of the clusters without trouble, and what grows meanwhile."""
    begin, threads_before = time.time(), thread_count(warren.subject.pid)
    asked_ms: list[float] = []
    with httpx.Client(base_url=warren.url, timeout=30) as client:
        while (passed := time.time() - begin) < plan.seconds:
            name = plan.names[len(asked_ms) % len(plan.names)]
            began = time.perf_counter()
            client.get(f"/v3/kafka/{name}/consumer").raise_for_status()
            asked_ms.append((time.perf_counter() - began) * 1000)
            tell("measure", passed, plan.seconds)
            time.sleep(_ASK_S)
    end, threads = time.time(), thread_count(warren.subject.pid)
    warren.subject.ask("triggers", begin=begin, end=end, clusters=plan.names)
    part = (end - begin) / _PARTS
    first, last = (
        sum(typical(warren.sampler.between(*part_of)).values())
        for part_of in ((begin, begin + part), (end - part, end))
    )
    return {
        "trigger_ms": percentiles(warren.subject.hear("triggers")["ms"], 50, 95),
        "asked_ms": percentiles(asked_ms, 50, 95),
        "threads": [threads_before, threads],
        "memory": [first, last],
    }


def _health(url: str) -> dict[str, Any]:
    clusters = httpx.get(f"{url}/v4/health", timeout=30).json()["clusters"]
    return {each["cluster"]: each for each in clusters}


def _await_ready(url: str, names: Sequence[str]) -> None:
    deadline = time.monotonic() + _READY_S
    while any(not each["ready"] or each["blind"] for name, each in _health(url).items() if name in names):
        if time.monotonic() > deadline:
            raise BenchError(f"not all of {', '.join(names)} have caught up after {_READY_S:.0f} s")
        time.sleep(0.5)


def _figures(found: Mapping[str, Any]) -> Iterator[Figure]:
    for name, part in found.items():
        for percentile in ("p50", "p95"):
            yield Figure(f"trigger {percentile}, {name}", part["trigger_ms"][percentile] / 1000, "s")
        yield Figure(f"list of groups p95, {name}", part["asked_ms"]["p95"], "ms")
    alone, beside = (found[name]["trigger_ms"]["p95"] for name in ("without", "with"))
    yield Figure("trigger p95, with to without", beside / alone, "x", SLOWER)
    before, after = found["with"]["memory"]
    yield Figure(
        "memory, from the first to the last part of the outage", (after - before) / MIB, "MiB", GROWTH_MIB
    )
    before, after = found["with"]["threads"]
    yield Figure("threads at its beginning", before)
    yield Figure("threads at its end", after, "", before + 5, Better.LOWER)
    yield Figure("back after", found["with"]["back_s"], "s")
