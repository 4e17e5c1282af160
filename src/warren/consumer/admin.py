"""Committed offsets through the admin API, for clusters whose offsets topic may not be read; runs in Spark's planning
process.

A round lists the groups and asks the coordinator of each one for its offsets. The API has no time of a commit: one is
seen when the offset has changed, and its time is that of the round. An offset that stays the same is no commit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from warren.clock import back_off_s, now_ms
from warren.common.group_filter import GroupFilter
from warren.consumer.committed_file import CommittedFile, Remembered
from warren.consumer.polling import Findings, Poll
from warren.errors import WarrenError
from warren.kafka.brokers import Limit
from warren.kafka.group_admin import Committed, Failure, GroupAdmin, Holders, ListedGroups, TopicPartition
from warren.kafka.login import Property

# limit of listing groups, and of listing topics
LIST_S: Final = 10.0
# limit of all answers of a round; what is left is asked again in the next one
ROUND_S: Final = 60.0
# seconds until the next attempt after groups could not be listed
AGAIN_S: Final = (1.0, 2.0, 5.0, 10.0)
# groups that an error message names
_NAMED: Final = 3

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """How to poll the groups of one cluster; implements `PolledSettings`."""

    name: str
    client: Mapping[str, Property]
    # seconds between two rounds, and between two looks at the members of a group
    poll_interval_s: int
    members_refresh_s: int
    # requests that are under way at the same time, at most
    at_once: int
    groups: GroupFilter
    intervals: int
    min_distance_ms: int
    # where to keep what groups have committed, and for how long without an answer
    committed_file: Path
    expire_ms: int
    class_name: str = "kafka_admin"
    timed: bool = False

    def __repr__(self) -> str:
        return f"AdminSettings({self.name}: {self.client['bootstrap.servers']})"

    def poller(self) -> AdminPoller:
        poller = AdminPoller(self, GroupAdmin(self.client, self.at_once))
        poller.start()
        return poller


class GroupRequests(Protocol):
    """What `GroupAdmin` does."""

    def listed(self, limit: Limit) -> ListedGroups: ...

    def committed(self, groups: Sequence[str], limit: Limit) -> Iterator[tuple[str, Committed | Failure]]: ...

    def holders(self, groups: Sequence[str], limit: Limit) -> Iterator[tuple[str, Holders | Failure]]: ...

    def topics(self, limit: Limit) -> set[str]: ...

    def described(self, topics: Collection[str], limit: Limit) -> dict[str, tuple[int, ...]]: ...

    def renew(self) -> None: ...


class NoAnswerError(WarrenError):
    """Not one group has an answer."""


class AdminPoller:
    """Implements `warren.consumer.polling.Poller`."""

    def __init__(
        self, settings: AdminSettings, admin: GroupRequests, clock: Callable[[], int] = now_ms
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._clock = clock
        self._findings = Findings(timed=False, clock=clock)
        # there was a round that had all groups
        self._complete = False
        self._file = CommittedFile(settings.committed_file)
        # group: what it has committed, also before the start
        self._committed = {
            group: found for group, found in self._file.read().items() if settings.groups.accepts(group)
        }
        # some of them are of topics that we cannot see
        self._hidden = False
        # group: the last round that had its answer
        self._answered_ms: dict[str, int] = {}
        # groups without an answer in the last round
        self._failures: dict[str, Failure] = {}
        # group: who holds its partitions
        self._holders: dict[str, Holders] = {}
        # groups whose members have had no answer since the start
        self._unseen: set[str] = set()
        # groups whose members were asked for, and when all were, by our clock
        self._described: set[str] = set()
        self._described_ms: int | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """Rounds in a thread of their own, until the process ends."""
        threading.Thread(target=self._run, name=f"admin-{self._settings.name}", daemon=True).start()

    def stop(self) -> None:
        """No more rounds."""
        self._stopping.set()

    def poll(self) -> Poll:
        return self._findings.take()

    def _run(self) -> None:
        attempt = 0
        while not self._stopping.is_set():
            try:
                self.look()
                attempt = 0
                wait_s = self._until_next_s()
            except Exception as error:  # noqa: BLE001 - a thread that ended would leave its groups blind for ever
                self._findings.fail(str(error) if isinstance(error, WarrenError) else repr(error))
                attempt += 1
                wait_s = back_off_s(AGAIN_S, attempt)
            self._stopping.wait(wait_s)

    def _until_next_s(self) -> float:
        """Rounds begin at multiples of the interval, so that commits in a window are evenly spaced."""
        interval_ms = self._settings.poll_interval_s * 1000
        return (interval_ms - self._clock() % interval_ms) / 1000

    def look(self) -> None:
        """One round; UnreachableError when no broker answers, NoAnswerError when no group has an answer."""
        begun_ms = self._clock()
        interval_ms = self._settings.poll_interval_s * 1000
        at_ms = begun_ms // interval_ms * interval_ms
        listed = self._admin.listed(Limit(LIST_S))
        if listed.error and not self._complete:
            # the first round has to be complete: windows of groups that it lacks are removed
            raise NoAnswerError(f"Not every broker lists its groups ({listed.error})")
        groups = [group for group in listed.empty if self._settings.groups.accepts(group)]
        for _ in range(len(listed.empty) - len(groups)):
            self._findings.deny()
        # groups that are not listed any more are asked for, too: their coordinator may be away, or they are hidden. One
        # that was deleted together with its rights looks the same, so not for ever
        oldest_ms = begun_ms - self._settings.expire_ms
        self._committed = {
            group: found
            for group, found in self._committed.items()
            if group in listed.empty or found.answered_ms >= oldest_ms
        }
        asked = sorted({*groups, *self._committed}, key=self._failures.__contains__)
        self._ask(asked, set(groups), begun_ms, at_ms)
        self._look_at_members([group for group in groups if not listed.empty[group]], begun_ms)
        self._complete = True
        self._file.write(self._committed)
        # 0: no answer since the start; it may have windows from before
        unanswered = {group: self._answered_ms.get(group, 0) for group in self._failures}
        self._findings.done(
            begun_ms,
            self._error(len(asked), listed.error),
            whole=not (unanswered or self._hidden or listed.error),
            unanswered=unanswered,
        )

    def _ask(self, groups: list[str], listed: set[str], begun_ms: int, at_ms: int) -> None:
        gone: dict[str, set[TopicPartition]] = {}
        failures: dict[str, Failure] = {}
        for group, answer in self._admin.committed(groups, Limit(ROUND_S)):
            if isinstance(answer, Failure):
                failures[group] = answer
                continue
            self._answered_ms[group] = begun_ms
            for (topic, partition), offset in answer.items():
                self._findings.commit((group, topic, partition), offset, at_ms)
            before = self._committed.get(group)
            if lost := (before.places if before else frozenset()) - answer.keys():
                gone[group] = set(lost)
            if lost or answer:
                hour_ms = begun_ms - begun_ms % _HOUR_MS
                self._committed[group] = Remembered(lost | answer.keys(), hour_ms)
        self._failures = failures
        self._answered_ms = {
            group: self._answered_ms[group] for group in groups if group in self._answered_ms
        }
        if not all(each.remedy for each in failures.values()):
            self._admin.renew()
        if listed and listed <= failures.keys():
            raise NoAnswerError(self._error(len(groups), ""))
        self._hidden = bool(gone) and self._remove(gone)

    def _remove(self, gone: dict[str, set[TopicPartition]]) -> bool:
        """Offsets that are not there any more. Those of topics that we cannot see are left to the look at the heads,
        which knows whether a topic is deleted or hidden. True: some are hidden; these are still asked for."""
        topics = self._admin.topics(Limit(LIST_S))
        unseen = {topic for places in gone.values() for topic, _ in places} - topics
        described = self._admin.described(unseen, Limit(LIST_S))
        # a topic that does not exist has no partitions
        hidden = {topic for topic in unseen if described.get(topic) != ()}
        for group, places in gone.items():
            for topic, partition in places:
                key = (group, topic, partition)
                if topic in topics:
                    self._findings.delete(key)
                else:
                    self._findings.forget(key)
            before = self._committed[group]
            left = before.places - {place for place in places if place[0] not in hidden}
            if left:
                self._committed[group] = Remembered(left, before.answered_ms)
            else:
                del self._committed[group]
        return bool(hidden)

    def _look_at_members(self, groups: list[str], begun_ms: int) -> None:
        """Members of groups that have some; those of known groups less often than offsets."""
        last_ms = self._described_ms
        if last_ms is None or not 0 <= begun_ms - last_ms < self._settings.members_refresh_s * 1000:
            self._described_ms, self._described = begun_ms, set()
        for group in (self._holders.keys() | self._unseen) - set(groups):
            self._own(group, {})
        due = [group for group in groups if group not in self._described]
        self._described = set(groups)
        for group, answer in self._admin.holders(due, Limit(ROUND_S)):
            if not isinstance(answer, Failure):
                self._own(group, answer)
            elif group not in self._holders:
                self._unseen.add(group)
        self._findings.cannot_see_owners(self._unseen)

    def _own(self, group: str, holders: Holders) -> None:
        # one from before the start may be shown: also that there is none is news
        if group in self._unseen or holders != self._holders.get(group, {}):
            self._findings.own(group, holders)
        self._unseen.discard(group)
        if holders:
            self._holders[group] = holders
        else:
            self._holders.pop(group, None)

    def _error(self, asked: int, listing: str) -> str:
        """What is wrong with some groups; empty: nothing."""
        denied = sorted(group for group, each in self._failures.items() if each.remedy)
        silent = sorted(self._failures.keys() - set(denied))
        errors = [f"not every broker lists its groups ({listing})"] if listing else []
        if denied:
            errors.append(
                f"{len(denied)} of {asked} groups may not be seen ({_some(denied)}): "
                f"{self._failures[denied[0]].remedy}"
            )
        if silent:
            errors.append(
                f"{len(silent)} of {asked} groups have no answer of their coordinator ({_some(silent)}: "
                f"{self._failures[silent[0]].reason}); they are judged as of their last answer"
            )
        return "; ".join(errors)


def _some(groups: list[str]) -> str:
    return ", ".join(groups[:_NAMED]) + (", …" if len(groups) > _NAMED else "")
