"""The windows and heads of one bucket of topic partitions: pure, everything that happens to them in one trigger."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warren.common import frames
from warren.common.group_filter import Watched
from warren.common.request import Request
from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage import heads, windows
from warren.storage.heads import LOOKS, Heads
from warren.storage.windows import FIELDS, Commits, Ints, Mask, Windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Indices = NDArray[np.int32]

# bytes, or a buffer that is a mapped file
Payload = Any

# separates topic and partition in a lookup key; Kafka allows neither NUL in topics nor anything but digits after it
_NUL: Final = "\0"

# tolerated difference between a commit's time and our clock before one of the two counts as wrong
_SKEW_MS: Final = 60_000
# value of `missing` for a topic partition that was never listed
_NEVER_LISTED: Final = -1
# complete lists in a row without a topic partition that no group reads, until it counts as deleted: brokers do not say
# that of a topic whose ACL went with it
_FORGOTTEN: Final = 100
# missing topic partitions that are checked at once
_MAX_MISSING: Final = 1_000
# topics with dropped commits that a bucket reports at once
_MAX_UNLISTED: Final = 100


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """Settings of windows."""

    intervals: int
    min_distance_ms: int
    expire_ms: int
    # distance of the head samples that show whether a consumer was at the head recently
    refresh_ms: int


@dataclass(frozen=True, slots=True)
class HeadsSeen:
    """Heads of a bucket's topic partitions from the brokers in this trigger."""

    topic: Any  # pa.StringArray
    partition: Indices
    # "" where the brokers have none
    topic_id: Any  # pa.StringArray
    # UNKNOWN: the topic partition exists, but its head (or tail) is not known
    head: Ints
    tail: Ints
    # by the wall clock, the steady clock and the clock by which things expire: see `warren.clock.LookClock`
    at_ms: int
    steady_ms: int
    expiry_ms: int
    # every topic partition of the bucket is listed. A missing one may not exist, or not be visible to us for a while
    complete: bool
    # of the missing ones: those that do not exist according to the brokers, names and partitions
    gone: tuple[Sequence[str], Sequence[int]]

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        metadata = frames.metadata(batch)
        return cls(
            batch.column("topic"),
            frames.ints(batch, "partition").astype(np.int32),
            batch.column("topic_id"),
            frames.ints(batch, "head"),
            frames.ints(batch, "tail"),
            int(metadata["at_ms"]),
            int(metadata["steady_ms"]),
            int(metadata["expiry_ms"]),
            metadata["complete"] == "1",
            _names_and_numbers(json.loads(metadata["gone"])),
        )


@dataclass(frozen=True, slots=True)
class CommitsSeen:
    """Commits, and tombstones of commits, of a bucket in this trigger."""

    group: Any  # pa.StringArray
    topic: Any  # pa.StringArray
    partition: Indices
    offset: Ints
    # of the slot: time of the first of the commits that the reader merged into one
    timestamp: Ints
    # time of the commit whose offset it is: differs where the reader has merged several
    committed_at: Ints
    observed_at: Ints
    order: Ints
    deleted: Mask
    # the consumer module that read them
    consumer: str
    # by our clock all of them were written between these two
    after_ms: int
    before_ms: int
    # "": from an offsets topic. "timed", "untimed": polled, with a time of their own or not
    polled: str = ""

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        metadata = frames.metadata(batch)
        # dictionary-encoded, since names repeat
        group, topic = (batch.column(name).dictionary_decode() for name in ("group", "topic"))
        return cls(
            group,
            topic,
            frames.ints(batch, "partition").astype(np.int32),
            frames.ints(batch, "offset"),
            frames.ints(batch, "timestamp"),
            frames.ints(batch, "committed_at"),
            frames.ints(batch, "observed_at"),
            frames.ints(batch, "order"),
            batch.column("deleted").to_numpy(zero_copy_only=False),
            metadata["consumer"],
            int(metadata["after_ms"]),
            int(metadata["before_ms"]),
            metadata.get("polled", ""),
        )

    def __len__(self) -> int:
        return len(self.order)

    def newer_than(self, tombstones: GroupTombstones) -> CommitsSeen:
        """The commits that are newer than the last deletion of their group, as far as the same consumer read it."""
        return (
            self
            if tombstones.consumer != self.consumer
            else self.take(self.order > tombstones.order_of(self.group))
        )

    def take(self, kept: Mask) -> CommitsSeen:
        return replace(
            self,
            group=self.group.filter(pa.array(kept)),
            topic=self.topic.filter(pa.array(kept)),
            **{name: getattr(self, name)[kept] for name in _COMMIT_ARRAYS},
        )


@dataclass(frozen=True, slots=True)
class GroupTombstones:
    """Deletions of groups; a group may have several."""

    group: Any  # pa.StringArray
    # order of the deletion
    order: Ints
    # the consumer module that read them: orders of different ones cannot be compared
    consumer: str

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        return cls(batch.column("group"), frames.ints(batch, "order"), frames.metadata(batch)["consumer"])

    def order_of(self, groups: Any) -> Ints:
        """The last deletion of each of these groups, UNKNOWN for those that were not deleted."""
        encoded = self.group.dictionary_encode()
        last = np.full(len(encoded.dictionary) + 1, UNKNOWN, dtype=np.int64)
        np.maximum.at(last, np.asarray(encoded.indices), self.order)
        # other groups get the last index, which is UNKNOWN
        return last[_index_in(groups, encoded.dictionary)]


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything that a polled consumer has in this bucket."""

    group: Any  # pa.StringArray
    topic: Any  # pa.StringArray
    partition: Indices
    consumer: str

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        return cls(
            batch.column("group"),
            batch.column("topic"),
            frames.ints(batch, "partition").astype(np.int32),
            frames.metadata(batch)["consumer"],
        )


_COMMIT_ARRAYS: Final = (
    "partition",
    "offset",
    "timestamp",
    "committed_at",
    "observed_at",
    "order",
    "deleted",
)


@dataclass(slots=True)
class Bucket:
    """Topic partitions, groups, and their windows. Owns its arrays and changes them in place."""

    settings: WindowSettings
    # topic partitions, in the order in which they came
    topic: Any
    partition: Indices
    topic_id: Any
    tail: Ints
    heads: Heads
    # number of consecutive complete lists of topics without it; 0: it was on the last one
    missing: Ints
    # its head was polled in this trigger; not saved
    seen: Mask
    # distinct group names, and names of consumer modules
    groups: Any
    consumers: Any
    # per window: index of its group, of its topic partition (tp), and of the consumer that read its last commit
    group_of: Indices
    tp_of: Indices
    consumer_of: Indices
    windows: Windows
    # rows that changed since the last report; None: rows were removed, so report all
    touched: list[Ints] | None
    # windows at the last report
    reported: int
    # topics whose commits were dropped in this trigger, because the complete list of topics lacks them; not saved
    unlisted: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, settings: WindowSettings) -> Self:
        none = pa.array([], pa.string())
        index = np.empty(0, dtype=np.int32)
        return cls(
            settings,
            none,
            index,
            none,
            np.empty(0, dtype=np.int64),
            Heads.empty(0, settings.intervals),
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.bool_),
            none,
            none,
            index,
            index,
            index,
            Windows.empty(0, settings.intervals),
            [],
            0,
        )

    @property
    def vacant(self) -> bool:
        """There is no topic partition."""
        return not len(self.partition)

    @property
    def listed(self) -> Mask:
        """Topic partitions that the brokers have listed; others wait for that, with their commits."""
        return np.not_equal(self.missing, _NEVER_LISTED)

    def missing_from_lists(self) -> list[tuple[str, int]]:
        """Topic partitions that complete lists of topics lack: they may be deleted, or not visible to us."""
        at = np.flatnonzero(self.missing != 0)[:_MAX_MISSING]
        return list(zip(self.topic.take(pa.array(at)).to_pylist(), self.partition[at].tolist(), strict=True))

    def apply_heads(self, seen: HeadsSeen) -> None:
        """Apply polled heads; windows of deleted and recreated topic partitions are dropped."""
        self._drop_gone(seen)
        tp = self._tp_index(seen.topic, seen.partition)
        if seen.complete:
            there = np.zeros(len(self.partition), dtype=np.bool_)
            there[tp[tp != UNKNOWN]] = True
            self.missing = np.where(there | ~self.listed, self.missing, self.missing + 1)
        self._drop_recreated(seen, tp)
        self._add_tps(seen.topic, seen.partition, seen.topic_id, tp == UNKNOWN)
        tp = self._tp_index(seen.topic, seen.partition)
        self.missing[tp] = 0
        self.tail[tp] = np.where(seen.tail == UNKNOWN, self.tail[tp], seen.tail)
        known = seen.head != UNKNOWN
        self.seen = np.zeros(len(self.partition), dtype=np.bool_)
        self.seen[tp[known]] = True
        first = tp[known & (self.heads.look_at_ms[tp, -1] == EMPTY)]
        heads.look_into(
            self.heads,
            tp[known].astype(np.int64),
            seen.head[known],
            at_ms=seen.at_ms,
            steady_ms=seen.steady_ms,
            refresh_ms=self.settings.refresh_ms,
        )
        if len(first):
            self._fill_lags(first)
        self._invalidate_lags(seen.at_ms)

    def _drop_gone(self, seen: HeadsSeen) -> None:
        """Drop topic partitions that do not exist according to the brokers.

        Lists alone are not enough where there are windows: with revoked ACLs, or from a broker that has just started,
        they are too short.
        """
        gone = (self.missing >= _FORGOTTEN) | ~self.listed
        gone[self.tp_of] = False
        names, numbers = seen.gone
        if names:
            tp = self._tp_index(pa.array(names, pa.string()), np.array(numbers, dtype=np.int32))
            gone[tp[tp != UNKNOWN]] = True
            gone &= self.missing != 0
        if gone.any():
            self._drop_tps(~gone)

    def drop_unwatched(self, watched: Watched) -> None:
        """Drop the windows of groups that the lists exclude, and of consumers that are not configured any more."""
        consumers = self.consumers.to_pylist()
        names = self.groups.to_pylist()
        pairs, of_window = np.unique(
            self.consumer_of.astype(np.int64) << 32 | self.group_of, return_inverse=True
        )
        kept = np.array(
            [
                consumers[pair >> 32] in watched
                and watched[consumers[pair >> 32]].accepts(names[pair & 0xFFFFFFFF])
                for pair in pairs.tolist()
            ],
            dtype=np.bool_,
        )
        self._keep(kept[of_window])

    def apply_requests(self, requests: Sequence[Request]) -> None:
        """Drop the windows that the API's delete requests name."""
        keep = np.ones(self.windows.rows, dtype=np.bool_)
        for request in requests:
            group = _index_in(pa.array([request.group]), self.groups)[0]
            of_group = self.group_of == group
            if request.topic is not None:
                of_group &= _equal(self.topic, request.topic)[self.tp_of]
            keep &= ~of_group
        self._keep(keep)

    def apply_tombstones(self, tombstones: GroupTombstones) -> None:
        """Drop commits that are older than the deletion of their group."""
        order = tombstones.order_of(self.groups)[self.group_of]
        own = self.consumer_of == _index_in(pa.array([tombstones.consumer]), self.consumers)[0]
        rows = np.flatnonzero((order != UNKNOWN) & own)
        self._touch(windows.delete_before(self.windows, rows, order[rows]))

    def keep_listed(self, listed: Listed) -> None:
        """Drop windows of a polled consumer for which it has no commit any more."""
        consumer = _index_in(pa.array([listed.consumer]), self.consumers)[0]
        group, tp = _index_in(listed.group, self.groups), self._tp_index(listed.topic, listed.partition)
        there = np.isin(
            _pair(self.group_of, self.tp_of), _pair(group, tp)[(group != UNKNOWN) & (tp != UNKNOWN)]
        )
        self._keep((self.consumer_of != consumer) | there)

    def apply_commits(self, seen: CommitsSeen, expiry_ms: int, every_topic_known: bool) -> None:
        """Place commits into windows; expired ones, and those of topic partitions that do not exist, are dropped."""
        seen = seen.take(seen.deleted | (seen.timestamp >= expiry_ms - self.settings.expire_ms))
        tp = self._tp_index(seen.topic, seen.partition)
        if (tp == UNKNOWN).any():
            if every_topic_known:
                # deleted, or hidden from us: the brokers are asked by name
                dropped = seen.take((tp == UNKNOWN) & ~seen.deleted).topic.unique().to_pylist()
                self.unlisted = sorted({*self.unlisted, *dropped})[:_MAX_UNLISTED]
                seen, tp = seen.take(tp != UNKNOWN), tp[tp != UNKNOWN]
            else:
                # no head yet: the windows wait for it
                self._add_tps(seen.topic, seen.partition, None, tp == UNKNOWN)
                tp = self._tp_index(seen.topic, seen.partition)
        if not len(seen):
            return
        consumer = self._consumer_index(seen.consumer)
        row = self._rows(seen.group, tp, ~seen.deleted)
        admitted = self._admitted(seen, row, consumer)
        if not admitted.all():
            seen, tp, row = seen.take(admitted), tp[admitted], row[admitted]
        deleted_rows = seen.deleted & (row != UNKNOWN)
        live = ~seen.deleted
        floor, lag = self._lags(tp[live].astype(np.int64), seen.take(live))
        commits = Commits(
            row[live],
            seen.offset[live],
            seen.timestamp[live],
            seen.observed_at[live],
            lag,
            floor,
            seen.order[live],
        )
        if deleted_rows.any():
            tombstones = row[deleted_rows], seen.order[deleted_rows]
            self._touch(windows.delete_before(self.windows, *tombstones))
            commits = windows.newer_than(commits, *tombstones)
        self._drop_future_entries(commits, seen.before_ms)
        changed = windows.place_into(self.windows, commits, self.settings.min_distance_ms)
        self.consumer_of[changed] = consumer
        self._touch(changed)

    def _admitted(self, seen: CommitsSeen, row: Ints, consumer: int) -> Mask:
        """Which commits are placed into their windows.

        A group may commit in two places, of which each is read by a consumer of its own: commits that are later than
        the newest of the window are placed. Their orders cannot be compared with those of the entries, which therefore
        get orders below all others. A polled commit that the window already has came again with a complete poll.
        """
        if not self.windows.rows:
            return np.ones(len(row), dtype=np.bool_)
        filled = (row != UNKNOWN) & (self.windows.order[row, -1] != EMPTY)
        other = filled & (self.consumer_of[row] != consumer)
        last = self.windows.timestamp[row, -1]
        admitted = ~other | (~seen.deleted & (seen.committed_at > last))
        if seen.polled:
            again = filled & ~other & ~seen.deleted & (seen.offset == self.windows.offset[row, -1])
            admitted &= ~again | ((seen.committed_at > last) & (seen.polled == "timed"))
        taken_over = np.unique(row[other & admitted])
        if len(taken_over):
            intervals = self.windows.intervals
            order = self.windows.order[taken_over]
            # none of them is EMPTY
            lowest = np.arange(EMPTY - intervals, EMPTY)
            self.windows.order[taken_over] = np.where(order == EMPTY, EMPTY, lowest)
        return np.asarray(admitted)

    def _lags(self, tp: Ints, seen: CommitsSeen) -> tuple[Ints, Ints]:
        """Floor and lag of each commit; the lag is UNKNOWN where a clock is wrong."""
        # a span that ends before it begins: our clock was set back
        set_back = seen.after_ms > seen.before_ms
        span = 0 if set_back else seen.after_ms, seen.before_ms
        # a polled offset without a time may have been committed at any moment since the poll before
        certain = (
            np.full(len(seen), span[0])
            if seen.polled == "untimed"
            else heads.certain(seen.committed_at, *span)
        )
        before = heads.head_before(self.heads, tp, certain)
        moment = heads.bracket(seen.committed_at, *span)
        lag = heads.lag_at(heads.head_at(self.heads, tp, moment), seen.offset)
        # the arrival of commits that were read late is not known, so their own time is used
        wrong = (np.abs(seen.committed_at - moment) > _SKEW_MS) & (seen.after_ms > 0)
        # the poll of this trigger failed: the last head is older than the commit
        unseen = moment > self.heads.look_at_ms[tp, -1]
        return heads.lag_at(before, seen.offset), np.where(wrong | set_back | unseen, UNKNOWN, lag)

    def _invalidate_lags(self, at_ms: int) -> None:
        """Entries observed in the future: our clock was ahead, and their lags are not known."""
        rows = np.flatnonzero(self.windows.observed_at[:, -1] > at_ms + _SKEW_MS)
        if len(rows):
            ahead = self.windows.observed_at[rows] > at_ms + _SKEW_MS
            self.windows.lag[rows] = np.where(ahead, UNKNOWN, self.windows.lag[rows])
            self._touch(rows)

    def _drop_future_entries(self, commits: Commits, before_ms: int) -> None:
        """Drop entries from a broker whose clock was ahead and is right again: they are in the future.

        Until that time later commits would all be merged into the last of them. Both clocks must agree: the commits
        step back, and the newer time is ahead of our own clock.
        """
        last = self.windows.timestamp[commits.row, -1]
        ahead = (last > before_ms + _SKEW_MS) & (commits.timestamp < last - _SKEW_MS)
        if ahead.any():
            rows = np.unique(commits.row[ahead])
            limit = np.full(len(rows), before_ms + _SKEW_MS)
            self._touch(windows.delete_after(self.windows, rows, limit))

    def expire(self, expiry_ms: int) -> None:
        """Drop windows without a commit, or without one for too long."""
        self._keep(~windows.expired(self.windows, expiry_ms, self.settings.expire_ms))

    def _tp_index(self, topic: Any, partition: Indices) -> Indices:
        """Index of topic partitions in the bucket, UNKNOWN where they are not in it."""
        return _index_in(_tp_key(topic, partition), _tp_key(self.topic, self.partition))

    def _add_tps(self, topic: Any, partition: Indices, topic_id: Any, new: Mask) -> None:
        if not new.any():
            return
        names, numbers = topic.filter(pa.array(new)), partition[new]
        first = np.unique(np.asarray(_tp_key(names, numbers).dictionary_encode().indices), return_index=True)[
            1
        ]
        first.sort()
        index = pa.array(first)
        ids = pa.array([""] * len(first)) if topic_id is None else topic_id.filter(pa.array(new)).take(index)
        self.topic = _joined(self.topic, names.take(index))
        self.partition = np.concatenate([self.partition, numbers[first]])
        self.topic_id = _joined(self.topic_id, ids)
        self.tail = np.concatenate([self.tail, np.full(len(first), UNKNOWN, dtype=np.int64)])
        self.heads = Heads.concat([self.heads, Heads.empty(len(first), self.settings.intervals)])
        never = np.full(len(first), _NEVER_LISTED, dtype=np.int64)
        self.missing = np.concatenate([self.missing, never])
        self.seen = np.concatenate([self.seen, np.zeros(len(first), dtype=np.bool_)])

    def _drop_recreated(self, seen: HeadsSeen, tp: Indices) -> None:
        """A topic that was deleted and created again has another id: its windows and heads belong to the old one."""
        known = np.flatnonzero(tp != UNKNOWN)
        then = self.topic_id.take(pa.array(tp[known]))
        now = seen.topic_id.take(pa.array(known))
        # a missing id proves nothing
        named = pc.and_(pc.not_equal(now, ""), pc.not_equal(then, ""))
        other = np.asarray(pc.and_(named, pc.not_equal(now, then)))
        if other.any():
            again = tp[known][other]
            self._keep(~np.isin(self.tp_of, again))
            for array in self.heads.arrays():
                array[again] = EMPTY
            self.tail[again] = UNKNOWN
        renamed = np.flatnonzero(np.asarray(pc.and_(pc.not_equal(now, ""), pc.not_equal(now, then))))
        if len(renamed):
            ids = self.topic_id.to_pylist()
            for index in renamed.tolist():
                ids[int(tp[known[index]])] = now[index].as_py()
            self.topic_id = pa.array(ids, pa.string())

    def _drop_tps(self, there: Mask) -> None:
        self._keep(there[self.tp_of])
        # the indices of the remaining windows change
        self.touched = None
        moved = np.cumsum(there, dtype=np.int32) - 1
        self.tp_of = moved[self.tp_of].astype(np.int32)
        self.topic, self.topic_id = (names.filter(pa.array(there)) for names in (self.topic, self.topic_id))
        self.partition, self.tail = self.partition[there], self.tail[there]
        self.heads = self.heads.take(np.flatnonzero(there))
        self.missing, self.seen = self.missing[there], self.seen[there]

    def _fill_lags(self, tp: Indices) -> None:
        """Set the lags of windows that waited for a first head."""
        rows = np.flatnonzero(np.isin(self.tp_of, tp))
        waiting = (self.windows.lag[rows] == UNKNOWN) & (self.windows.order[rows] != EMPTY)
        rows = rows[waiting.any(axis=1)]
        if not len(rows):
            return
        head = self.heads.newest_offset[self.tp_of[rows]][:, None]
        waiting = waiting[waiting.any(axis=1)]
        lag = heads.lag_at(head, self.windows.offset[rows])
        for held in (self.windows.lag, self.windows.floor):
            held[rows] = np.where(waiting, lag, held[rows])
        self._touch(rows)

    def _rows(self, group: Any, tp: Indices, opens: Mask) -> Ints:
        """The window of each commit; UNKNOWN where there is none and `opens` is False."""
        wanted = _pair(self._group_index(group), tp)
        held = _pair(self.group_of, self.tp_of)
        row = _find(held, wanted)
        new = np.unique(wanted[(row == UNKNOWN) & opens])
        if len(new):
            self._add_windows((new >> 32).astype(np.int32), (new & 0xFFFFFFFF).astype(np.int32))
            row = _find(np.concatenate([held, new]), wanted)
        return row

    def _consumer_index(self, name: str) -> int:
        """Index of a consumer module; a new one is added."""
        found = _index_in(pa.array([name]), self.consumers)[0]
        if found == UNKNOWN:
            self.consumers = _joined(self.consumers, pa.array([name]))
            return len(self.consumers) - 1
        return int(found)

    def _group_index(self, group: Any) -> Indices:
        """Index of each group; new ones are added."""
        encoded = group.dictionary_encode()
        known = _index_in(encoded.dictionary, self.groups)
        if (known == UNKNOWN).any():
            self.groups = _joined(self.groups, encoded.dictionary.filter(pa.array(known == UNKNOWN)))
            known = _index_in(encoded.dictionary, self.groups)
        numbers: Indices = known[np.asarray(encoded.indices)]
        return numbers

    def _add_windows(self, group: Indices, tp: Indices) -> None:
        self.group_of = np.concatenate([self.group_of, group])
        self.tp_of = np.concatenate([self.tp_of, tp])
        self.consumer_of = np.concatenate([self.consumer_of, np.zeros(len(group), dtype=np.int32)])
        self.windows = Windows.concat([self.windows, Windows.empty(len(group), self.settings.intervals)])

    def _touch(self, rows: Ints) -> None:
        if self.touched is not None and len(rows):
            self.touched.append(rows)

    def _keep(self, keep: Mask) -> None:
        """Drop the other windows, and groups that have none left."""
        if keep.all():
            return
        used, tps = np.unique(self.group_of[keep], return_inverse=True)
        self.group_of = tps.astype(np.int32)
        self.groups = self.groups.take(pa.array(used))
        self.tp_of, self.consumer_of = self.tp_of[keep], self.consumer_of[keep]
        self.windows = self.windows.take(keep)
        self.touched = None


def _names_and_numbers(tps: Sequence[tuple[str, int]]) -> tuple[Sequence[str], Sequence[int]]:
    return [name for name, _ in tps], [number for _, number in tps]


def _pair(group: Indices, tp: Indices) -> Ints:
    """Both as one number."""
    return group.astype(np.int64) << 32 | tp


def _tp_key(topic: Any, partition: Indices) -> Any:
    return pc.binary_join_element_wise(topic, pa.array(partition).cast(pa.string()), _NUL)


def _index_in(values: Any, among: Any) -> Indices:
    """Index of each value in `among`, UNKNOWN where it is not in it."""
    found = pc.fill_null(pc.index_in(values, value_set=among), UNKNOWN)
    return np.asarray(found, dtype=np.int32)


def _find(held: Ints, wanted: Ints) -> Ints:
    """Index of each wanted number in an unsorted array of distinct numbers, UNKNOWN where it is not in it."""
    if not len(held):
        return np.full(len(wanted), UNKNOWN, dtype=np.int64)
    order = np.argsort(held, kind="stable")
    at = np.minimum(np.searchsorted(held, wanted, sorter=order), len(held) - 1)
    row = order[at]
    return np.where(held[row] == wanted, row, UNKNOWN)


def _joined(first: Any, second: Any) -> Any:
    return pa.concat_arrays([first, second.cast(pa.string())])


def _equal(names: Any, name: str) -> Mask:
    """Which of the names are this one."""
    return np.asarray(pc.equal(names, name), dtype=np.bool_)


# the tables of `Heads`
_HEADS: Final = ("look_offset", "look_at_ms", "sample_offset", "sample_at_ms")


def save(bucket: Bucket) -> tuple[bytes, pa.RecordBatch]:
    """The whole bucket: topic partitions, and windows, which are large, as they are."""
    tps = {
        "topic": bucket.topic,
        "partition": bucket.partition,
        "topic_id": bucket.topic_id,
        "tail": bucket.tail,
        "missing": bucket.missing,
    } | {name: _lists(getattr(bucket.heads, name)) for name in _HEADS}
    rows = {
        "group": pa.DictionaryArray.from_arrays(pa.array(bucket.group_of), bucket.groups),
        "consumer": pa.DictionaryArray.from_arrays(pa.array(bucket.consumer_of), bucket.consumers),
        "topic_partition": bucket.tp_of,
    } | {name: _lists(getattr(bucket.windows, name)) for name in FIELDS}
    intervals = {"intervals": str(bucket.settings.intervals)}
    return frames.pack(tps, intervals), pa.record_batch(rows)


def load(settings: WindowSettings, tps: Payload, rows: Payload) -> Bucket:
    """The bucket that was saved; windows of another length are cut or padded to the configured length."""
    held = frames.unpack(rows)
    group, consumer = held.column("group"), held.column("consumer")
    bucket = replace(
        Bucket.empty(settings),
        groups=group.dictionary,
        consumers=consumer.dictionary,
        group_of=np.asarray(group.indices),
        consumer_of=np.array(consumer.indices),
        tp_of=np.asarray(held.column("topic_partition")),
        windows=Windows(*(_table(held, name, settings.intervals) for name in FIELDS)),
    )
    _load_tps(bucket, tps)
    return without_changes(bucket)


def without_changes(bucket: Bucket) -> Bucket:
    """The bucket with its list of changes cleared."""
    bucket.touched, bucket.reported = [], bucket.windows.rows
    return bucket


def _load_tps(bucket: Bucket, tps: Payload) -> None:
    held, intervals = frames.unpack(tps), bucket.settings.intervals
    bucket.topic, bucket.topic_id = held.column("topic"), held.column("topic_id")
    bucket.partition = frames.ints(held, "partition").astype(np.int32)
    bucket.tail = frames.ints(held, "tail").copy()
    bucket.missing = frames.ints(held, "missing").copy()
    bucket.seen = np.zeros(len(bucket.missing), dtype=np.bool_)
    looks, samples = (LOOKS, LOOKS), (intervals, intervals)
    widths = zip(_HEADS, looks + samples, strict=True)
    bucket.heads = Heads(*(_table(held, name, width) for name, width in widths))


def _lists(table: Ints) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), table.shape[1])


def _table(batch: Any, name: str, intervals: int) -> Ints:
    """A column of lists as a writable table of the wanted width, right-aligned."""
    column = batch.column(name)
    width = column.type.list_size
    table: Ints = np.asarray(column.flatten()).reshape(-1, width)
    if width == intervals:
        return table.copy()
    fitted = np.full((len(table), intervals), EMPTY, dtype=np.int64)
    shared = min(width, intervals)
    fitted[:, intervals - shared :] = table[:, width - shared :]
    return fitted


def changes(bucket: Bucket, *, full: bool) -> bytes | None:
    """Windows that changed since the last trigger, new ones with their names; or all of them. None: none did."""
    if full or bucket.touched is None:
        rows, known = np.arange(bucket.windows.rows), 0
    else:
        known = bucket.reported
        added = np.arange(known, bucket.windows.rows)
        rows = np.unique(np.concatenate([*bucket.touched, added]))
        if not len(rows):
            return None
    changed = bucket.windows.take(rows)
    tp = bucket.tp_of[rows]
    new = rows >= known
    names = pa.DictionaryArray.from_arrays(pa.array(bucket.group_of[rows], mask=~new), bucket.groups)
    columns = {
        "row": rows.astype(np.int32),
        "group": _compact(names),
        "topic": bucket.topic.take(pa.array(tp, mask=~new)).dictionary_encode(),
        "consumer": _compact(
            pa.DictionaryArray.from_arrays(pa.array(bucket.consumer_of[rows]), bucket.consumers)
        ),
        "partition": bucket.partition[tp],
        "topic_partition": tp,
    } | {name: _lists(getattr(changed, name)) for name in FIELDS}
    metadata = {"known": str(known), "rows": str(bucket.windows.rows)}
    return frames.pack(columns, metadata, compress=True)


def replay(bucket: Bucket, tps: bytes, changed: bytes) -> None:
    """Apply the recorded changes of a trigger to the bucket from before it."""
    _load_tps(bucket, tps)
    if not changed:
        return
    batch = frames.unpack(changed)
    known, size = (int(frames.metadata(batch)[word]) for word in ("known", "rows"))
    rows = frames.ints(batch, "row").astype(np.int64)
    if size > known:
        fresh = batch.take(pa.array(np.flatnonzero(rows >= known)))
        group = bucket._group_index(fresh.column("group").dictionary_decode())
        bucket._add_windows(group, np.asarray(fresh.column("topic_partition"), dtype=np.int32))
    consumer = batch.column("consumer")
    numbers = np.array(
        [bucket._consumer_index(name) for name in consumer.dictionary.to_pylist()], dtype=np.int32
    )
    bucket.consumer_of[rows] = numbers[np.asarray(consumer.indices)]
    for name in FIELDS:
        getattr(bucket.windows, name)[rows] = _table(batch, name, bucket.settings.intervals)


def _compact(names: Any) -> Any:
    """A dictionary array whose dictionary has only the names that are used."""
    return names.dictionary_decode().dictionary_encode()
