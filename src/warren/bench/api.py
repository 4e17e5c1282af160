"""`warren bench api`: the API's response times and open web pages while the pipeline runs, and their effect on it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from warren.bench import machine
from warren.bench.figures import Better, Figure, Report, percentiles
from warren.bench.line import BenchError, Child
from warren.bench.process_tree import Sampler
from warren.bench.steady import SteadyPlan, observed, running
from warren.bench.workload import CLUSTER, Tell, site
from warren.demo.commit_records import Workload

FIRST_SCRAPE_S: Final = 0.3
NEXT_SCRAPE_S: Final = 0.05
REQUESTS_PER_S: Final = 1_500.0
# of all groups in turn: no page is requested twice
ALL_REQUESTS_PER_S: Final = 3_000.0
# triggers must not become slower; up to this factor is noise
SLOWER: Final = 1.1
_CLIENT: Final = "warren.bench.load_client"
_LOWEST_PRIORITY: Final = 19
_FORMS: Final = ("plain", "gzip")
# the groups whose pages are requested
_ASKED: Final = {"one": "one group", "all": "all in turn"}
# length of the alternating phases without and with requests
_TURN_S: Final = 12.0
_SAMPLE_S: Final = 2.0
# until a page that was opened has everything, and before the end of its phase
_OPENING_S: Final = 3.0
_SPARE_S: Final = 0.5
# scrapes begin at any moment between two snapshots, not just after one
_SPREAD_S: Final = 1.0
# how long after the request the server may read the newest snapshot
_LOOKS_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class ApiPlan(SteadyPlan):
    """A running pipeline, and the load of clients."""

    # for one group and for all: requests without a limit, then phases at the target's rate and without requests
    seconds: float = 30.0
    scrapes: int = 10
    connections: int = 8
    # web pages that are open, and phases with them and without
    pages: int = 100
    page_rounds: int = 4
    # measure the open pages only
    only_pages: bool = False


def api(plan: ApiPlan, tell: Tell) -> Report:
    """Scrapes, thousands of requests for lag, and the trigger times meanwhile."""
    began, facts = datetime.now(UTC), machine.facts()
    with site(tell) as where, running(plan, where, tell, _SAMPLE_S) as warren:
        detail: dict[str, Any] = {}
        if not plan.only_pages:
            with Child(_CLIENT, {"url": warren.url, "nice": 0}, where.directory) as client:
                scrapes = {form: _scraped(plan, warren.subject, client, form, tell) for form in _FORMS}
            detail["scrapes"] = scrapes
        # real clients are on other machines: these run at the lowest priority
        with Child(_CLIENT, {"url": warren.url, "nice": _LOWEST_PRIORITY}, where.directory) as clients:
            if not plan.only_pages:
                detail |= _loaded(plan, warren.subject, clients, warren.sampler, tell)
            detail["pages"] = _beside_pages(plan, warren.subject, clients, tell)
    return Report("api", began, plan.to_dict(), figures(detail), facts, detail)


def figures(found: dict[str, Any]) -> list[Figure]:
    figures = _page_figures(found["pages"])
    if "scrapes" not in found:
        return figures
    for form in _FORMS:
        first, following = found["scrapes"][form]["first_s"], found["scrapes"][form]["next_s"]
        figures += [
            Figure(f"/metrics {form}, first of a snapshot, p50", first["p50"], "s", FIRST_SCRAPE_S),
            Figure(f"/metrics {form}, first of a snapshot, max", first["max"], "s"),
            Figure(f"/metrics {form}, next, p50", following["p50"], "s", NEXT_SCRAPE_S),
            Figure(f"/metrics {form}, next, max", following["max"], "s"),
            Figure(f"/metrics {form}, size", found["scrapes"][form]["bytes"] / 2**20, "MiB"),
        ]
    for name, who in _ASKED.items():
        load, turns = found[name]["load"], found[name]["turns"]
        quiet_s, asked_s = (turns[each]["p50"] / 1000 for each in ("quiet_ms", "asked_ms"))
        least, slower = (REQUESTS_PER_S, SLOWER) if name == "one" else (ALL_REQUESTS_PER_S, None)
        figures += [
            Figure(f"/lag of {who}", load["requests"] / load["seconds"], "per s", least, Better.HIGHER),
            Figure(f"/lag of {who}, time of one p50", load["took_ms"]["p50"], "ms"),
            Figure(f"/lag of {who}, time of one p99", load["took_ms"]["p99"], "ms"),
            Figure(f"/lag of {who}, failed", load["failed"] + turns["failed"], "requests", 0),
            Figure("trigger p50, without requests", quiet_s, "s"),
            Figure(f"trigger p50, {turns['rate']:,.0f} /lag of {who} a second", asked_s, "s"),
            Figure(f"trigger beside /lag of {who}, to quiet", asked_s / quiet_s, "x", slower),
        ]
    return figures


def _page_figures(found: dict[str, Any]) -> list[Figure]:
    open_pages = found["pages"]
    quiet_s, beside_s = (found[each]["p50"] / 1000 for each in ("quiet_ms", "beside_ms"))
    # of one page, in each second
    work_ms = (found["beside_cores"] - found["quiet_cores"]) * 1000 / open_pages
    return [
        Figure("trigger p50, without open pages", quiet_s, "s"),
        Figure(f"trigger p50, {open_pages} open pages", beside_s, "s"),
        Figure(f"trigger beside {open_pages} open pages, to without", beside_s / quiet_s, "x", SLOWER),
        Figure("open pages, failed", found["failed"], "requests", 0),
        Figure("open page, processor of the server a second", work_ms, "ms"),
        Figure("open page, received a second", found["bytes_per_second"] / open_pages / 1024, "KiB"),
    ]


def classified(
    scrapes: Sequence[dict[str, Any]], snapshots_at: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Seconds of first and of next scrapes, from pairs of them; a snapshot between two makes both a first."""
    firsts: list[float] = []
    nexts: list[float] = []
    for first, second in zip(scrapes[::2], scrapes[1::2], strict=True):
        firsts.append(first["seconds"])
        changed = any(first["at"] < at <= second["at"] + _LOOKS_S for at in snapshots_at)
        (firsts if changed else nexts).append(second["seconds"])
    return firsts, nexts


def _loaded(plan: ApiPlan, subject: Child, client: Child, sampler: Sampler, tell: Tell) -> dict[str, Any]:
    """By the groups whose pages are requested."""
    found: dict[str, Any] = {}
    groups = Workload(plan.sizes.shape, 1).groups
    for name, who in _ASKED.items():
        asked = {
            "cluster": CLUSTER,
            "groups": groups[:1] if name == "one" else groups,
            "connections": plan.connections,
        }
        client.ask("load", rate=None, seconds=plan.seconds, **asked)
        step = f"/lag of {who}, without a limit"
        found[name] = observed(subject, sampler, step, plan.seconds, tell)
        found[name]["load"] = client.hear("load")
        found[name]["turns"] = _turns(plan, subject, client, asked, tell)
    return found


def _turns(plan: ApiPlan, subject: Child, client: Child, asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Triggers without and with requests, in alternating phases: noise of the machine affects both."""
    step = f"in turns, {len(asked['groups']):,} groups"
    rounds = max(round(plan.seconds / _TURN_S), 1)
    loads: list[dict[str, Any]] = []
    # with requests or without: times of triggers
    triggers: dict[bool, list[int]] = {False: [], True: []}
    for number in range(2 * rounds):
        tell(step, number, 2 * rounds)
        busy = number % 2 == 1
        begin = time.time()
        if busy:
            client.ask("load", rate=REQUESTS_PER_S, seconds=_TURN_S, **asked)
            loads.append(client.hear("load"))
        else:
            time.sleep(_TURN_S)
        subject.ask("triggers", begin=begin, end=time.time())
        triggers[busy] += subject.hear("triggers")["ms"]
    tell(step, 2 * rounds, 2 * rounds)
    if not all(triggers.values()):
        raise BenchError(f"no trigger ended within {_TURN_S:.0f} s: try on an idle machine")
    return {
        "quiet_ms": percentiles(triggers[False], 50, 95),
        "asked_ms": percentiles(triggers[True], 50, 95),
        "failed": sum(each["failed"] for each in loads),
        "rate": sum(each["requests"] for each in loads) / sum(each["seconds"] for each in loads),
    }


def _beside_pages(plan: ApiPlan, subject: Child, client: Child, tell: Tell) -> dict[str, Any]:
    """Triggers without open pages and with them, in alternating phases."""
    step, turn_s = f"{plan.pages} open pages, in turns", min(_TURN_S, plan.seconds)
    asked = {"cluster": CLUSTER, "groups": Workload(plan.sizes.shape, 1).groups[:100], "pages": plan.pages}
    loads: list[dict[str, Any]] = []
    # open or not: times of triggers, processor seconds of the driver, seconds
    triggers: dict[bool, list[int]] = {False: [], True: []}
    processor: dict[bool, float] = {False: 0.0, True: 0.0}
    seconds: dict[bool, float] = {False: 0.0, True: 0.0}
    for number in range(2 * plan.page_rounds):
        tell(step, number, 2 * plan.page_rounds)
        opened = number % 2 == 1
        if opened:
            client.ask("pages", seconds=turn_s + _OPENING_S, **asked)
        # what the first answer of each page costs is over then
        time.sleep(_OPENING_S)
        begin, used = time.time(), _processor(subject)
        time.sleep(turn_s - _SPARE_S)
        end, used = time.time(), _processor(subject) - used
        if opened:
            loads.append(client.hear("pages"))
        subject.ask("triggers", begin=begin, end=end)
        triggers[opened] += subject.hear("triggers")["ms"]
        processor[opened] += used
        seconds[opened] += end - begin
    tell(step, 2 * plan.page_rounds, 2 * plan.page_rounds)
    if not all(triggers.values()):
        raise BenchError(f"no trigger ended within {turn_s:.0f} s: try on an idle machine")
    return {
        "pages": plan.pages,
        "quiet_ms": percentiles(triggers[False], 50, 95),
        "beside_ms": percentiles(triggers[True], 50, 95),
        "quiet_cores": processor[False] / seconds[False],
        "beside_cores": processor[True] / seconds[True],
        "failed": sum(each["failed"] for each in loads),
        "events": sum(each["events"] for each in loads),
        "bytes_per_second": sum(each["bytes"] for each in loads) / sum(each["seconds"] for each in loads),
        "asked_ms": [each["asked"]["took_ms"] for each in loads],
    }


def _processor(subject: Child) -> float:
    """Processor seconds that Python's driver has used, which is the server's process, too."""
    subject.ask("processor")
    return float(subject.hear("processor")["seconds"])


def _scraped(plan: ApiPlan, subject: Child, client: Child, form: str, tell: Tell) -> dict[str, Any]:
    """Two scrapes after each of some snapshots."""
    moments = Random(1)  # noqa: S311 (not for security)
    begin, scrapes = time.time(), []
    for number in range(plan.scrapes):
        tell(f"scrape, {form}", number, plan.scrapes)
        subject.ask("next")
        subject.hear("next")
        time.sleep(moments.uniform(0, _SPREAD_S))
        for _ in range(2):
            client.ask("scrape", form=form)
            scrapes.append(client.hear("scrape"))
    tell(f"scrape, {form}", plan.scrapes, plan.scrapes)
    subject.ask("sights", begin=begin, end=time.time())
    firsts, nexts = classified(scrapes, subject.hear("sights")["at"])
    if not nexts:
        raise BenchError("there was a new snapshot at every scrape: try more scrapes")
    return {
        "first_s": percentiles(firsts, 50, 95),
        "next_s": percentiles(nexts, 50, 95),
        "bytes": scrapes[-1]["bytes"],
        "scrapes": scrapes,
    }
