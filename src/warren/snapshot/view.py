"""One cluster at one moment: immutable arrays, and records computed from them on request."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np

from warren.common.look import UNTIMED
from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.facts import Numbers
from warren.evaluator.rules import Rule, RuleSpec
from warren.evaluator.verdict import whole_seconds
from warren.snapshot.model import (
    Entry,
    GroupConsumer,
    GroupStatus,
    PartitionDetail,
    PartitionStatus,
    PartitionWindow,
    TopicPartitionHead,
    TopicReader,
    WindowEntry,
)
from warren.snapshot.tables import GroupTable, HeadTable, WindowTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.common.look import PolledMoment
    from warren.common.owner import Owner
    from warren.evaluator.groups import Groups
    from warren.evaluator.verdict import RuleSettings, Verdict
    from warren.snapshot.moments import Moments
    from warren.snapshot.structure import Structure, TopicPartitions

    Ints = NDArray[np.int64]


# by number
_STATUSES: Final = tuple(Status)
# indices in the edges
_FIRST_LAG: Final = 3
_LAST_OFFSET: Final = 4
_LAST_TIMESTAMP: Final = 5
_LAST_LAG: Final = 7
# owner and client id of a partition that no member has
_NO_OWNER: Final = ("", "")
# status, oldest and newest entry, lag and share of a partition that has no commit
_NO_COMMIT: Final = (Status.OK, None, None, 0, 0.0)
# heads and tails of a topic that the brokers have not listed
_NO_HEADS: Final[tuple[list[int | None], list[int | None]]] = ([], [])
_LAG: Final = operator.attrgetter("current_lag")
# more partitions than a topic has: a higher number that is not listed is forged, and its position is not its number
_BY_POSITION: Final = 10_000


@dataclass(frozen=True, slots=True)
class WindowArrays:
    """The entries of one bucket's windows, (rows, intervals) each; EMPTY offsets lead."""

    offset: Ints
    timestamp: Ints
    observed_at: Ints
    lag: Ints
    floor: Ints

    def entry(self, row: int, slot: int) -> Entry:
        lag = self.lag.item(row, slot)
        return Entry(
            self.offset.item(row, slot),
            self.timestamp.item(row, slot),
            self.observed_at.item(row, slot),
            None if lag == UNKNOWN else lag,
        )

    def edges(self, entries: Ints) -> Ints:
        """(rows, 8): offset, time, time of observation and lag of the oldest entry, and then of the newest."""
        width, every = self.offset.shape[1], np.arange(len(self.offset))
        oldest = np.minimum(width - entries, width - 1)
        columns = (self.offset, self.timestamp, self.observed_at, self.lag)
        return np.stack(
            [*(each[every, oldest] for each in columns), *(each[:, -1] for each in columns)], axis=1
        )


@dataclass(frozen=True)
class ClusterView:
    """Implements `warren.snapshot.model.ClusterSnapshot`."""

    name: str
    number: int
    taken_at_ms: int
    # the moment as of which everything is judged
    as_of_ms: int
    structure: Structure
    tps: TopicPartitions
    # per tp; UNKNOWN where not known, `there` false where the topic partition was removed, `seen` false where the last
    # look has no head for it
    head: Ints
    tail: Ints
    # the lowest of the stored samples of the head
    lowest: Ints
    there: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    # by which everything is judged
    rules: RuleSettings
    # per row of the structure
    verdict: Verdict
    # see `WindowArrays.edges`. In the order of the view: those of a group are adjacent, while its windows are in all
    # buckets
    edges: Ints
    # entries a window has
    entries: Ints
    # per group
    rolled: Groups
    partition_count: Ints
    # by bucket
    arrays: Sequence[WindowArrays]
    # group: owners of its partitions
    owners: Mapping[str, Sequence[Owner]]
    # topic id: topic
    topic_names: Mapping[str, str]
    # per row of the structure: the consumer that read its last commit, an index in the labels of consumers
    consumer: NDArray[np.int16]
    consumers: tuple[str, ...]
    # of those that are polled, by label
    polled: Mapping[str, PolledMoment]
    # where consumers are polled: the moment of each row; None: one for all
    moments: Moments | None

    @property
    def last_offset(self) -> Ints:
        """Per row of the structure."""
        return self.edges[:, _LAST_OFFSET]

    @property
    def last_timestamp(self) -> Ints:
        """Per row of the structure."""
        return self.edges[:, _LAST_TIMESTAMP]

    def topics(self) -> list[str]:
        return sorted(self._topics)

    def topic(self, topic: str) -> tuple[TopicPartitionHead, ...] | None:
        known = self._heads.get(topic)
        return None if known is None else tuple(map(TopicPartitionHead, *known))

    def consumers_of(self, topic: str) -> list[str]:
        if topic not in self.structure.topics:
            return []
        number = self.structure.topics.index(topic)
        of_topic = np.unique(self.structure.group[self.structure.topic == number])
        return [self.structure.groups[index] for index in of_topic]

    def readers(self, topic: str) -> tuple[TopicReader, ...]:
        structure = self.structure
        if topic not in structure.topics:
            return ()
        rows = np.flatnonzero(structure.topic == structure.topics.index(topic))
        # those of a group are adjacent
        groups, begin = np.unique(structure.group[rows], return_index=True)
        status, lag = self.verdict.status[rows], self.verdict.current_lag[rows]
        columns = (
            np.maximum.reduceat(status, begin),
            np.add.reduceat(lag, begin),
            np.maximum.reduceat(lag, begin),
            np.diff(begin, append=len(rows)),
            np.add.reduceat((status > Status.OK).astype(np.int64), begin),
            np.maximum(np.maximum.reduceat(self.last_timestamp[rows], begin), 0),
        )
        return tuple(
            TopicReader(structure.groups[group], _STATUSES[worst], *others)
            for group, worst, *others in zip(
                groups.tolist(), *(each.tolist() for each in columns), strict=True
            )
        )

    def head_table(self) -> HeadTable:
        return HeadTable(self.tps.topic, self.tps.partition, self.head, self.there)

    def groups(self) -> list[str]:
        return list(self.structure.groups)

    def unseen(self) -> frozenset[str]:
        rows = ~self.seen[self.structure.tp]
        if self.moments is not None:
            rows |= self.moments.blind
        return frozenset(self.structure.groups[at] for at in np.unique(self.structure.group[rows]).tolist())

    def groups_of(self, consumers: Collection[str]) -> list[str]:
        """Groups of which these consumers read all commits."""
        others = [number for number, name in enumerate(self.consumers) if name not in consumers]
        excluded = set(np.unique(self.structure.group[np.isin(self.consumer, others)]).tolist())
        return [name for number, name in enumerate(self.structure.groups) if number not in excluded]

    def consumers_reading(self, group: str) -> tuple[GroupConsumer, ...]:
        number = self.structure.index.get(group)
        if number is None:
            return ()
        labels = [self.consumers[at] for at in np.unique(self.consumer[self.structure.rows(number)]).tolist()]
        found = (self._consumer_of(label, group) for label in labels)
        return tuple(sorted(found, key=lambda each: each.name))

    def _consumer_of(self, label: str, group: str) -> GroupConsumer:
        moment = self.polled.get(label)
        if moment is None:
            return GroupConsumer(label, "kafka", "commit", self.as_of_ms, blind=False)
        class_name, _, name = label.partition(" ")
        time_of: Literal["commit", "poll"] = "poll" if class_name in UNTIMED else "commit"
        if group in moment.unanswered:
            return GroupConsumer(name, class_name, time_of, moment.unanswered[group], blind=True)
        return GroupConsumer(name, class_name, time_of, moment.as_of_ms, moment.blind)

    def group_table(self) -> GroupTable:
        begin = self.structure.begin[:-1]
        newest = np.maximum.reduceat(self.last_timestamp, begin) if len(begin) else begin
        greatest = self.verdict.current_lag[self.rolled.maxlag] if len(begin) else begin
        rolled = self.rolled
        return GroupTable(
            self.structure.groups,
            rolled.status,
            rolled.complete,
            self.partition_count,
            rolled.totallag,
            greatest,
            newest,
        )

    def window_table(self) -> WindowTable:
        structure = self.structure
        return WindowTable(
            structure.groups,
            structure.topics,
            structure.group,
            structure.topic,
            structure.partition,
            self.verdict.status,
            self.verdict.current_lag,
            self.last_offset,
        )

    def group(self, group: str) -> GroupStatus | None:
        number = self.structure.index.get(group)
        if number is None:
            return None
        partitions = tuple(
            chain.from_iterable(
                self._partitions(group, topic, rows) for topic, rows in self._rows_by_topic(number)
            )
        )
        worst = max(partitions, key=_LAG, default=None)
        return GroupStatus(
            self.name,
            group,
            Status(int(self.rolled.status[number])),
            float(self.rolled.complete[number]),
            partitions,
            len(partitions),
            worst,
            int(self.rolled.totallag[number]),
        )

    def explained(self, group: GroupStatus) -> GroupStatus:
        """Sentences are built on request, not in every trigger: most are never read."""
        number = self.structure.index.get(group.group)
        if number is None:
            return group
        rows = {topic: self._by_partition(rows) for topic, rows in self._rows_by_topic(number)}

        def explained(one: PartitionStatus) -> PartitionStatus:
            row = rows.get(one.topic, {}).get(one.partition)
            return one if row is None or one.status == Status.OK else self._explained(one, row)

        return msgspec.structs.replace(
            group,
            partitions=tuple(explained(one) for one in group.partitions),
            maxlag=None if group.maxlag is None else explained(group.maxlag),
        )

    def windows(self, group: GroupStatus) -> tuple[PartitionWindow, ...]:
        number = self.structure.index.get(group.group)
        rows = {} if number is None else dict(self._rows_by_topic(number))
        wanted = {one.topic for one in group.partitions}
        by_topic = {topic: self._by_partition(rows[topic]) for topic in wanted & rows.keys()}

        def with_window(one: PartitionStatus) -> PartitionWindow:
            row = by_topic.get(one.topic, {}).get(one.partition)
            if row is None:
                return PartitionWindow(self._never_committed(one), ())
            return PartitionWindow(self._explained(one, row), self._window(row))

        return tuple(map(with_window, group.partitions))

    def detail(self, group: str) -> dict[str, tuple[PartitionDetail, ...]] | None:
        number = self.structure.index.get(group)
        if number is None:
            return None
        owners = self._owners_of(group)
        found: dict[str, tuple[PartitionDetail, ...]] = {}
        for topic, rows in self._rows_by_topic(number):
            by_partition = self._by_partition(rows)
            found[topic] = tuple(
                PartitionDetail(
                    self._entries(by_partition[each]) if each in by_partition else (),
                    *owners.get((topic, each), _NO_OWNER),
                    int(self.verdict.current_lag[by_partition[each]]) if each in by_partition else 0,
                    self._floors(by_partition[each]) if each in by_partition else (),
                )
                for each in self._positions(topic, by_partition)
            )
        return found

    @cached_property
    def _topics(self) -> dict[str, dict[int, int]]:
        """Topic: its partitions that the brokers have listed, and the tp of each."""
        found: dict[str, dict[int, int]] = {}
        for at in np.flatnonzero(self.there).tolist():
            found.setdefault(self.tps.topic[at], {})[int(self.tps.partition[at])] = at
        return found

    @cached_property
    def _heads(self) -> dict[str, tuple[list[int | None], list[int | None]]]:
        """Topic: heads and tails of its partitions, by partition number."""
        # a number that is missing among the others is a partition of which nothing is known
        heads, tails = ([*_known(held.tolist()), None] for held in (self.head, self.tail))
        found = {}
        for topic, tps in self._topics.items():
            at = [tps.get(number, -1) for number in range(max(tps) + 1)]
            found[topic] = ([heads[each] for each in at], [tails[each] for each in at])
        return found

    def _rows_by_topic(self, group: int) -> list[tuple[str, range]]:
        rows = self.structure.rows(group)
        topics = self.structure.topic[rows]
        begins = [0, *(np.flatnonzero(topics[1:] != topics[:-1]) + 1).tolist(), len(topics)]
        return [
            (self.structure.topics[topics[begin]], range(rows.start + begin, rows.start + end))
            for begin, end in pairwise(begins)
        ]

    def _by_partition(self, rows: range) -> dict[int, int]:
        """Partition of one topic: its row."""
        return dict(zip(self.structure.partition[rows.start : rows.stop].tolist(), rows, strict=True))

    def _numbers(self, topic: str, committed: Iterable[int]) -> list[int]:
        """A topic's partitions: all that the brokers have, and others that have commits.

        The others do not form a range: a forged record can have any number.
        """
        width = len(self._heads.get(topic, _NO_HEADS)[0])
        return [*range(width), *(each for each in committed if each >= width)]

    def _positions(self, topic: str, committed: Iterable[int]) -> list[int]:
        """The same for readers who go by position: that of a partition is its number, also before it is listed."""
        numbers = self._numbers(topic, committed)
        width = max((each + 1 for each in numbers if each < _BY_POSITION), default=0)
        return [*range(width), *(each for each in numbers if each >= width)]

    def _partitions(self, group: str, topic: str, rows: range) -> Iterator[PartitionStatus]:
        span = slice(rows.start, rows.stop)
        committed = self.structure.partition[span].tolist()
        numbers = self._numbers(topic, committed)
        # whole columns, no line of Python for each partition: a page of 50 takes a sixth less
        edges = self.edges[span].T.tolist()
        columns: Iterable[Iterable[Any]] = (
            map(_STATUSES.__getitem__, self.verdict.status[span].tolist()),
            map(Entry, *edges[:_FIRST_LAG], _known(edges[_FIRST_LAG])),
            map(Entry, *edges[_LAST_OFFSET:_LAST_LAG], _known(edges[_LAST_LAG])),
            self.verdict.current_lag[span].tolist(),
            self.verdict.complete[span].tolist(),
        )
        if numbers != committed:
            at = dict(zip(committed, range(len(committed)), strict=True))
            order = [at.get(each, -1) for each in numbers]
            columns = [
                map([*column, none].__getitem__, order)
                for column, none in zip(columns, _NO_COMMIT, strict=True)
            ]
        owners: Iterable[Iterable[str]] = (repeat(""), repeat(""))
        if known := self._owners_of(group):
            owners = zip(*(known.get((topic, each), _NO_OWNER) for each in numbers), strict=True)
        # a partition that the brokers do not have comes last, and has neither
        ends = (chain(each, repeat(None)) for each in self._heads.get(topic, _NO_HEADS))
        return map(PartitionStatus, repeat(topic), numbers, *owners, *columns, *ends)

    def _explained(self, one: PartitionStatus, row: int) -> PartitionStatus:
        tp, rules = self.structure.tp[row], self.rules
        window, at = self.arrays[self.structure.bucket[row]], int(self.structure.row[row])
        filled = slice(window.offset.shape[1] - int(self.entries[row]), None)
        offsets, timestamps, lags, floors = (
            each[at, filled].tolist() for each in (window.offset, window.timestamp, window.lag, window.floor)
        )
        moments = self.moments
        numbers = Numbers(
            offsets=offsets,
            timestamps=timestamps,
            lags=lags,
            floors=floors,
            intervals=rules.intervals,
            complete=one.complete,
            minimum_complete=rules.minimum_complete,
            current_lag=one.current_lag,
            allowed_lag=int(rules.allowed_lag),
            head=int(self.head[tp] if moments is None else moments.head[row]),
            lowest_sample=int(self.lowest[tp] if moments is None else moments.lowest[row]),
            now_ms=whole_seconds(self.as_of_ms if moments is None else int(moments.now_ms[row])),
        )
        return _explained_by(rules.book.spec(self.verdict.rule[row]), one, numbers)

    def _never_committed(self, one: PartitionStatus) -> PartitionStatus:
        rules = self.rules
        share, allowed, now_ms = rules.minimum_complete, int(rules.allowed_lag), whole_seconds(self.as_of_ms)
        nothing = Numbers([], [], [], [], rules.intervals, 0.0, share, 0, allowed, UNKNOWN, UNKNOWN, now_ms)
        return _explained_by(rules.book.spec(Rule.NO_COMMIT), one, nothing)

    def _window(self, row: int) -> tuple[WindowEntry, ...]:
        window, at = self.arrays[self.structure.bucket[row]], int(self.structure.row[row])
        filled = slice(window.offset.shape[1] - int(self.entries[row]), None)
        columns = (
            each[at, filled].tolist()
            for each in (window.offset, window.timestamp, window.observed_at, window.lag, window.floor)
        )
        return tuple(
            WindowEntry(
                offset,
                timestamp,
                observed_at,
                None if lag == UNKNOWN else lag,
                None if floor == UNKNOWN else floor,
            )
            for offset, timestamp, observed_at, lag, floor in zip(*columns, strict=True)
        )

    def _entries(self, row: int) -> tuple[Entry | None, ...]:
        window, at = self.arrays[self.structure.bucket[row]], int(self.structure.row[row])
        width = window.offset.shape[1]
        empty = width - int(self.entries[row])
        entries = (window.entry(at, slot) for slot in range(empty, width))
        return (*(None,) * empty, *entries)

    def _floors(self, row: int) -> tuple[int | None, ...]:
        window, at = self.arrays[self.structure.bucket[row]], int(self.structure.row[row])
        return tuple(None if each == UNKNOWN else each for each in window.floor[at].tolist())

    def _owners_of(self, group: str) -> dict[tuple[str, int], tuple[str, str]]:
        """Topic partition: owner and client id."""
        return {
            (self.topic_names.get(each.topic, each.topic), each.partition): (each.owner, each.client_id)
            for each in self.owners.get(group, ())
        }


def _known(values: Iterable[int]) -> list[int | None]:
    return [None if each == UNKNOWN else each for each in values]


def _explained_by(spec: RuleSpec, one: PartitionStatus, numbers: Numbers) -> PartitionStatus:
    return msgspec.structs.replace(
        one,
        rule=spec.rule.name.lower(),
        because=spec.because(numbers),
        decided_by=tuple(spec.decided_by(numbers)),
        would_change=spec.would_change(numbers),
    )
