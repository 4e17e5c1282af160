"""Consumers whose committed offsets are polled (ZooKeeper, Storm, the admin API): one more kind beside offsets topics.

A poller runs in Spark's planning process, which lives as long as the query: there is one of it, so one session per
consumer, and it survives from trigger to trigger. In its own thread it finds commits at its own pace and keeps them in
`Findings`. At the start of a trigger the planner takes what has been found and sends it along with the trigger's task.

A poll cannot be repeated. A trigger that is repeated by the next process therefore brings nothing, and the moment of
its groups stays; what was lost comes with the first complete poll of that process. Orders are numbers that the planner
gives, kept in Spark's offset: they only increase, whatever happens to the server that is polled.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, Self

from warren.clock import now_ms
from warren.common.group_filter import GroupFilter
from warren.common.owner import Holder

# group, topic, partition
Key = tuple[str, str, int]
# topic, partition: who holds it
Owners = Mapping[tuple[str, int], Holder]

# Commits that wait for a trigger. When there are more, of each key only the last is kept
MAX_WAITING: Final = 200_000


class PolledCommit(NamedTuple):
    """A commit that a poll has found."""

    group: str
    topic: str
    partition: int
    # None: there was one, and it was deleted
    offset: int | None
    # of the commit, and when it was found
    timestamp_ms: int
    found_ms: int


@dataclass(frozen=True, slots=True)
class Poll:
    """What a poller has found since it was asked last."""

    # in the order in which they were found
    commits: tuple[PolledCommit, ...] = ()
    # group: all of its owners, where they changed; in the first poll all that there are
    owners: Mapping[str, Owners] = field(default_factory=dict)
    # the first of this poller: its commits may have been there at any time
    first: bool = False
    # `commits` are all that there is: the consumer's other windows are removed
    complete: bool = False
    # everything that was committed before this moment of our clock has been found; 0: not yet
    as_of_ms: int = 0
    # reason: values that cannot be used; and groups that the lists exclude
    skipped: Mapping[str, int] = field(default_factory=dict)
    denied: int = 0
    # what is wrong; empty: nothing. `silent`: nothing can be found until that ends
    error: str = ""
    silent: bool = False
    # groups that have no answer, though others have: the moment of their last one, 0 if that was before the start
    unanswered: Mapping[str, int] = field(default_factory=dict)
    # groups whose owners cannot be seen: those from before the start stay
    owners_unseen: frozenset[str] = frozenset()


class Poller(Protocol):
    """Finds commits in a thread of its own, from its creation on; ends with the process."""

    def poll(self) -> Poll:
        """What was found since the last call; returns at once. Only groups that the lists accept."""


class PolledSettings(Protocol):
    """How to poll one consumer; is sent to the workers, secrets included, and never printed."""

    # the consumer module's name and class
    @property
    def name(self) -> str: ...

    @property
    def class_name(self) -> str: ...

    # which groups to read
    @property
    def groups(self) -> GroupFilter: ...

    # how the windows are kept
    @property
    def intervals(self) -> int: ...

    @property
    def min_distance_ms(self) -> int: ...

    # whether commits have a time of their own. Without one, a commit is seen when the offset has changed, and its
    # time is that of the poll
    @property
    def timed(self) -> bool: ...

    def poller(self) -> Poller:
        """Called once, in the planning process."""


def label(settings: PolledSettings) -> str:
    """The consumer's name in windows. Orders of another class cannot be compared, so the class is part of it."""
    return f"{settings.class_name} {settings.name}"


@dataclass(frozen=True, slots=True)
class PolledPosition:
    """What the triggers have taken so far; stored in Spark's checkpoint."""

    # order of the last commit
    order: int = 0
    # our clock when the trigger was planned
    at_ms: int = 0
    # everything that was committed before this moment of our clock has been found; 0: not yet
    as_of_ms: int = 0
    error: str = ""
    silent: bool = False

    def to_offset(self) -> dict[str, Any]:
        return {
            "order": self.order,
            "at": self.at_ms,
            "as_of": self.as_of_ms,
            "error": self.error,
            "silent": self.silent,
        }

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any]) -> Self:
        return cls(offset["order"], offset["at"], offset["as_of"], offset["error"], offset["silent"])


@dataclass(frozen=True, slots=True)
class PollTask:
    """What a trigger has taken from one poller."""

    consumer: str
    poll: Poll
    # the first commit has the order after this one
    order: int
    # our clock: everything in it was committed between the two; 0: at any time before
    after_ms: int
    before_ms: int


class PollPlanner:
    """Takes what the poller has found, in Spark's planning process."""

    def __init__(self, settings: PolledSettings, clock: Callable[[], int] = now_ms) -> None:
        self._settings = settings
        self._clock = clock
        self._poller = settings.poller()
        # the moment from before the start
        self._resumed_ms: int | None = None
        # order at the end of a trigger: what it brings; only of triggers that are not over
        self._planned: dict[int, PollTask] = {}

    @property
    def label(self) -> str:
        return label(self._settings)

    def advanced(self, start: PolledPosition | None) -> PolledPosition:
        """The position after the next trigger; `start` is None for a new consumer."""
        start = start or PolledPosition()
        if self._resumed_ms is None:
            self._resumed_ms = start.as_of_ms
        poll, now = self._poller.poll(), self._clock()
        # a clock, so that a consumer that is removed and configured again continues above its old windows
        order = max(start.order + 1, now, *(each + 1 for each in self._planned))
        end = PolledPosition(
            order + len(poll.commits),
            now,
            poll.as_of_ms or start.as_of_ms,
            poll.error,
            poll.silent,
        )
        after_ms = 0 if poll.first else start.as_of_ms
        self._planned[end.order] = PollTask(self._settings.name, poll, order, after_ms, now)
        return end

    def poll_tasks(self, start: PolledPosition | None, end: PolledPosition) -> list[PollTask]:
        """What the triggers between two positions bring; nothing if another process has planned them."""
        begin = start.order if start else 0
        self._planned = {order: task for order, task in self._planned.items() if order > begin}
        return [task for order, task in sorted(self._planned.items()) if order <= end.order]

    def as_of(self, start: PolledPosition | None, end: PolledPosition) -> int:
        """The moment up to which everything has been found."""
        return end.as_of_ms if end.order in self._planned else start.as_of_ms if start else 0

    def blind(self, end: PolledPosition) -> bool:
        """Whether nothing has been found in this process yet, or cannot be now."""
        task = self._planned.get(end.order)
        return task is None or task.poll.silent or not task.poll.as_of_ms

    def unanswered(self, end: PolledPosition) -> dict[str, int]:
        """Groups without an answer: the moment of their last one."""
        task = self._planned.get(end.order)
        found = task.poll.unanswered if task else {}
        return {group: at_ms or self._resumed_ms or 0 for group, at_ms in found.items()}

    def caught_up(self, end: PolledPosition) -> bool:
        """Whether all that was there has been found once. A server that does not respond holds nobody up."""
        return not self.blind(end) or (end.order in self._planned and end.silent)


class Findings:
    """What a poller's thread finds, kept until the planner takes it. Nothing is given away before the first complete
    round: so windows of what is gone are known, and no group is evaluated with half of its partitions."""

    def __init__(self, *, timed: bool = True, clock: Callable[[], int] = now_ms) -> None:
        """`timed`: see `PolledSettings`."""
        self._timed = timed
        self._clock = clock
        self._lock = threading.Lock()
        # key: offset and time of its last commit
        self._known: dict[Key, tuple[int, int]] = {}
        self._waiting: list[PolledCommit] = []
        self._owners: dict[str, Owners] = {}
        self._skipped: Counter[str] = Counter()
        self._denied = 0
        self._as_of_ms = 0
        self._whole = True
        self._given = False
        self._error, self._silent = "", False
        self._unanswered: Mapping[str, int] = {}
        self._owners_unseen: frozenset[str] = frozenset()

    def keys(self) -> list[Key]:
        """All keys that have a commit."""
        with self._lock:
            return list(self._known)

    def commit(self, key: Key, offset: int, timestamp_ms: int) -> None:
        """An offset as it is now; the same as before is no news."""
        with self._lock:
            before = self._known.get(key)
            if before is not None and before[0] == offset and (before[1] == timestamp_ms or not self._timed):
                return
            self._known[key] = offset, timestamp_ms
            self._add(PolledCommit(*key, offset, timestamp_ms, self._clock()))

    def delete(self, key: Key) -> None:
        """There is no offset any more."""
        with self._lock:
            known = self._known.pop(key, None) is not None
            # at first there may be a window from before the start
            if known or not self._given:
                self._add(PolledCommit(*key, None, 0, self._clock()))

    def forget(self, key: Key) -> None:
        """There may be an offset or not, we cannot see it: the window stays, and what is found next is news."""
        with self._lock:
            self._known.pop(key, None)

    def own(self, group: str, owners: Owners) -> None:
        """All owners of a group's partitions, after a change."""
        with self._lock:
            self._owners[group] = dict(owners)

    def cannot_see_owners(self, groups: Iterable[str]) -> None:
        """The groups whose owners cannot be seen now. `own` tells when one can be again, also if it has none."""
        with self._lock:
            self._owners_unseen = frozenset(groups)

    def skip(self, reason: str) -> None:
        with self._lock:
            self._skipped[reason] += 1

    def deny(self) -> None:
        """A group that the lists exclude."""
        with self._lock:
            self._denied += 1

    def done(
        self,
        as_of_ms: int,
        error: str = "",
        *,
        whole: bool = True,
        unanswered: Mapping[str, int] | None = None,
    ) -> None:
        """A round is over: everything that was committed before this moment has been found.

        `whole`: nothing was hidden from us. Else windows from before a restart are kept, found or not.
        `unanswered`: see `Poll`.
        """
        with self._lock:
            self._as_of_ms, self._error, self._silent, self._whole = as_of_ms, error, False, whole
            self._unanswered = unanswered or {}

    def fail(self, error: str) -> None:
        """Nothing can be found at the moment."""
        with self._lock:
            self._error, self._silent = error, True

    def take(self) -> Poll:
        """What was found since the last call."""
        with self._lock:
            if not self._as_of_ms:
                return Poll(error=self._error, silent=self._silent)
            first, self._given = not self._given, True
            if first:
                found = self._clock()
                known = tuple(PolledCommit(*key, *last, found) for key, last in self._known.items())
                commits = (*self._waiting, *known)
            else:
                commits = tuple(self._waiting)
            poll = Poll(
                commits,
                self._owners,
                first,
                first and self._whole,
                self._as_of_ms,
                dict(self._skipped),
                self._denied,
                self._error,
                self._silent,
                self._unanswered,
                self._owners_unseen,
            )
            self._waiting, self._owners, self._skipped, self._denied = [], {}, Counter(), 0
            return poll

    def _add(self, commit: PolledCommit) -> None:
        if not self._given and commit.offset is not None:
            # the first poll has everything that is there
            return
        self._waiting.append(commit)
        if len(self._waiting) > MAX_WAITING:
            self._waiting = list({each[:3]: each for each in self._waiting}.values())
