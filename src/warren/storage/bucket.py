"""The windows and heads of one bucket of topic partitions: pure, everything that happens to them in one trigger."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
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

# a commit's time may differ so much from our clock before one of the two counts as wrong
_SKEW_MS: Final = 60_000
# instead of the lists that it is missing from: a topic partition that no list ever had
_NEVER_LISTED: Final = -1
# of those that are missing, so many are asked for at once
_ASKED: Final = 1_000


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How windows are kept."""

    intervals: int
    min_distance_ms: int
    expire_ms: int
    # how far apart the head samples are that tell whether a consumer was at the head a moment ago
    refresh_ms: int


@dataclass(frozen=True, slots=True)
class HeadsSeen:
    """Heads of a bucket's topic partitions as the brokers gave them in this trigger."""

    topic: Any  # pa.StringArray
    partition: Indices
    # "" where the brokers have none
    topic_id: Any  # pa.StringArray
    # UNKNOWN: the topic partition is there, but nobody could say its head (or tail)
    head: Ints
    tail: Ints
    # by the wall clock, the steady clock and the clock by which things expire: see `warren.clock.LookClock`
    at_ms: int
    steady_ms: int
    expiry_ms: int
    # every topic partition of the bucket is listed. One that is missing may not exist, or be hidden from us for a while
    complete: bool
    # of those that we miss: what the brokers say does not exist, names and partitions
    gone: tuple[Sequence[str], Sequence[int]]

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        said = frames.words(batch)
        return cls(
            batch.column("topic"),
            frames.ints(batch, "partition").astype(np.int32),
            batch.column("topic_id"),
            frames.ints(batch, "head"),
            frames.ints(batch, "tail"),
            int(said["at_ms"]),
            int(said["steady_ms"]),
            int(said["expiry_ms"]),
            said["complete"] == "1",
            _names_and_numbers(json.loads(said["gone"])),
        )


@dataclass(frozen=True, slots=True)
class CommitsSeen:
    """Commits, and tombstones of commits, of a bucket in this trigger."""

    group: Any  # pa.StringArray
    topic: Any  # pa.StringArray
    partition: Indices
    offset: Ints
    # of the slot: when the first of the commits that the reader merged into one was made
    timestamp: Ints
    # when the commit itself was made, whose offset it is: another time where the reader has merged several
    committed_at: Ints
    observed_at: Ints
    order: Ints
    deleted: Mask
    # the consumer module that they came by
    consumer: str
    # by our clock all of them were written after the one and before the other
    after_ms: int
    before_ms: int

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        said = frames.words(batch)
        # dictionary-encoded on the way, since names repeat
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
            said["consumer"],
            int(said["after_ms"]),
            int(said["before_ms"]),
        )

    def __len__(self) -> int:
        return len(self.order)

    def outliving(self, graves: Graves) -> CommitsSeen:
        """The commits that no deletion of their group follows."""
        return self.take(self.order > graves.order_of(self.group))

    def take(self, kept: Mask) -> CommitsSeen:
        return replace(
            self,
            group=self.group.filter(pa.array(kept)),
            topic=self.topic.filter(pa.array(kept)),
            **{name: getattr(self, name)[kept] for name in _COMMIT_ARRAYS},
        )


@dataclass(frozen=True, slots=True)
class Graves:
    """Groups that were deleted, each as often as that happened."""

    group: Any  # pa.StringArray
    # the deletion's place among the group's records
    order: Ints

    @classmethod
    def read(cls, payload: bytes) -> Self:
        batch = frames.unpack(payload)
        return cls(batch.column("group"), frames.ints(batch, "order"))

    def order_of(self, groups: Any) -> Ints:
        """The last deletion of each of these groups, UNKNOWN for those that were not deleted."""
        encoded = self.group.dictionary_encode()
        last = np.full(len(encoded.dictionary) + 1, UNKNOWN, dtype=np.int64)
        np.maximum.at(last, np.asarray(encoded.indices), self.order)
        # groups that are not among them point behind the last one, which is UNKNOWN
        return last[_index_in(groups, encoded.dictionary)]


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
    """Topic partitions, groups, and the windows of the one on the other. Owns its arrays and changes them in place."""

    settings: WindowSettings
    # topic partitions, in the order in which they came
    topic: Any
    partition: Indices
    topic_id: Any
    tail: Ints
    heads: Heads
    # complete lists of topics in a row that it is missing from; 0: it was on the last one
    missing: Ints
    # its head was told in the look of this trigger; not saved
    seen: Mask
    # distinct group names, and names of consumer modules
    groups: Any
    consumers: Any
    # per window: place of its group, of its topic partition, and of the consumer that brought its last commit
    group_of: Indices
    place_of: Indices
    consumer_of: Indices
    windows: Windows
    # rows that changed since the last report; None: rows were removed, so report all
    touched: list[Ints] | None
    # windows at the last report
    reported: int

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
        """Nothing is known of any topic partition."""
        return not len(self.partition)

    @property
    def listed(self) -> Mask:
        """Topic partitions that the brokers have told of; others wait for that, with the commits on them."""
        return np.not_equal(self.missing, _NEVER_LISTED)

    def missed(self) -> list[tuple[str, int]]:
        """Topic partitions that complete lists of topics lack: are they gone, or may we not see them?"""
        at = np.flatnonzero(self.missing != 0)[:_ASKED]
        return list(zip(self.topic.take(pa.array(at)).to_pylist(), self.partition[at].tolist(), strict=True))

    def see_heads(self, seen: HeadsSeen) -> None:
        """Take a look in; topic partitions that are gone, or were made again, take their windows along."""
        self._drop_gone(seen)
        place = self._places(seen.topic, seen.partition)
        if seen.complete:
            there = np.zeros(len(self.partition), dtype=np.bool_)
            there[place[place != UNKNOWN]] = True
            self.missing = np.where(there | ~self.listed, self.missing, self.missing + 1)
        self._start_afresh(seen, place)
        self._add_places(seen.topic, seen.partition, seen.topic_id, place == UNKNOWN)
        place = self._places(seen.topic, seen.partition)
        self.missing[place] = 0
        self.tail[place] = np.where(seen.tail == UNKNOWN, self.tail[place], seen.tail)
        known = seen.head != UNKNOWN
        self.seen = np.zeros(len(self.partition), dtype=np.bool_)
        self.seen[place[known]] = True
        first = place[known & (self.heads.look_at_ms[place, -1] == EMPTY)]
        heads.look_into(
            self.heads,
            place[known].astype(np.int64),
            seen.head[known],
            at_ms=seen.at_ms,
            steady_ms=seen.steady_ms,
            refresh_ms=self.settings.refresh_ms,
        )
        if len(first):
            self._give_lags(first)
        self._doubt_lags(seen.at_ms)

    def _drop_gone(self, seen: HeadsSeen) -> None:
        """Drop what the brokers, asked for it, say does not exist.

        Lists alone are not enough: rights that are taken away for a minute, or a broker that has just started, make
        lists that are too short.
        """
        names, numbers = seen.gone
        if not names:
            return
        place = self._places(pa.array(names, pa.string()), np.array(numbers, dtype=np.int32))
        gone = np.zeros(len(self.partition), dtype=np.bool_)
        gone[place[place != UNKNOWN]] = True
        gone &= self.missing != 0
        if gone.any():
            self._drop_places(~gone)

    def drop_unwatched(self, watched: Watched) -> None:
        """Drop the windows of groups that the lists do not let through any more, and of consumers that are no more."""
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

    def forget(self, requests: Sequence[Request]) -> None:
        """Drop the windows that somebody wants gone."""
        keep = np.ones(self.windows.rows, dtype=np.bool_)
        for request in requests:
            group = _index_in(pa.array([request.group]), self.groups)[0]
            of_group = self.group_of == group
            if request.topic is not None:
                of_group &= _equal(self.topic, request.topic)[self.place_of]
            keep &= ~of_group
        self._keep(keep)

    def bury(self, graves: Graves) -> None:
        """Groups were deleted: their commits before that are gone, later ones stay."""
        order = graves.order_of(self.groups)[self.group_of]
        rows = np.flatnonzero(order != UNKNOWN)
        self._touch(windows.forget_into(self.windows, rows, order[rows]))

    def see_commits(self, seen: CommitsSeen, expiry_ms: int, every_topic_known: bool) -> None:
        """Place commits; those that are too old, or of topic partitions that do not exist, are dropped."""
        seen = seen.take(seen.deleted | (seen.timestamp >= expiry_ms - self.settings.expire_ms))
        place = self._places(seen.topic, seen.partition)
        if (place == UNKNOWN).any():
            if every_topic_known:
                seen, place = seen.take(place != UNKNOWN), place[place != UNKNOWN]
            else:
                # no head yet: the windows wait for it
                self._add_places(seen.topic, seen.partition, None, place == UNKNOWN)
                place = self._places(seen.topic, seen.partition)
        if not len(seen):
            return
        consumer = self._consumer(seen.consumer)
        row = self._rows(seen.group, place, ~seen.deleted)
        buried = seen.deleted & (row != UNKNOWN)
        live = ~seen.deleted
        floor, lag = self._lags(place[live].astype(np.int64), seen.take(live))
        commits = Commits(
            row[live],
            seen.offset[live],
            seen.timestamp[live],
            seen.observed_at[live],
            lag,
            floor,
            seen.order[live],
        )
        if buried.any():
            graves = row[buried], seen.order[buried]
            self._touch(windows.forget_into(self.windows, *graves))
            commits = windows.survivors(commits, *graves)
        self._forget_time_ahead(commits, seen.before_ms)
        changed = windows.place_into(self.windows, commits, self.settings.min_distance_ms)
        self.consumer_of[changed] = consumer
        self._touch(changed)

    def _lags(self, place: Ints, seen: CommitsSeen) -> tuple[Ints, Ints]:
        """How far each commit was behind: at least, and by our best estimate, UNKNOWN where a clock is wrong."""
        # a span that ends before it begins: our clock was set back in it
        set_back = seen.after_ms > seen.before_ms
        span = 0 if set_back else seen.after_ms, seen.before_ms
        before = heads.head_before(self.heads, place, heads.certain(seen.committed_at, *span))
        moment = heads.bracket(seen.committed_at, *span)
        lag = heads.lag_at(heads.head_at(self.heads, place, moment), seen.offset)
        # of what was read late nobody knows when it came, so it is taken at its word
        wrong = (np.abs(seen.committed_at - moment) > _SKEW_MS) & (seen.after_ms > 0)
        # the look of this trigger failed: the last one says nothing of a commit that came after it
        unseen = moment > self.heads.look_at_ms[place, -1]
        return heads.lag_at(before, seen.offset), np.where(wrong | set_back | unseen, UNKNOWN, lag)

    def _doubt_lags(self, at_ms: int) -> None:
        """Entries that were observed at a time that has not come: our clock was ahead, and their lags are not known."""
        rows = np.flatnonzero(self.windows.observed_at[:, -1] > at_ms + _SKEW_MS)
        if len(rows):
            ahead = self.windows.observed_at[rows] > at_ms + _SKEW_MS
            self.windows.lag[rows] = np.where(ahead, UNKNOWN, self.windows.lag[rows])
            self._touch(rows)

    def _forget_time_ahead(self, commits: Commits, before_ms: int) -> None:
        """A broker whose clock was ahead and is right again: its entries are of a time that has not come.

        They would hold their windows until it comes: later commits would all join the last of them. Both clocks must
        say so: the commits step back, and what they step back from is ahead of our own clock.
        """
        last = self.windows.timestamp[commits.row, -1]
        ahead = (last > before_ms + _SKEW_MS) & (commits.timestamp < last - _SKEW_MS)
        if ahead.any():
            rows = np.unique(commits.row[ahead])
            limit = np.full(len(rows), before_ms + _SKEW_MS)
            self._touch(windows.forget_after(self.windows, rows, limit))

    def expire(self, expiry_ms: int) -> None:
        """Drop windows without a commit, or without one for too long."""
        self._keep(~windows.expired(self.windows, expiry_ms, self.settings.expire_ms))

    def _places(self, topic: Any, partition: Indices) -> Indices:
        """Where topic partitions stand in the bucket, UNKNOWN where they do not."""
        return _index_in(_place_key(topic, partition), _place_key(self.topic, self.partition))

    def _add_places(self, topic: Any, partition: Indices, topic_id: Any, new: Mask) -> None:
        if not new.any():
            return
        names, numbers = topic.filter(pa.array(new)), partition[new]
        first = np.unique(
            np.asarray(_place_key(names, numbers).dictionary_encode().indices), return_index=True
        )[1]
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

    def _start_afresh(self, seen: HeadsSeen, place: Indices) -> None:
        """A topic that was deleted and made again has another id: what is known belongs to the old one."""
        known = np.flatnonzero(place != UNKNOWN)
        then = self.topic_id.take(pa.array(place[known]))
        now = seen.topic_id.take(pa.array(known))
        # an id that was not to be had says nothing
        named = pc.and_(pc.not_equal(now, ""), pc.not_equal(then, ""))
        other = np.asarray(pc.and_(named, pc.not_equal(now, then)))
        if other.any():
            again = place[known][other]
            self._keep(~np.isin(self.place_of, again))
            for array in self.heads.arrays():
                array[again] = EMPTY
            self.tail[again] = UNKNOWN
        renamed = np.flatnonzero(np.asarray(pc.and_(pc.not_equal(now, ""), pc.not_equal(now, then))))
        if len(renamed):
            ids = self.topic_id.to_pylist()
            for index in renamed.tolist():
                ids[int(place[known[index]])] = now[index].as_py()
            self.topic_id = pa.array(ids, pa.string())

    def _drop_places(self, there: Mask) -> None:
        self._keep(there[self.place_of])
        # the windows that stay point elsewhere from here on
        self.touched = None
        moved = np.cumsum(there, dtype=np.int32) - 1
        self.place_of = moved[self.place_of].astype(np.int32)
        self.topic, self.topic_id = (names.filter(pa.array(there)) for names in (self.topic, self.topic_id))
        self.partition, self.tail = self.partition[there], self.tail[there]
        self.heads = self.heads.take(np.flatnonzero(there))
        self.missing, self.seen = self.missing[there], self.seen[there]

    def _give_lags(self, place: Indices) -> None:
        """Windows that waited for a first head get their lags."""
        rows = np.flatnonzero(np.isin(self.place_of, place))
        waiting = (self.windows.lag[rows] == UNKNOWN) & (self.windows.order[rows] != EMPTY)
        rows = rows[waiting.any(axis=1)]
        if not len(rows):
            return
        head = self.heads.newest_offset[self.place_of[rows]][:, None]
        waiting = waiting[waiting.any(axis=1)]
        lag = heads.lag_at(head, self.windows.offset[rows])
        for held in (self.windows.lag, self.windows.floor):
            held[rows] = np.where(waiting, lag, held[rows])
        self._touch(rows)

    def _rows(self, group: Any, place: Indices, opens: Mask) -> Ints:
        """The window of each commit; commits that open one get a new row, others UNKNOWN."""
        wanted = self._numbers(group).astype(np.int64) << 32 | place
        held = self.group_of.astype(np.int64) << 32 | self.place_of
        row = _find(held, wanted)
        new = np.unique(wanted[(row == UNKNOWN) & opens])
        if len(new):
            self._add_windows((new >> 32).astype(np.int32), (new & 0xFFFFFFFF).astype(np.int32))
            row = _find(np.concatenate([held, new]), wanted)
        return row

    def _consumer(self, name: str) -> int:
        """The place of a consumer module; a new one gets one."""
        found = _index_in(pa.array([name]), self.consumers)[0]
        if found == UNKNOWN:
            self.consumers = _joined(self.consumers, pa.array([name]))
            return len(self.consumers) - 1
        return int(found)

    def _numbers(self, group: Any) -> Indices:
        """The place of each group; new ones get one."""
        encoded = group.dictionary_encode()
        known = _index_in(encoded.dictionary, self.groups)
        if (known == UNKNOWN).any():
            self.groups = _joined(self.groups, encoded.dictionary.filter(pa.array(known == UNKNOWN)))
            known = _index_in(encoded.dictionary, self.groups)
        numbers: Indices = known[np.asarray(encoded.indices)]
        return numbers

    def _add_windows(self, group: Indices, place: Indices) -> None:
        self.group_of = np.concatenate([self.group_of, group])
        self.place_of = np.concatenate([self.place_of, place])
        self.consumer_of = np.concatenate([self.consumer_of, np.zeros(len(group), dtype=np.int32)])
        self.windows = Windows.concat([self.windows, Windows.empty(len(group), self.settings.intervals)])

    def _touch(self, rows: Ints) -> None:
        if self.touched is not None and len(rows):
            self.touched.append(rows)

    def _keep(self, keep: Mask) -> None:
        """Drop the other windows, and groups that have none left."""
        if keep.all():
            return
        used, places = np.unique(self.group_of[keep], return_inverse=True)
        self.group_of = places.astype(np.int32)
        self.groups = self.groups.take(pa.array(used))
        self.place_of, self.consumer_of = self.place_of[keep], self.consumer_of[keep]
        self.windows = self.windows.take(keep)
        self.touched = None


def _names_and_numbers(places: Sequence[tuple[str, int]]) -> tuple[Sequence[str], Sequence[int]]:
    return [name for name, _ in places], [number for _, number in places]


def _place_key(topic: Any, partition: Indices) -> Any:
    return pc.binary_join_element_wise(topic, pa.array(partition).cast(pa.string()), _NUL)


def _index_in(values: Any, among: Any) -> Indices:
    """Where each value stands among others, UNKNOWN where it does not."""
    found = pc.fill_null(pc.index_in(values, value_set=among), UNKNOWN)
    return np.asarray(found, dtype=np.int32)


def _find(held: Ints, wanted: Ints) -> Ints:
    """The place of each wanted number in an unsorted array without repetition, UNKNOWN where it is not in it."""
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
    places = {
        "topic": bucket.topic,
        "partition": bucket.partition,
        "topic_id": bucket.topic_id,
        "tail": bucket.tail,
        "missing": bucket.missing,
    } | {name: _lists(getattr(bucket.heads, name)) for name in _HEADS}
    rows = {
        "group": pa.DictionaryArray.from_arrays(pa.array(bucket.group_of), bucket.groups),
        "consumer": pa.DictionaryArray.from_arrays(pa.array(bucket.consumer_of), bucket.consumers),
        "place": bucket.place_of,
    } | {name: _lists(getattr(bucket.windows, name)) for name in FIELDS}
    intervals = {"intervals": str(bucket.settings.intervals)}
    return frames.pack(places, intervals), pa.record_batch(rows)


def load(settings: WindowSettings, places: Payload, rows: Payload) -> Bucket:
    """The bucket that was saved; windows of another length are cut or widened to the length wanted now."""
    held = frames.unpack(rows)
    group, consumer = held.column("group"), held.column("consumer")
    bucket = replace(
        Bucket.empty(settings),
        groups=group.dictionary,
        consumers=consumer.dictionary,
        group_of=np.asarray(group.indices),
        consumer_of=np.array(consumer.indices),
        place_of=np.asarray(held.column("place")),
        windows=Windows(*(_table(held, name, settings.intervals) for name in FIELDS)),
    )
    _load_places(bucket, places)
    return settled(bucket)


def settled(bucket: Bucket) -> Bucket:
    """The bucket with everything told: what changes from here on is news."""
    bucket.touched, bucket.reported = [], bucket.windows.rows
    return bucket


def _load_places(bucket: Bucket, places: Payload) -> None:
    held, intervals = frames.unpack(places), bucket.settings.intervals
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
    place = bucket.place_of[rows]
    new = rows >= known
    names = pa.DictionaryArray.from_arrays(pa.array(bucket.group_of[rows], mask=~new), bucket.groups)
    columns = {
        "row": rows.astype(np.int32),
        "group": _compact(names),
        "topic": bucket.topic.take(pa.array(place, mask=~new)).dictionary_encode(),
        "consumer": _compact(
            pa.DictionaryArray.from_arrays(pa.array(bucket.consumer_of[rows]), bucket.consumers)
        ),
        "partition": bucket.partition[place],
        "place": place,
    } | {name: _lists(getattr(changed, name)) for name in FIELDS}
    said = {"known": str(known), "rows": str(bucket.windows.rows)}
    return frames.pack(columns, said, small=True)


def redo(bucket: Bucket, places: bytes, changed: bytes) -> None:
    """Make the changes of a trigger again, in a bucket as it was before it."""
    _load_places(bucket, places)
    if not changed:
        return
    batch = frames.unpack(changed)
    known, size = (int(frames.words(batch)[word]) for word in ("known", "rows"))
    rows = frames.ints(batch, "row").astype(np.int64)
    if size > known:
        fresh = batch.take(pa.array(np.flatnonzero(rows >= known)))
        group = bucket._numbers(fresh.column("group").dictionary_decode())
        bucket._add_windows(group, np.asarray(fresh.column("place"), dtype=np.int32))
    consumer = batch.column("consumer")
    numbers = np.array([bucket._consumer(name) for name in consumer.dictionary.to_pylist()], dtype=np.int32)
    bucket.consumer_of[rows] = numbers[np.asarray(consumer.indices)]
    for name in FIELDS:
        getattr(bucket.windows, name)[rows] = _table(batch, name, bucket.settings.intervals)


def _compact(names: Any) -> Any:
    """A dictionary array whose dictionary has only the names that are used."""
    return names.dictionary_decode().dictionary_encode()
