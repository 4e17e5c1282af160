"""The consumer groups of the demo traffic, each with a known status by construction.

A group either reads and commits what it has read, or follows a plan: a function from its last commit and the
head to its next commit. Plans are pure: the tests simulate them in virtual time and judge the windows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from warren.common.status import Status
from warren.demo.topics import AUDIT, CLICKS, ORDERS, PAYMENTS, Topic

# (last committed offset or None, head) -> the next offset to commit, or None: no commit this time
Step = Callable[[int | None, int], int | None]
# a partition's own random numbers -> its step
Plan = Callable[[random.Random], Step]

# A head that rises by less than this between two commits is within the sampling error: the group
# then waits, so that its lag never seems to shrink when the producer stalls.
CLEAR_RISE: Final = 5
# commits forward between two rewinds: few, so that every window has a rewind in it
CLIMB: Final = 3
LONGEST_STRIDE: Final = 12


class Protocol(StrEnum):
    """How the group's members get their partitions."""

    CLASSIC = "classic"
    # KIP-848
    CONSUMER = "consumer"
    # assign(): commits without being a member of the group
    ASSIGN = "assign"


@dataclass(frozen=True)
class Actor:
    """A consumer group, what it does and the status that Warren should report."""

    name: str
    description: str
    topics: tuple[Topic, ...]
    # the expected status of the group, and the worst of its partitions
    status: Status
    partition_status: Status
    # whether its windows fill up; only those of a new group do not
    complete: bool = True
    # None: it commits what it has read
    plan: Plan | None = None
    # partitions that follow the plan, the others are read; None: all of them
    planned: frozenset[int] | None = None
    protocol: Protocol = Protocol.CLASSIC
    members: int = 1
    # seconds between two commits
    period_s: float = 1.0
    # it stops after this number of commits; None: never
    commits: int | None = None
    # it leaves the group when it stops committing, instead of staying a member
    leaves: bool = False
    # the group is deleted first, so that it is new each time
    newborn: bool = False

    def follows_plan(self, partition: int) -> bool:
        """Whether the commits of this partition are planned, not read."""
        return self.plan is not None and (self.planned is None or partition in self.planned)


def _midway(committed: int | None, head: int) -> int | None:
    """The last commit if it is below the head; None if the group needs a first offset."""
    return committed if committed is not None and 0 < committed < head else None


def creep(_rng: random.Random) -> Step:
    """One record at a time, far from the head."""

    def step(committed: int | None, head: int) -> int | None:
        last = _midway(committed, head)
        return head // 2 if last is None else min(last + 1, head - 1)

    return step


def fall_behind(rng: random.Random) -> Step:
    """One record at a time, and only while the head grows."""
    forward = creep(rng)
    seen: int | None = None

    def step(committed: int | None, head: int) -> int | None:
        nonlocal seen
        if seen is not None and 0 <= head - seen < CLEAR_RISE:
            return None
        seen = head
        return forward(committed, head)

    return step


def stick(_rng: random.Random) -> Step:
    """Always the same offset."""

    def step(committed: int | None, head: int) -> int | None:
        last = _midway(committed, head)
        return head // 2 if last is None else last

    return step


def rewind(rng: random.Random) -> Step:
    """Some steps forward, then back: each peak is one below the last, so no window recovers from its rewind."""
    # the steps left before the next rewind; none: a new run starts with a rewind
    strides: list[int] = []

    def step(committed: int | None, head: int) -> int | None:
        last = _midway(committed, head)
        if last is not None and strides:
            return min(last + strides.pop(), head - 1)
        strides[:] = [rng.randint(1, LONGEST_STRIDE) for _ in range(CLIMB)]
        if last is None or last - sum(strides) <= 1:
            # the first commit; or, hours later, it has reached the tail and is OK for one window
            strides.clear()
            return head - head // 4
        return last - sum(strides) - 1

    return step


# Commits come every 2 s where a status needs ongoing commits: without commits the status is STOP after the window's
# span, here 18 s, which is more than the delay of the pipeline on a slow machine.
_SLOW_PERIOD_S: Final = 2.0
# more commits than a window holds, so that the window has none of an earlier run in it
_FULL_WINDOW: Final = 12

CAST: Final[tuple[Actor, ...]] = (
    Actor("billing", "reads orders as they come", (ORDERS,), Status.OK, Status.OK),
    Actor(
        "recommender",
        "reads far fewer clicks than there are",
        (CLICKS,),
        Status.WARN,
        Status.WARN,
        plan=fall_behind,
        period_s=_SLOW_PERIOD_S,
    ),
    Actor(
        "fraud-check",
        "died with payments unread",
        (PAYMENTS,),
        Status.ERR,
        Status.STOP,
        plan=creep,
        period_s=0.5,
        commits=_FULL_WINDOW,
        leaves=True,
    ),
    Actor(
        "mailer",
        "stuck on one payment, commits on",
        (PAYMENTS,),
        Status.ERR,
        Status.STALL,
        plan=stick,
        planned=frozenset({0}),
        period_s=_SLOW_PERIOD_S,
    ),
    Actor(
        "replayer",
        "goes back in orders again and again",
        (ORDERS,),
        Status.ERR,
        Status.REWIND,
        plan=rewind,
        period_s=_SLOW_PERIOD_S,
    ),
    Actor(
        "newcomer",
        "too young to judge: three commits",
        (AUDIT,),
        Status.OK,
        Status.OK,
        complete=False,
        commits=3,
        newborn=True,
    ),
    Actor(
        "auditor",
        "idle at the head of audit",
        (AUDIT,),
        Status.OK,
        Status.OK,
        period_s=0.5,
        commits=_FULL_WINDOW,
    ),
    Actor(
        "warehouse",
        "two members over two topics",
        (ORDERS, PAYMENTS),
        Status.OK,
        Status.OK,
        members=2,
    ),
    Actor(
        "shipping",
        "reads orders by the KIP-848 protocol",
        (ORDERS,),
        Status.OK,
        Status.OK,
        protocol=Protocol.CONSUMER,
    ),
    Actor(
        "backup",
        "reads payments with assign(), no members",
        (PAYMENTS,),
        Status.OK,
        Status.OK,
        protocol=Protocol.ASSIGN,
    ),
)
