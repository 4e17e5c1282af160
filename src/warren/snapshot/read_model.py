"""The read model of one cluster: the operator's output as arrays, evaluated into a new view in each trigger."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from warren.common import frames
from warren.common.checkpoint import WINDOW_BUCKETS
from warren.common.look import LookTaken
from warren.common.owner import Owner, read_report
from warren.common.sentinels import EMPTY, UNKNOWN
from warren.evaluator.facts import Digest
from warren.evaluator.groups import roll_up
from warren.evaluator.verdict import RuleSettings, digest, judge
from warren.snapshot.moments import PolledHeads, hold_unanswered
from warren.snapshot.structure import Structure, TopicPartitions, arranged
from warren.snapshot.view import ClusterView, WindowArrays
from warren.storage.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from warren.common.request import Request

    Ints = NDArray[np.int64]
    Indices = NDArray[np.int32]

_ENTRIES: Final = ("offset", "timestamp", "observed_at", "lag", "floor")
# unused names that are kept before they are dropped
_SPARE_NAMES: Final = 1_000
# triggers in which the brokers are asked for a topic whose commits were dropped, and topics at most
_UNLISTED_TAKES: Final = 60
_MOST_UNLISTED: Final = 1_000


class Counts(msgspec.Struct):
    """What was read in a trigger."""

    records: int = 0
    denied: int = 0
    # reason: records
    skipped: dict[str, int] = {}


@dataclass(slots=True)
class _Rows:
    """One bucket's windows. Arrays are replaced, never changed: views hold them."""

    group: Indices
    tp: Indices
    # that read the last commit
    consumer: NDArray[np.int16]
    hidden: NDArray[np.bool_]
    windows: WindowArrays
    digest: Digest


class ReadModel:
    """Not thread-safe: the engine holds a lock; the views that it returns are immutable."""

    def __init__(self, cluster: str, rules: RuleSettings) -> None:
        self._cluster = cluster
        self._rules = rules
        # group: its number
        self._groups: dict[str, int] = {}
        self._index: dict[tuple[str, int], int] = {}
        self._topic: list[str] = []
        self._partition = np.empty(0, dtype=np.int32)
        # per tp
        self._head, self._tail, self._lowest = (np.empty(0, dtype=np.int64) for _ in range(3))
        self._there, self._seen = np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.bool_)
        # by bucket: the indices of its topic partitions
        self._bucket_tps: list[Ints] = [np.empty(0, dtype=np.int64)] * WINDOW_BUCKETS
        # by bucket: topic partitions that lists of topics lack
        self._missing: dict[int, list[tuple[str, int]]] = {}
        # topic whose commits were dropped because lists of topics lack it: the last report of that
        self._unlisted: dict[str, int] = {}
        self._takes = 0
        self._rows = [self._no_rows() for _ in range(WINDOW_BUCKETS)]
        self._owners: dict[str, list[Owner]] = {}
        self._topic_names: dict[str, str] = {}
        self._structure: Structure | None = None
        self._digest: Digest | None = None
        # per row of the structure
        self._edges = np.empty((0, 8), dtype=np.int64)
        self._consumer = np.empty(0, dtype=np.int16)
        # consumer: its number
        self._consumers: dict[str, int] = {}
        self._polled_heads = PolledHeads()
        self._pairs: tuple[Ints, Ints] | None = None
        self.counts = Counts()
        self.look = LookTaken(0, "")

    def take(self, rows: Iterable[tuple[int, str, bytes]]) -> None:
        """Take in what a trigger reports."""
        self.counts = Counts()
        self._takes += 1
        # topic partitions first: windows refer to them
        for bucket, kind, payload in sorted(rows, key=lambda row: _RANK[row[1]]):
            match kind:
                case frames.LOOK:
                    self._apply_look(msgspec.json.decode(payload, type=LookTaken))
                case frames.SAMPLES:
                    self._apply_samples(bucket, payload)
                case frames.WINDOWS:
                    self._apply_windows(bucket, payload)
                case frames.OWNERS:
                    changed = read_report(payload)
                    self._owners = {
                        group: owners for group, owners in (self._owners | changed).items() if owners
                    }
                case frames.SKIPPED:
                    self._count(msgspec.json.decode(payload, type=Counts))
        self._polled_heads.see(self.look.polled, self._head, self._lowest)
        recent = [
            (topic, take) for topic, take in self._unlisted.items() if self._takes - take < _UNLISTED_TAKES
        ]
        self._unlisted = dict(recent[-_MOST_UNLISTED:])

    @property
    def missing(self) -> list[tuple[str, int]]:
        """Topic partitions that lists of topics lack: the next poll checks them."""
        dropped = ((topic, 0) for topic in self._unlisted)
        return sorted({*(tp for tps in self._missing.values() for tp in tps), *dropped})

    def hide(self, request: Request) -> None:
        """A delete request that the pipeline will apply: hide these windows until it has."""
        number = self._groups.get(request.group)
        for rows in self._rows:
            hidden = rows.group == number
            if request.topic is not None:
                hidden &= np.array([self._topic[tp] == request.topic for tp in rows.tp], dtype=np.bool_)
            if hidden.any():
                rows.hidden = rows.hidden | hidden
                self._structure = None

    def view(self, number: int, now_ms: int) -> ClusterView:
        """Evaluate everything as of the last poll; `now_ms` is the current time."""
        structure, facts = self._arranged()
        tp, look = structure.tp, self.look
        consumers = tuple(self._consumers)
        moments = self._polled_heads.moments(
            look, self._consumer, consumers, tp, head=self._head, lowest=self._lowest
        )
        if moments is not None:
            hold_unanswered(moments, look.polled, self._consumer, consumers, structure)
        verdict = (
            judge(facts, self._head[tp], self._lowest[tp], look.as_of_ms, self._rules)
            if moments is None
            else judge(facts, moments.head, moments.lowest, moments.now_ms, self._rules)
        )
        partition_count = self._partition_counts(structure)
        return ClusterView(
            self._cluster,
            number,
            now_ms,
            self.look.as_of_ms,
            structure,
            TopicPartitions(self._topic, self._partition),
            self._head.copy(),
            self._tail.copy(),
            self._lowest.copy(),
            self._there.copy(),
            self._seen.copy(),
            self._rules,
            verdict,
            self._edges.copy(),
            facts.entries.copy(),
            roll_up(structure.group, len(structure.groups), verdict, partition_count),
            partition_count,
            tuple(rows.windows for rows in self._rows),
            self._owners,
            self._topic_names,
            self._consumer,
            consumers,
            look.polled,
            moments,
        )

    def _apply_look(self, look: LookTaken) -> None:
        if look.blind and self.look.as_of_ms:
            # groups are not evaluated for a time without data
            look = msgspec.structs.replace(look, as_of_ms=self.look.as_of_ms, polled=self.look.polled)
        self.look = look
        self._polled_heads.see(look.polled, self._head, self._lowest)

    def _apply_samples(self, bucket: int, payload: bytes) -> None:
        """All topic partitions of a bucket; missing ones are removed."""
        batch = frames.unpack(payload)
        self._missing[bucket] = msgspec.json.decode(
            frames.metadata(batch)["missing"], type=list[tuple[str, int]]
        )
        for topic in msgspec.json.decode(frames.metadata(batch)["unlisted"], type=list[str]):
            # the newest at the end
            self._unlisted.pop(topic, None)
            self._unlisted[topic] = self._takes
        tps = self._tp_index(batch.column("topic").to_pylist(), frames.ints(batch, "partition"))
        self._there[self._bucket_tps[bucket]] = False
        self._there[tps] = batch.column("listed").to_numpy(zero_copy_only=False)
        self._seen[tps] = batch.column("seen").to_numpy(zero_copy_only=False)
        self._bucket_tps[bucket] = tps
        for held, name in ((self._head, "head"), (self._tail, "tail")):
            held[tps] = frames.ints(batch, name)
        # while the moment of evaluation stays, so do the samples before it: who was at the head then, was
        stays = self.look.partly_blind & (self._lowest[tps] != UNKNOWN)
        self._lowest[tps] = np.where(stays, self._lowest[tps], frames.ints(batch, "lowest"))
        ids = batch.column("topic_id").to_pylist()
        names = {
            topic_id: self._topic[tp]
            for topic_id, tp in zip(ids, tps.tolist(), strict=True)
            if topic_id and self._topic_names.get(topic_id) != self._topic[tp]
        }
        if names:
            self._topic_names = self._topic_names | names

    def _apply_windows(self, bucket: int, payload: bytes) -> None:
        batch = frames.unpack(payload)
        metadata = frames.metadata(batch)
        known, size = int(metadata["known"]), int(metadata["rows"])
        row = frames.ints(batch, "row").astype(np.int64)
        entries = {name: _table(batch, name) for name in _ENTRIES}
        held = self._rows[bucket]
        if known == 0:
            held = self._no_rows()
        if size > known or known == 0:
            new = np.flatnonzero(row >= known)
            held = self._with_names(held, batch.take(new))
            self._structure = None
        held.windows = WindowArrays(
            *(_replaced(getattr(held.windows, name), size, row, entries[name]) for name in _ENTRIES)
        )
        consumer = self._consumer_numbers(batch.column("consumer"))
        held.consumer = _replaced(held.consumer, size, row, consumer)
        order = np.where(entries["timestamp"] == EMPTY, EMPTY, 0)
        facts = digest(Windows(**entries, order=order), self._rules.allowed_lag)
        held.digest = Digest(
            *(
                _replaced(old, size, row, new)
                for old, new in zip(held.digest.arrays(), facts.arrays(), strict=True)
            )
        )
        self._rows[bucket] = held
        if self._structure is not None and self._digest is not None:
            where = self._structure.where[bucket][row]
            shown = where >= 0
            for mine, new in zip(self._digest.arrays(), facts.arrays(), strict=True):
                mine[where[shown]] = new[shown]
            self._edges[where[shown]] = WindowArrays(**entries).edges(facts.entries)[shown]
            if (self._consumer[where[shown]] != consumer[shown]).any():
                # a new object: views refer to the old one
                self._consumer = self._consumer.copy()
                self._consumer[where[shown]] = consumer[shown]

    def _consumer_numbers(self, names: Any) -> NDArray[np.int16]:
        numbers = [
            self._consumers.setdefault(name, len(self._consumers)) for name in names.dictionary.to_pylist()
        ]
        return np.asarray(np.array(numbers, dtype=np.int16)[np.asarray(names.indices)])

    def _with_names(self, held: _Rows, batch: Any) -> _Rows:
        group = batch.column("group")
        # by index in the dictionary
        numbers = np.array(
            [self._groups.setdefault(name, len(self._groups)) for name in group.dictionary.to_pylist()],
            dtype=np.int32,
        )
        added = numbers[np.asarray(group.indices)]
        topic = batch.column("topic").dictionary_decode().to_pylist()
        tp = self._tp_index(topic, frames.ints(batch, "partition")).astype(np.int32)
        held.group = np.concatenate([held.group, added])
        held.tp = np.concatenate([held.tp, tp])
        held.hidden = np.concatenate([held.hidden, np.zeros(len(added), dtype=np.bool_)])
        return held

    def _tp_index(self, topics: list[str], partitions: Ints) -> Ints:
        """Index of topic partitions (tp); new ones are added."""
        before = len(self._topic)
        found = np.empty(len(topics), dtype=np.int64)
        added: list[tuple[str, int]] = []
        for at, key in enumerate(zip(topics, partitions.tolist(), strict=True)):
            tp = self._index.get(key)
            if tp is None:
                tp = before + len(added)
                added.append(key)
                self._index[key] = tp
            found[at] = tp
        if added:
            # new list objects: views refer to the old ones
            self._topic = self._topic + [topic for topic, _ in added]
            self._partition = np.concatenate(
                [self._partition, np.array([n for _, n in added], dtype=np.int32)]
            )
            more = np.full(len(added), UNKNOWN, dtype=np.int64)
            self._head, self._tail, self._lowest = (
                np.concatenate([each, more]) for each in (self._head, self._tail, self._lowest)
            )
            nothing = np.zeros(len(added), dtype=np.bool_)
            self._there, self._seen = (np.concatenate([each, nothing]) for each in (self._there, self._seen))
        return found

    def _arranged(self) -> tuple[Structure, Digest]:
        """The windows in the order of the view, and their digests in that order."""
        if self._structure is None or self._digest is None:
            self._drop_unused_names()
            self._structure = arranged(
                [rows.group for rows in self._rows],
                [rows.tp for rows in self._rows],
                [rows.hidden for rows in self._rows],
                list(self._groups),
                TopicPartitions(self._topic, self._partition),
            )
            kept = np.concatenate(self._structure.where)
            everything = Digest.concat([rows.digest for rows in self._rows])
            order = np.empty(len(self._structure.row), dtype=np.int64)
            order[kept[kept >= 0]] = np.flatnonzero(kept >= 0)
            self._digest = everything.take(order)
            edges = [rows.windows.edges(rows.digest.entries) for rows in self._rows]
            self._edges = np.concatenate(edges)[order]
            self._consumer = np.concatenate([rows.consumer for rows in self._rows])[order]
            self._pairs = None
        return self._structure, self._digest

    def _drop_unused_names(self) -> None:
        """Drop unused groups and topic partitions, once they are many: a long-running process would collect them."""
        names = list(self._groups)
        used = np.unique(np.concatenate([rows.group for rows in self._rows]))
        if len(names) > 2 * len(used) + _SPARE_NAMES:
            number = np.full(len(names), UNKNOWN, dtype=np.int32)
            number[used] = np.arange(len(used))
            self._groups = {names[old]: new for new, old in enumerate(used.tolist())}
            for rows in self._rows:
                rows.group = number[rows.group]
        kept = self._there.copy()
        kept[np.concatenate([rows.tp for rows in self._rows])] = True
        if len(kept) > 2 * np.count_nonzero(kept) + _SPARE_NAMES:
            self._drop_tps(kept)

    def _drop_tps(self, kept: NDArray[np.bool_]) -> None:
        number = np.cumsum(kept, dtype=np.int64) - 1
        self._topic = [topic for topic, keep in zip(self._topic, kept.tolist(), strict=True) if keep]
        self._partition, self._there, self._seen = self._partition[kept], self._there[kept], self._seen[kept]
        self._head, self._tail, self._lowest = self._head[kept], self._tail[kept], self._lowest[kept]
        keys = zip(self._topic, self._partition.tolist(), strict=True)
        self._index = {key: tp for tp, key in enumerate(keys)}
        self._bucket_tps = [number[tps] for tps in self._bucket_tps]
        self._polled_heads.take(kept)
        for rows in self._rows:
            rows.tp = number[rows.tp].astype(np.int32)
        topics = set(self._topic)
        self._topic_names = {key: topic for key, topic in self._topic_names.items() if topic in topics}

    def _partition_counts(self, structure: Structure) -> Ints:
        """Per group: all partitions of the topics that it has committed to, and others that it has committed to."""
        if self._pairs is None:
            pairs = np.unique(structure.group << 32 | structure.topic)
            self._pairs = pairs >> 32, pairs & 0xFFFFFFFF
        group, topic = self._pairs
        index = {name: number for number, name in enumerate(structure.topics)}
        # per topic: its greatest partition, plus one
        widths = np.zeros(len(structure.topics), dtype=np.int64)
        for at in np.flatnonzero(self._there).tolist():
            number = index.get(self._topic[at])
            if number is not None:
                widths[number] = max(widths[number], self._partition[at] + 1)
        count = np.bincount(group, weights=widths[topic], minlength=len(structure.groups)).astype(np.int64)
        np.add.at(count, structure.group, structure.partition >= widths[structure.topic])
        return count

    def _count(self, counts: Counts) -> None:
        self.counts.records += counts.records
        self.counts.denied += counts.denied
        self.counts.skipped = dict(Counter(self.counts.skipped) + Counter(counts.skipped))

    def _no_rows(self) -> _Rows:
        none = np.empty(0, dtype=np.int32)
        windows = Windows.empty(0, self._rules.intervals)
        arrays = WindowArrays(*(getattr(windows, name) for name in _ENTRIES))
        return _Rows(
            none, none, none.astype(np.int16), np.empty(0, dtype=np.bool_), arrays, digest(windows, 0)
        )


# samples before windows, since windows refer to topic partitions
_RANK: Final = {frames.LOOK: 0, frames.SAMPLES: 1, frames.WINDOWS: 2, frames.OWNERS: 3, frames.SKIPPED: 4}


def _replaced(old: Any, size: int, rows: Ints, new: Any) -> Any:
    """A copy of `old`, grown to `size` rows, with these rows replaced."""
    if len(rows) == size:
        return new
    grown = np.empty((size, *old.shape[1:]), dtype=old.dtype)
    grown[: len(old)] = old
    grown[rows] = new
    return grown


def _table(batch: Any, name: str) -> Ints:
    column = batch.column(name)
    return np.asarray(column.flatten()).reshape(-1, column.type.list_size)
