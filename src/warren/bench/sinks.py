"""`warren bench sinks`: rows per second into each kind of server, and what writing does to the triggers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from warren.bench import machine
from warren.bench.figures import Better, Figure, Report, percentiles
from warren.bench.line import BenchError, Child
from warren.bench.process_tree import peak
from warren.bench.steady import GIB, Running, SteadyPlan, running
from warren.bench.workload import Site, Tell, site

# of the rate that a bare script reaches with the same client
SHARE: Final = 0.7
# triggers beside sinks that write, to those without
SLOWER: Final = 1.15
_WRITER: Final = "warren.bench.sink_writer"
_TOPIC: Final = "lag"
_SAMPLE_S: Final = 2.0
# kind of sink: it gets one sample of so many, so that each takes about as long
_SLOWER: Final = {"kafka": 3, "elasticsearch": 10}
# after sinks were started or stopped: what that costs is not counted
_SETTLE_S: Final = 6.0


@dataclass(frozen=True, slots=True)
class SinksPlan(SteadyPlan):
    """A running pipeline with and without sinks in turn; then the sinks alone."""

    # of one turn
    seconds: float = 30.0
    # with sinks and without, each this often
    rounds: int = 3
    # samples that wait for the sink; fewer for kinds that are slower
    samples: int = 60
    runs: int = 2
    # a server that is there; empty: Elasticsearch is left out
    elasticsearch: str = ""


def sinks(plan: SinksPlan, tell: Tell) -> Report:
    """Triggers in turns with and without sinks, then rates, in one run on one machine."""
    began, facts = datetime.now(UTC), machine.facts()
    with site(tell) as where:
        modules = _modules(plan, where)
        _topics(where)
        with running(plan, where, tell, _SAMPLE_S, sinks=modules) as warren:
            taken = str(where.directory / "0-0-1.sample")
            warren.subject.ask("sample", path=taken)
            size = warren.subject.hear("sample")
            turns = _turns(plan, warren, tell)
        rates = {name: _rates(plan, where, {name: module}, taken, tell) for name, module in modules.items()}
    detail = {"turns": turns, "rates": rates, "sample": size}
    return Report("sinks", began, plan.to_dict(), _figures(detail), facts, detail)


def _modules(plan: SinksPlan, where: Site) -> dict[str, dict[str, Any]]:
    """The [sink.N] sections."""
    history = where.directory / "history"
    history.mkdir()
    modules: dict[str, dict[str, Any]] = {
        "parquet": {"class-name": "parquet", "path": str(history)},
        "kafka": {"class-name": "kafka", "servers": [where.servers], "topic": _TOPIC},
    }
    if plan.elasticsearch:
        modules["elasticsearch"] = {
            "class-name": "elasticsearch",
            "urls": [plan.elasticsearch],
            "index": "bench-%Y.%m.%d",
        }
    return modules


def _topics(where: Site) -> None:
    admin = AdminClient({"bootstrap.servers": where.servers})
    made = admin.create_topics([NewTopic(name, 4, 1) for name in (_TOPIC, f"{_TOPIC}-bare")])
    for future in made.values():
        future.result(30)


def _turns(plan: SinksPlan, warren: Running, tell: Tell) -> dict[str, Any]:
    """Trigger times and memory, with and without sinks: noise of the machine affects both."""
    triggers: dict[bool, list[int]] = {False: [], True: []}
    memory: dict[bool, int] = {}
    rows, dropped = 0, 0
    for number, writing in enumerate(_alternating(plan.rounds)):
        step = "triggers in turns"
        tell(step, number, 2 * plan.rounds)
        warren.subject.ask("sinks", writing=writing)
        warren.subject.hear("sinks")
        time.sleep(_SETTLE_S)
        begin = time.time()
        time.sleep(plan.seconds)
        end = time.time()
        warren.subject.ask("triggers", begin=begin, end=end)
        triggers[writing] += warren.subject.hear("triggers")["ms"]
        memory[writing] = max(memory.get(writing, 0), peak(warren.sampler.between(begin, end)))
        if writing:
            warren.subject.ask("written")
            written = warren.subject.hear("written")
            rows += written["rows"]
            dropped += written["dropped"]
            if written["error"]:
                raise BenchError(written["error"])
        tell(step, number + 1, 2 * plan.rounds)
    if not all(triggers.values()):
        raise BenchError(f"no trigger ended within {plan.seconds:.0f} s: measure for longer")
    return {
        "without_ms": percentiles(triggers[False], 50, 95),
        "with_ms": percentiles(triggers[True], 50, 95),
        "memory_without": memory[False],
        "memory_with": memory[True],
        "rows": rows,
        "dropped": dropped,
    }


def _alternating(rounds: int) -> Iterator[bool]:
    for _ in range(rounds):
        yield False
        yield True


def _rates(
    plan: SinksPlan, where: Site, module: Mapping[str, Any], taken: str, tell: Tell
) -> dict[str, list[float]]:
    """Rows per second of each run, through the sink and through the bare script."""
    ((name, section),) = module.items()
    samples = max(plan.samples // _SLOWER.get(section["class-name"], 1), 1)
    task = {
        "directory": str(where.warren_directory(sinks=module)),
        "sink": name,
        "sample": taken,
        "samples": samples,
        "runs": plan.runs,
    }
    found: dict[str, list[float]] = {"sink": [], "bare": []}
    tell(f"rows into {name}", 0, 2 * plan.runs)

    def note(event: dict[str, Any]) -> None:
        found[event["event"]].append(event["rows"] / event["seconds"])
        tell(f"rows into {name}", sum(map(len, found.values())), 2 * plan.runs)

    with Child(_WRITER, task, where.directory) as writer:
        writer.hear("done", other=note)
    return found


def _figures(detail: Mapping[str, Any]) -> Sequence[Figure]:
    figures = []
    for name, rates in detail["rates"].items():
        ours, theirs = max(rates["sink"]), max(rates["bare"])
        figures += [
            Figure(f"{name}, rows", ours, "per s"),
            Figure(f"{name}, rows of a bare script", theirs, "per s"),
            Figure(f"{name}, to the bare script", ours / theirs, "x", SHARE, Better.HIGHER),
        ]
    turns = detail["turns"]
    without_s, with_s = (turns[each]["p50"] / 1000 for each in ("without_ms", "with_ms"))
    return [
        *figures,
        Figure("rows of a sample", detail["sample"]["rows"]),
        Figure("trigger p50, without sinks", without_s, "s"),
        Figure("trigger p50, beside all sinks", with_s, "s"),
        Figure("trigger beside sinks, to without", with_s / without_s, "x", SLOWER),
        Figure("samples dropped", turns["dropped"], "", 0),
        Figure("memory of all processes, peak, without sinks", turns["memory_without"] / GIB, "GiB"),
        Figure("memory of all processes, peak, with sinks", turns["memory_with"] / GIB, "GiB"),
    ]
