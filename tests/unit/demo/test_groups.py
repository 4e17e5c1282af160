"""Every group of the cast, played in virtual time on a slow machine, has the status it was built for."""

from __future__ import annotations

import bisect
import math
import random
from collections import deque
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest

from warren.demo.groups import CAST, CLEAR_RISE, Actor, Plan, Protocol, creep, fall_behind, rewind, stick
from warren.demo.topics import TOPICS, Topic, backlog, bursts
from warren.evaluator.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVALS = 10
SECONDS = 1_000
# by then the dead group has died and every window is full, as late as a slow machine makes it
WARM_UP_S = 60


@dataclass(frozen=True)
class Commit:
    at: float
    offset: int


@dataclass(frozen=True)
class Entry:
    at: float
    offset: int
    lag: int


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
class Heads:
    """Heads of one partition over time."""

    times: list[float]
    values: list[int]

    def at(self, when: float) -> int:
        return self.values[max(bisect.bisect_right(self.times, when) - 1, 0)]


def played_heads(topic: Topic, machine: Machine, seed: int) -> list[Heads]:
    heads = [Heads([0.0], [topic.backlog]) for _ in range(topic.partitions)]
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
    actor: Actor, partition: int, heads: Heads, times: list[float], rng: random.Random
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


def interpolated(samples: list[tuple[float, int]], at: float) -> int:
    """The head at a time between two samples of it."""
    place = bisect.bisect_left(samples, (at, 0))
    if place == 0:
        return samples[0][1]
    if place == len(samples):
        return samples[-1][1]
    (earlier, low), (later, high) = samples[place - 1], samples[place]
    return round(low + (high - low) * (at - earlier) / (later - earlier))


def judge(entries: list[Entry], samples: list[int], head: int, now: float) -> Status:
    """The rules for one partition, in their order; the first that holds decides."""
    if not entries:
        return Status.OK
    first, last = entries[0], entries[-1]
    offsets = [entry.offset for entry in entries]
    falls = [place for place in range(1, len(offsets)) if offsets[place] < offsets[place - 1]]
    silent = math.floor(now) - last.at > last.at - first.at
    rules = (
        (head - last.offset <= 0, Status.OK),
        (silent and all(sample > last.offset for sample in samples), Status.STOP),
        (bool(falls) and max(offsets[falls[0] :]) < offsets[falls[0] - 1], Status.REWIND),
        (any(entry.lag <= 0 for entry in entries), Status.OK),
        (len(set(offsets)) == 1, Status.STALL),
        (all(after.lag >= before.lag for before, after in pairwise(entries)), Status.WARN),
    )
    return next((status for holds, status in rules if holds), Status.OK)


def verdicts(commits: list[Commit], heads: Heads, machine: Machine) -> Iterator[tuple[float, Status, int]]:
    """(time, status, entries) at each trigger of a pipeline that asks for heads every second or few."""
    rng = machine.rng
    window: deque[Entry] = deque(maxlen=INTERVALS)
    samples: list[tuple[float, int]] = []
    at, placed = 0.5, 0
    while at < SECONDS:
        fresh = bisect.bisect_right(commits, at, key=lambda commit: commit.at)
        sampled_at = at + rng.uniform(0.0, 0.5)
        samples.append((sampled_at + rng.uniform(-0.01, 0.01), heads.at(sampled_at)))
        for commit in commits[placed:fresh]:
            lag = max(interpolated(samples, commit.at) - commit.offset, 0)
            window.append(Entry(commit.at, commit.offset, lag))
        placed = fresh
        now = sampled_at + rng.uniform(0.2, 2.5)
        yield now, judge(list(window), [h for _, h in samples[-INTERVALS:]], samples[-1][1], now), len(window)
        at = max(machine.later(at, rng.uniform(1.0, 3.0)), sampled_at)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("actor", CAST, ids=lambda actor: actor.name)
def test_a_group_has_its_status_from_warm_up_on(actor: Actor, seed: int) -> None:
    machine = Machine(random.Random(f"{seed}/{actor.name}"))
    times = commit_times(actor, machine)
    # (time, status of each partition)
    worst: dict[int, Status] = {}
    for topic in actor.topics:
        for partition, heads in enumerate(played_heads(topic, machine, seed)):
            commits = played_commits(actor, partition, heads, times, random.Random(f"{seed}/{partition}"))
            seen = {status for now, status, _ in verdicts(commits, heads, machine) if now > WARM_UP_S}
            assert len(seen) == 1, f"{topic.name} {partition} changes: {seen}"
            worst[len(worst)] = seen.pop()
            full = len(commits) >= INTERVALS
            assert full == actor.complete
    assert max(worst.values()) == actor.partition_status
    assert min(max(worst.values()), Status.ERR) == actor.status


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
