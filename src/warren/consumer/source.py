"""Plans what a trigger reads from the offsets topic of one consumer module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from warren.clock import now_ms
from warren.common.group_filter import GroupFilter
from warren.consumer import plan
from warren.consumer.plan import LogEnds, Position, Range
from warren.consumer.transactions import OpenTransactions
from warren.kafka.brokers import EARLIEST, LATEST, Brokers, Limit, Topic, UnreachableError
from warren.kafka.login import Property

# time limit of the planner's requests; after it the trigger runs without new commits
PLAN_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class OffsetsSettings:
    """How to read one offsets topic; is sent to the workers, secrets included, and never printed."""

    # the consumer module's name
    name: str
    client: Mapping[str, Property]
    topic: str
    start_latest: bool
    backfill: bool
    # records that one trigger reads at most
    limit: int
    # tasks that read at the same time
    tasks: int
    # how the windows are kept: no more is read than they can hold
    intervals: int
    min_distance_ms: int
    # which groups to read
    groups: GroupFilter

    def __repr__(self) -> str:
        return f"OffsetsSettings({self.name}: {self.topic})"


@dataclass(frozen=True, slots=True)
class ReadTask:
    """What one task reads of one consumer's topic."""

    consumer: str
    ranges: tuple[Range, ...]
    # our clock: everything in it was written between the two
    after_ms: int
    before_ms: int
    # the tombstone of a group does not delete its commits: see `Brokers.before_0_11`
    commits_stay: bool = False


class OffsetsPlanner:
    """Plans fixed ranges, in Spark's planning process: a range that is read twice gives the same."""

    def __init__(self, settings: OffsetsSettings, brokers: Brokers) -> None:
        self._settings = settings
        self._brokers = brokers
        # the first end offsets that this process got
        self._first: LogEnds | None = None
        self._open = OpenTransactions()

    def advanced(self, start: Position | None) -> Position:
        """The position after the next trigger; `start` is None for a new consumer."""
        settings = self._settings
        if start is not None and not start.asked_ms:
            # its brokers have never responded
            start = None
        try:
            ends = self._ends(first=start is None)
        except UnreachableError as error:
            return (start or Position()).without_answer(str(error))
        if self._first is None and ends.end and None not in ends.end:
            self._first = ends
        if start is not None:
            return plan.advance(start, ends, settings.limit)
        begun = plan.first_position(ends, settings.start_latest, settings.backfill)
        # history is read from the second trigger on: the first one has no start position
        return plan.advance(begun, ends, settings.limit, with_history=False)

    def caught_up(self, position: Position) -> bool:
        """Whether everything up to the first end offsets has been read."""
        return self._first is not None and plan.has_read(position, self._first)

    def read_tasks(self, start: Position | None, end: Position, *, together: bool) -> list[ReadTask]:
        """What the trigger between two positions reads: in one task, or distributed over several."""
        start = start or Position()
        shares = (
            (plan.present(start, end), start.as_of_ms),
            # these were written before anything else
            (plan.history(start, end), 0),
        )
        chosen = [
            (share, after_ms)
            for found, after_ms in shares
            for share in plan.assigned(found, 1 if together else self._settings.tasks)
        ]
        commits_stay = bool(chosen) and self._commits_stay()
        return [
            ReadTask(self._settings.name, share, after_ms, end.at_ms, commits_stay)
            for share, after_ms in chosen
        ]

    def _commits_stay(self) -> bool:
        try:
            return self._brokers.before_0_11(Limit(PLAN_TIMEOUT_S))
        except UnreachableError:
            # of a plan from before the start; nothing can be read either
            return False

    def _ends(self, *, first: bool) -> LogEnds:
        """First and next offset of every partition; a partition without an answer is left for the next trigger."""
        topic_name = self._settings.topic
        limit = Limit(PLAN_TIMEOUT_S)
        asked = now_ms()
        topic = self._brokers.topic(topic_name, limit) or Topic("", ())
        # by partition number: a missing one must not shift the others
        tps = [(topic_name, number) for number in range(max(topic.partitions, default=-1) + 1)]
        ends = self._brokers.offsets(tps, LATEST, limit)
        # requested last: most transactions end within moments
        stable = self._brokers.offsets(tps, LATEST, limit, committed=True)
        if tps and not ends:
            raise UnreachableError(self._brokers.silence())
        starts = self._brokers.offsets(tps, EARLIEST, limit) if first else {}
        end = tuple(ends.get(tp) if tp in stable else None for tp in tps)
        begins = tuple(stable.get(tp) if tp in ends else None for tp in tps)
        return LogEnds(
            tuple(starts.get(tp) for tp in tps),
            end,
            asked,
            now_ms(),
            topic.topic_id,
            begins,
            self._open.overdue(begins, end),
        )
