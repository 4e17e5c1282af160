"""Every group of the cast, played in virtual time on a slow machine, has the status it was built for."""

from __future__ import annotations

import bisect
import random
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest

from warren.common.status import Status
from warren.demo.groups import CAST, CLEAR_RISE, Actor, Plan, Protocol, creep, fall_behind, rewind, stick
from warren.demo.topics import TOPICS, Topic, backlog, bursts
from warren.evaluator.verdict import RuleSettings, digest, judge
from warren.storage.heads import Heads, bracket, certain, head_at, head_before, lag_at, look_into, lowest
from warren.storage.windows import Commits, Windows, place_into

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVALS = 10
REFRESH_MS = 1_000
SECONDS = 1_000
# by then the dead group has died and every window is full, as late as a slow machine makes it
WARM_UP_S = 60


@dataclass(frozen=True)
class Commit:
    at: float
    offset: int


@dataclass
class Machine:
    """Virtual time with pauses in which nothing moves, and lateness of everything else."""

    rng: random.Random
    pauses: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        at = 0.0
        while at < SECONDS:
            at += self.rng.uniform(20, 90)
            self.pauses.append((at, at + self.rng.uniform(0.5, 4.0)))

    def later(self, at: float, wait_s: float) -> float:
        at += wait_s + self.rng.expovariate(20)
        for start, end in self.pauses:
            if start <= at < end:
                return end + self.rng.uniform(0, 0.05)
        return at


@dataclass(frozen=True)
class Growth:
    """The head of one partition over time."""

    times: list[float]
    values: list[int]

    def at(self, when: float) -> int:
        return self.values[max(bisect.bisect_right(self.times, when) - 1, 0)]


def played_heads(topic: Topic, machine: Machine, seed: int) -> list[Growth]:
    heads = [Growth([0.0], [topic.backlog]) for _ in range(topic.partitions)]
    at = 0.0
    for burst in bursts(topic, seed):
        at = machine.later(at, burst.wait_s)
        if at > SECONDS:
            break
        for record in burst.records:
            partition = heads[record.partition]
            partition.times.append(at)
            partition.values.append(partition.values[-1] + 1)
    return heads


def commit_times(actor: Actor, machine: Machine) -> list[float]:
    at = machine.rng.uniform(1, 6)
    times: list[float] = []
    while at < SECONDS and (actor.commits is None or len(times) < actor.commits):
        times.append(at)
        at = machine.later(at, actor.period_s)
    return times


def played_commits(
    actor: Actor, partition: int, heads: Growth, times: list[float], rng: random.Random
) -> list[Commit]:
    """A reader commits what it had read a moment before; a plan decides for itself."""
    step = actor.plan(rng) if actor.plan and actor.follows_plan(partition) else None
    commits: list[Commit] = []
    committed: int | None = None
    for at in times:
        offset = heads.at(at - rng.uniform(0.0, 0.3)) if step is None else step(committed, heads.at(at))
        if offset is not None:
            committed = offset
            commits.append(Commit(at, offset))
    return commits


def verdicts(
    commits: list[list[Commit]], growth: list[Growth], machine: Machine
) -> Iterator[tuple[float, list[Status], list[int]]]:
    """(time, status of each partition, entries of each) at each trigger of a pipeline.

    A trigger fixes which commits it reads, then asks for heads, then judges; each of them late.
    """
    rng = machine.rng
    rows = np.arange(len(growth))
    windows, heads = Windows.empty(len(rows), INTERVALS), Heads.empty(len(rows), INTERVALS)
    placed = [0] * len(rows)
    asked, last_asked = 0.5, 0.0
    while asked < SECONDS:
        sampled = asked + rng.uniform(0.0, 2.0)
        seen = np.array([partition.at(sampled) for partition in growth])
        at_ms = ms(sampled + rng.uniform(-0.01, 0.01))
        look_into(heads, rows, seen, at_ms=at_ms, steady_ms=at_ms, refresh_ms=REFRESH_MS)
        fresh = [bisect.bisect_right(one, asked, key=lambda commit: commit.at) for one in commits]
        read = [(row, at) for row in rows.tolist() for at in range(placed[row], fresh[row])]
        row = np.array([row for row, _ in read], dtype=np.int64)
        offset = np.array([commits[row][at].offset for row, at in read], dtype=np.int64)
        timestamp = np.array([ms(commits[row][at].at) for row, at in read], dtype=np.int64)
        order = np.array([at for _, at in read], dtype=np.int64)
        span = ms(last_asked), ms(asked)
        lag = lag_at(head_at(heads, row, bracket(timestamp, *span)), offset)
        floor = lag_at(head_before(heads, row, certain(timestamp, *span)), offset)
        place_into(windows, Commits(row, offset, timestamp, timestamp, lag, floor, order), 0)
        placed, last_asked = fresh, asked
        now = sampled + rng.uniform(0.1, 1.5)
        verdict = judge(
            digest(windows, 0),
            heads.newest_offset,
            lowest(heads, REFRESH_MS),
            ms(asked),
            RuleSettings(INTERVALS),
        )
        yield now, [Status(status) for status in verdict.status.tolist()], windows.filled.tolist()
        asked = max(machine.later(asked, rng.uniform(1.0, 3.0)), now)


def ms(seconds: float) -> int:
    return round(seconds * 1000)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("actor", CAST, ids=lambda actor: actor.name)
def test_a_group_has_its_status_from_warm_up_on(actor: Actor, seed: int) -> None:
    machine = Machine(random.Random(f"{seed}/{actor.name}"))
    times = commit_times(actor, machine)
    # (topic, partition) of each row
    at = [(topic.name, partition) for topic in actor.topics for partition in range(topic.partitions)]
    growth = [heads for topic in actor.topics for heads in played_heads(topic, machine, seed)]
    commits = [
        played_commits(actor, partition, heads, times, random.Random(f"{seed}/{name}/{partition}"))
        for (name, partition), heads in zip(at, growth, strict=True)
    ]
    judged = [
        (statuses, filled) for now, statuses, filled in verdicts(commits, growth, machine) if now > WARM_UP_S
    ]
    assert len(judged) > 100
    for index, row in enumerate(zip(*(statuses for statuses, _ in judged), strict=True)):
        assert len(set(row)) == 1, f"{at[index]} changes: {set(row)}"
    statuses, filled = judged[-1]
    assert max(statuses) == actor.partition_status
    assert min(max(statuses), Status.ERR) == actor.status
    assert all(entries == INTERVALS for entries in filled) == actor.complete


def test_the_cast_has_every_kind_of_group() -> None:
    assert {actor.partition_status for actor in CAST} == {
        Status.OK,
        Status.WARN,
        Status.STOP,
        Status.STALL,
        Status.REWIND,
    }
    assert {actor.protocol for actor in CAST} == set(Protocol)
    assert any(actor.members == 2 and len(actor.topics) == 2 for actor in CAST)
    assert any(not actor.complete for actor in CAST)
    names = [actor.name for actor in CAST]
    assert len(set(names)) == len(names) >= 10


def test_only_the_stuck_partition_of_the_stuck_group_is_planned() -> None:
    mailer = next(actor for actor in CAST if actor.name == "mailer")
    assert [mailer.follows_plan(partition) for partition in range(2)] == [True, False]
    reader = next(actor for actor in CAST if actor.name == "billing")
    assert not reader.follows_plan(0)


@pytest.mark.parametrize("plan", [creep, fall_behind, stick, rewind], ids=lambda plan: plan.__name__)
@pytest.mark.parametrize(
    "committed", [None, 0, 5_000, 9_000], ids=["no commit", "at 0", "at the head", "ahead"]
)
def test_a_plan_starts_behind_the_head_whatever_was_committed_before(
    plan: Plan, committed: int | None
) -> None:
    offset = plan(random.Random(1))(committed, 5_000)
    assert offset is not None
    assert 0 < offset < 5_000


@pytest.mark.parametrize(
    ("plan", "first"),
    [(creep, 1_001), (fall_behind, 1_001), (stick, 1_000)],
    ids=["creep", "fall behind", "stick"],
)
def test_a_plan_goes_on_from_the_last_run(plan: Plan, first: int) -> None:
    assert plan(random.Random(1))(1_000, 5_000) == first


def test_a_rewinding_group_that_starts_again_falls_first_and_never_climbs_back() -> None:
    step = rewind(random.Random(7))
    offset: int | None = 1_000
    later = []
    for _ in range(40):
        offset = step(offset, 5_000)
        assert offset is not None
        later.append(offset)
    assert later[0] < 1_000
    assert max(later) < 1_000


def test_a_rewinding_group_at_the_tail_starts_again_from_high_up() -> None:
    assert rewind(random.Random(7))(3, 5_000) == 3_750


def test_the_slow_group_waits_for_a_stalled_producer() -> None:
    step = fall_behind(random.Random(1))
    assert step(100, 1_000) == 101
    assert step(101, 1_000 + CLEAR_RISE - 1) is None
    assert step(101, 1_000 + CLEAR_RISE) == 102


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_a_seed_repeats_what_is_written(topic: Topic) -> None:
    assert list(islice(bursts(topic, 5), 20)) == list(islice(bursts(topic, 5), 20))
    assert list(backlog(topic, 0, 5)) == list(backlog(topic, 0, 5))
    if topic.rhythm is not None:
        assert list(islice(bursts(topic, 5), 20)) != list(islice(bursts(topic, 6), 20))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_records_stay_within_the_topic(topic: Topic) -> None:
    for burst in islice(bursts(topic, 5), 200):
        assert all(0 <= record.partition < topic.partitions for record in burst.records)
        assert burst.records
    assert len(list(backlog(topic, 0, 5))) == topic.backlog
