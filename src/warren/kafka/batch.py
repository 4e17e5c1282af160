"""A batch of records of the offsets topic as arrays: the commits as columns, the group records as structs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from warren.common.group_records import GroupDeleted, GroupRecord
from warren.kafka import codec, columns, groups, messages
from warren.kafka.columns import FAULTS, BinaryArray, Rows, StringArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warren.kafka.schema import Schema

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

ArrowArray = Any

NO_KEY: Final = "no key"
NEGATIVE_PARTITION: Final = "negative partition"
NO_TOPIC: Final = "empty topic"
# an older record of the same key in the same batch
SUPERSEDED: Final = "superseded group record"

# distinct unknown versions that are counted by name; random bytes must not create 65,000 counters
_NAMED_VERSIONS: Final = 8


@dataclass(frozen=True, slots=True)
class RawRecords:
    """Records as the client gave them, in the order it gave them."""

    # binary arrays of one length; nulls are nulls
    keys: BinaryArray
    values: BinaryArray
    # offset of each record in its partition of the offsets topic
    order: Ints
    # when seen, ms: one for all, or one each
    observed_at: int | Ints

    def __len__(self) -> int:
        return len(self.order)

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values."""
        return int(self.keys.nbytes + self.values.nbytes)

    def part(self, begin: int, end: int) -> RawRecords:
        """Some of the records, in their order."""
        observed_at = self.observed_at if isinstance(self.observed_at, int) else self.observed_at[begin:end]
        count = end - begin
        return RawRecords(
            self.keys.slice(begin, count), self.values.slice(begin, count), self.order[begin:end], observed_at
        )


NO_RECORDS: Final = RawRecords(pa.array([], pa.binary()), pa.array([], pa.binary()), np.empty(0, np.int64), 0)


@dataclass(frozen=True, slots=True)
class CommitKeys:
    """Each (group, topic, partition) once, whatever key versions wrote it."""

    group: StringArray
    topic: StringArray
    partition: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits as columns, in the order of their records."""

    # index in CommitKeys
    key: NDArray[np.int32]
    # 0 in a deletion, as is timestamp
    offset: Ints
    timestamp: Ints
    order: Ints
    observed_at: Ints
    # the commit was deleted: a tombstone
    deleted: Mask

    def take(self, rows: NDArray[np.integer[Any]] | Mask) -> Commits:
        """Some of the commits."""
        return Commits(
            self.key[rows],
            self.offset[rows],
            self.timestamp[rows],
            self.order[rows],
            self.observed_at[rows],
            self.deleted[rows],
        )

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded batch. Every record is in exactly one of commits, groups, skipped and denied."""

    commits: Commits
    keys: CommitKeys
    groups: list[GroupRecord]
    # reason: records; besides, two reasons of records that were used (`groups.READ_IN_PART` and so on)
    skipped: dict[str, int]
    # records of groups that the filter excludes
    denied: int


def decode(records: RawRecords, accept: Callable[[str], bool]) -> Decoded:
    """Decode a batch; `accept` is called once per group. Nothing in the records can make it raise."""
    return _Batch(records, accept).decode()


class _Batch:
    """One call of `decode`: the counters, and the cached results of `accept`."""

    def __init__(self, records: RawRecords, accept: Callable[[str], bool]) -> None:
        self.records = records
        self.accept = accept
        self.verdicts: dict[str, bool] = {}
        self.skipped: Counter[str] = Counter()
        self.denied = 0

    def decode(self) -> Decoded:
        # every distinct key once; -1 for a null key
        encoded = _binary(self.records.keys).dictionary_encode()
        index = _indices(encoded)
        self._count(NO_KEY, int(np.count_nonzero(index < 0)))
        self.keys = encoded.dictionary
        self.index = index
        # records of each distinct key
        self.times = np.bincount(index[index >= 0], minlength=len(self.keys))
        self.values = _binary(self.records.values)
        self.no_value = _nulls(self.values)

        rows = Rows.of(self.keys)
        kind, there = columns.versions(rows)
        self._count(f"{FAULTS[0]} key", int(self.times[~there].sum()))
        self._count_left(kind, there)
        commits, keys = self._commits(rows, kind, there)
        found = self._groups(kind, there)
        return Decoded(commits, keys, found, _named(self.skipped), self.denied)

    def _count_left(self, kind: Ints, there: Mask) -> None:
        """Kinds that are known and not needed, and kinds that are not known."""
        for each, times in _tally(kind[there], self.times[there]):
            known = messages.KINDS.get(each)
            label = f"key version {each}" if known is None else known.skipped_as
            if label is not None:
                self._count(label, times)

    def _commits(self, rows: Rows, kind: Ints, there: Mask) -> tuple[Commits, CommitKeys]:
        position, keys = self._commit_keys(rows, kind, there)
        # -1 for records that are not commits of an accepted group
        key = np.append(position, np.int32(-1))[self.index]
        row = np.flatnonzero(key >= 0)
        if len(row) == len(key):
            deleted, values = self.no_value, Rows.of(self.values)
        else:
            key, deleted, values = key[row], self.no_value[row], Rows.of(self.values).take(row)
        offset, timestamp, good = self._commit_values(values, deleted)
        commits = Commits(
            key,
            offset,
            timestamp,
            np.asarray(self.records.order, np.int64)[row],
            np.broadcast_to(np.asarray(self.records.observed_at, np.int64), len(self.index))[row],
            deleted,
        )
        if good.all():
            return commits, keys
        return _without_unused(commits.take(good), keys)

    def _commit_keys(self, rows: Rows, kind: Ints, there: Mask) -> tuple[NDArray[np.int32], CommitKeys]:
        """For each distinct key its index in the commit keys (-1: none), and the commit keys."""
        schema = messages.COMMIT_KEY
        at = np.flatnonzero(there & (kind >= schema.first) & (kind <= schema.last))
        rows, times = rows.take(at), self.times[at]
        wanted = {field.name for field in schema.fields}
        read = _by_version(schema, rows, kind[at], wanted)
        self._count_faults(read.fault, "key", times)
        good = read.fault == 0
        topic_start, topic_end = read.spans["topic"]
        for reason, impossible in (
            (NEGATIVE_PARTITION, read.values["partition"] < 0),
            (NO_TOPIC, topic_end <= topic_start),
        ):
            self._count(reason, int(times[good & impossible].sum()))
            good &= ~impossible

        group = columns.slices(self.keys, *(end[good] for end in read.spans["group"])).dictionary_encode()
        topic = columns.slices(self.keys, *(end[good] for end in read.spans["topic"])).dictionary_encode()
        partition = read.values["partition"][good]
        at, times = at[good], times[good]
        accepted = np.fromiter(map(self._accepted, group.dictionary.to_pylist()), np.bool_)
        allowed = accepted[group.indices.to_numpy()] if len(at) else np.zeros(0, np.bool_)
        self.denied += int(times[~allowed].sum())
        if not allowed.all():
            group, topic = group.filter(pa.array(allowed)), topic.filter(pa.array(allowed))
            partition, at = partition[allowed], at[allowed]

        first, same = _distinct(_indices(group) * (len(topic.dictionary) + 1) + _indices(topic), partition)
        position = np.full(len(self.keys), -1, np.int32)
        position[at] = same
        keys = CommitKeys(
            group.dictionary.take(group.indices.take(pa.array(first))),
            topic.dictionary.take(topic.indices.take(pa.array(first))),
            partition[first].astype(np.int32),
        )
        return position, keys

    def _commit_values(self, rows: Rows, deleted: Mask) -> tuple[Ints, Ints, Mask]:
        """Offset and timestamp of each row, and whether they could be read; deletions have neither."""
        schema = messages.COMMIT_VALUE
        version, there = columns.versions(rows)
        live = ~deleted
        self._count(f"{FAULTS[0]} value", int(np.count_nonzero(live & ~there)))
        known = live & there & (version >= schema.first) & (version <= schema.last)
        unknown = version[live & there & ~known]
        for each, times in _tally(unknown, np.ones(len(unknown), np.int64)):
            self._count(f"value version {each}", times)
        if known.all():
            read = _by_version(schema, rows, version, {"offset", "timestamp"})
            self._count_faults(read.fault, "value", None)
            return read.values["offset"], read.values["timestamp"], read.fault == 0
        at = np.flatnonzero(known)
        read = _by_version(schema, rows.take(at), version[at], {"offset", "timestamp"})
        self._count_faults(read.fault, "value", None)
        offset, timestamp = np.zeros((2, len(rows)), np.int64)
        whole = read.fault == 0
        offset[at[whole]] = read.values["offset"][whole]
        timestamp[at[whole]] = read.values["timestamp"][whole]
        good = deleted.copy()
        good[at[whole]] = True
        return offset, timestamp, good

    def _groups(self, kind: Ints, there: Mask) -> list[GroupRecord]:
        """Group records in the order of the batch, the superseded ones left out."""
        chosen = there & np.isin(kind, [*_GROUP_RECORDS, _STREAMS_GROUP])
        if not chosen.any():
            return []
        rows = np.flatnonzero(np.append(chosen, False)[self.index])
        rows = rows[np.lexsort((rows, self.records.order[rows], self.index[rows]))]
        found: list[tuple[int, GroupRecord]] = []
        # (kind, group): highest order at which the group was there
        alive: dict[tuple[int, str], int] = {}
        for mine in np.split(rows, np.flatnonzero(np.diff(self.index[rows])) + 1):
            which = int(self.index[mine[0]])
            version = int(kind[which])
            key = codec.decode(messages.KINDS[version].key, self.keys[which].as_py())
            living = mine[~self.no_value[mine]]
            if key.fault is None and len(living):
                seen = version, key.fields["group"]
                alive[seen] = max(alive.get(seen, -1), int(self.records.order[living[-1]]))
            if version == _STREAMS_GROUP:
                continue
            if key.fault is not None:
                self._count(f"{key.fault} key", len(mine))
            elif not self._accepted(key.fields["group"]):
                self.denied += len(mine)
            else:
                found += self._of_one_key(version, key.fields, mine)
        found.sort(key=lambda each: each[0])
        return [_marked(record, alive) for _, record in found]

    def _of_one_key(self, kind: int, key: dict[str, Any], rows: Ints) -> list[tuple[int, GroupRecord]]:
        """Row and record of the newest readable value, and of the last deletion before it."""
        found: list[tuple[int, GroupRecord]] = []
        for position in range(len(rows) - 1, -1, -1):
            row, order = int(rows[position]), int(self.records.order[rows[position]])
            if self.no_value[row]:
                found.append((row, groups.deleted(kind, key, order)))
                self._count(SUPERSEDED, position)
                break
            if found:
                self._count(SUPERSEDED, 1)
                continue
            record = groups.read(kind, key, self.values[row].as_py(), order, self.skipped)
            if record is not None:
                found.append((row, record))
        return found

    def _accepted(self, group: str) -> bool:
        verdict = self.verdicts.get(group)
        if verdict is None:
            verdict = self.verdicts[group] = self.accept(group)
        return verdict

    def _count(self, reason: str, times: int) -> None:
        if times:
            self.skipped[reason] += times

    def _count_faults(self, fault: NDArray[np.uint8], what: str, times: Ints | None) -> None:
        if fault.any():
            counts = np.bincount(fault, weights=times, minlength=len(FAULTS) + 1)[1:]
            for name, count in zip(FAULTS, counts, strict=True):
                self._count(f"{name} {what}", int(count))


# kinds of group records that are read
_GROUP_RECORDS: Final = [
    kind
    for kind, known in messages.KINDS.items()
    if known.value is not None and kind not in messages.COMMIT_KEY.versions
]
# only their existence matters: see `_marked`
_STREAMS_GROUP: Final = 17
# kind of group: the int16 of its key
_GROUP_KINDS: Final = {
    groups.CLASSIC: messages.GROUP_KEY.first,
    groups.CONSUMER: messages.CONSUMER_GROUP_KEY.first,
}


def _marked(record: GroupRecord, alive: dict[tuple[int, str], int]) -> GroupRecord:
    """A deletion that a living record of another protocol follows is a conversion.

    Kafka writes both in one go when a group changes its protocol, and leaves the group's commits in place.
    """
    if not isinstance(record, GroupDeleted):
        return record
    others = {*_GROUP_KINDS.values(), _STREAMS_GROUP} - {_GROUP_KINDS[record.kind]}
    converted = any(alive.get((other, record.group), -1) > record.order for other in others)
    return GroupDeleted(record.group, record.order, record.kind, converted)


def _by_version(schema: Schema, rows: Rows, version: Ints, wanted: set[str]) -> columns.Columns:
    """Read rows of several known versions into the same columns."""
    present = [each for each in schema.versions if np.any(version == each)]
    if len(present) == 1:
        return columns.read(schema, present[0], rows, wanted)
    values = {each.name: np.zeros(len(rows), np.int64) for each in schema.fields if each.name in wanted}
    spans = {name: (rows.start.copy(), rows.start.copy()) for name in values}
    fault = np.zeros(len(rows), np.uint8)
    for each in present:
        at = np.flatnonzero(version == each)
        read = columns.read(schema, each, rows.take(at), wanted)
        fault[at] = read.fault
        for name, column in read.values.items():
            values[name][at] = column
        for name, (start, end) in read.spans.items():
            spans[name][0][at], spans[name][1][at] = start, end
    return columns.Columns(values, spans, fault)


def _distinct(pair: Ints, partition: Ints) -> tuple[Ints, Ints]:
    """First row of each distinct (pair, partition), and for each row its index among them."""
    every = np.arange(len(pair), dtype=np.int64)
    # keys differ by their bytes, so duplicates are rare: one cheap sort of hashes finds them
    mixed = np.sort(pair.astype(np.uint64) * _GOLDEN + partition.astype(np.uint64))
    if not np.any(mixed[1:] == mixed[:-1]):
        return every, every
    by = np.lexsort((every, partition, pair))
    new = np.ones(len(by), np.bool_)
    new[1:] = (pair[by][1:] != pair[by][:-1]) | (partition[by][1:] != partition[by][:-1])
    same = np.empty(len(by), np.int64)
    same[by] = np.cumsum(new) - 1
    return by[new], same


_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


def _without_unused(commits: Commits, keys: CommitKeys) -> tuple[Commits, CommitKeys]:
    """Drop the keys none of whose records could be read."""
    used = np.zeros(len(keys), np.bool_)
    used[commits.key] = True
    position = np.cumsum(used, dtype=np.int32) - np.int32(1)
    mask = pa.array(used)
    kept = CommitKeys(keys.group.filter(mask), keys.topic.filter(mask), keys.partition[used])
    return replace(commits, key=position[commits.key]), kept


def _tally(what: Ints, times: Ints) -> list[tuple[int, int]]:
    """Each int16 that occurs and how often; a table of 65,536 and no loop over the rows."""
    counts = np.bincount(what & 0xFFFF, weights=times, minlength=1 << 16)
    found = np.flatnonzero(counts)
    return list(zip(found.astype(np.int16).tolist(), counts[found].astype(np.int64).tolist(), strict=True))


def _named(skipped: Counter[str]) -> dict[str, int]:
    """The counters, all but the most frequent unknown versions folded into one."""
    named = dict(skipped)
    for what in ("key version ", "value version "):
        versions = [each for each in skipped.most_common() if each[0].startswith(what)]
        folded = versions[_NAMED_VERSIONS:]
        for reason, _ in folded:
            del named[reason]
        if folded:
            named[f"{what}other"] = sum(times for _, times in folded)
    return named


def _binary(array: ArrowArray) -> BinaryArray:
    """A plain binary array from any kind of binary array."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array if array.type == pa.binary() else array.cast(pa.binary())


def _indices(encoded: ArrowArray) -> Ints:
    """Index of each row in its dictionary; -1 for null."""
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    position: Ints = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return position


def _nulls(array: ArrowArray) -> Mask:
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    nulls: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return nulls
