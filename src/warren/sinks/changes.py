"""Which verdicts have changed: from a sample and what is known of the last one to records of a changelog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from warren.sinks.kafka_records import Code, Milliseconds, Record, Tags, key, plain
from warren.sinks.tables import Tables

# cluster and group, and for the verdict on a partition its topic and number
Key = tuple[str, str] | tuple[str, str, str, int]
# which verdict: its status
State = dict[Key, str]

# partitions that stand in the record of a group, the worst first
MAX_PARTITIONS: Final = 20
_OK: Final = "OK"
_TO_JSON: Final = msgspec.json.Encoder()
_Before = Annotated[str | None, Meta(description="Null: there was no verdict before")]


class WindowEntry(msgspec.Struct, frozen=True):
    """One commit of a window."""

    offset: int
    timestamp: Milliseconds
    lag: int | None


class Reason(msgspec.Struct, frozen=True):
    """Why a partition is not OK, as of the moment at which its status became what it is."""

    topic: str
    partition: int
    status: str
    lag: int
    rule: str | None
    because: str | None
    window: Sequence[WindowEntry]


class GroupChange(msgspec.Struct, frozen=True, tag_field="kind", tag="group_change"):
    """The status of a group changed at this time."""

    sample: int
    time: Milliseconds
    cluster: str
    group: str
    status: str
    status_code: Code
    status_before: _Before
    total_lag: int
    partition_count: int
    partitions_not_ok: int
    # the worst
    partitions: Sequence[Reason]
    tags: Tags


class PartitionChange(msgspec.Struct, frozen=True, tag_field="kind", tag="partition_change"):
    """The status of a partition of a group changed at this time."""

    sample: int
    time: Milliseconds
    cluster: str
    group: str
    topic: str
    partition: int
    status: str
    status_code: Code
    status_before: _Before
    lag: int
    offset: int
    head: int | None
    owner: str
    client_id: str
    # null and empty: it is OK
    rule: str | None
    because: str | None
    window: Sequence[WindowEntry]
    tags: Tags


def changed(tables: Tables, before: State, sample: int, tags: Tags) -> tuple[list[Record], State]:
    """The records of what is not as before, tombstones of what is gone, and the state after them.

    A cluster that is not in the sample has not been seen, and stays as it was.
    """
    return _Comparison(tables, before, sample, tags).result()


def record_key(name: Key) -> bytes:
    """The key of a verdict's records."""
    if len(name) == 2:
        return key(name[0], group=name[1])
    return key(name[0], group=name[1], topic=name[2], partition=name[3])


def applied(state: State, found: bytes | None, value: bytes | None) -> None:
    """Note what a record of the changelog says; one that is not ours says nothing."""
    try:
        names: Any = msgspec.json.decode(found or b"")
        verdict: Any = None if value is None else msgspec.json.decode(value)
        name: Key = (
            (names["cluster"], names["group"], names["topic"], names["partition"])
            if "topic" in names
            else (names["cluster"], names["group"])
        )
        if verdict is None:
            state.pop(name, None)
        else:
            state[name] = verdict["status"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return


# column: its values, row by row
_Columns = Mapping[str, Sequence[Any]]
# rule, sentence and window; of a partition that is OK none
_Why = tuple[str | None, str | None, list[WindowEntry]]


class _Comparison:
    """One sample with what is known of the one before."""

    def __init__(self, tables: Tables, before: State, sample: int, tags: Tags) -> None:
        self._before = before
        self._sample = sample
        self._tags = tags
        self._groups = _columns(tables, "groups")
        self._partitions = _columns(tables, "partitions")
        self._reasons = _columns(tables, "reasons")
        # cluster: the moment it was seen
        self._seen: dict[str, int] = {}
        for name in ("topics", "groups"):
            columns = _columns(tables, name, ("cluster", "time"))
            self._seen.update(zip(columns["cluster"], columns["time"], strict=True))

    def result(self) -> tuple[list[Record], State]:
        after: State = {name: status for name, status in self._before.items() if name[0] not in self._seen}
        groups, partitions = self._groups, self._partitions
        new_groups = self._new(after, _names(groups, "cluster", "group"), groups["status"])
        names = _names(partitions, "cluster", "group", "topic", "partition")
        new_partitions = self._new(after, names, partitions["status"])
        found = [*self._group_records(new_groups), *self._partition_records(new_partitions)]
        gone = [name for name in self._before if name not in after]
        found += [self._record(name, None) for name in gone]
        return found, after

    def _new(self, after: State, names: Iterable[Key], statuses: Iterable[str]) -> list[int]:
        """The rows whose status is another than before."""
        rows = []
        for row, (name, status) in enumerate(zip(names, statuses, strict=True)):
            after[name] = status
            if self._before.get(name) != status:
                rows.append(row)
        return rows

    def _group_records(self, rows: Sequence[int]) -> Iterator[Record]:
        bad = self._bad() if rows else {}
        groups, partitions = self._groups, self._partitions
        for row in rows:
            name = (groups["cluster"][row], groups["group"][row])
            worst = sorted(
                bad.get(name, ()), key=lambda at: (-partitions["status_code"][at], -partitions["lag"][at])
            )
            yield self._record(
                name,
                GroupChange(
                    self._sample,
                    groups["time"][row],
                    *name,
                    groups["status"][row],
                    groups["status_code"][row],
                    self._before.get(name),
                    groups["total_lag"][row],
                    groups["partition_count"][row],
                    len(worst),
                    [self._reason(at) for at in worst[:MAX_PARTITIONS]],
                    self._tags,
                ),
            )

    def _partition_records(self, rows: Sequence[int]) -> Iterator[Record]:
        for at in rows:
            row = {column: values[at] for column, values in self._partitions.items()}
            name = (row["cluster"], row["group"], row["topic"], row["partition"])
            rule, because, window = self._why.get(name, (None, None, []))
            yield self._record(
                name,
                PartitionChange(
                    self._sample,
                    row["time"],
                    *name,
                    row["status"],
                    row["status_code"],
                    self._before.get(name),
                    row["lag"],
                    row["offset"],
                    row["head"],
                    row["owner"],
                    row["client_id"],
                    rule,
                    because,
                    window,
                    self._tags,
                ),
            )

    def _record(self, name: Key, change: GroupChange | PartitionChange | None) -> Record:
        """No change: a tombstone."""
        value = None if change is None else _TO_JSON.encode(change)
        headers = (("sample", str(self._sample).encode()),)
        return Record(record_key(name), value, self._seen[name[0]], headers)

    def _bad(self) -> dict[tuple[str, str], list[int]]:
        """Cluster and group: rows of the partitions that are not OK."""
        found: dict[tuple[str, str], list[int]] = {}
        names = _names(self._partitions, "cluster", "group")
        for row, (name, status) in enumerate(zip(names, self._partitions["status"], strict=True)):
            if status != _OK:
                found.setdefault(name, []).append(row)
        return found

    def _reason(self, row: int) -> Reason:
        cluster, group, topic, partition, status, lag = (
            self._partitions[column][row]
            for column in ("cluster", "group", "topic", "partition", "status", "lag")
        )
        rule, because, window = self._why.get((cluster, group, topic, partition), (None, None, []))
        return Reason(topic, partition, status, lag, rule, because, window)

    @cached_property
    def _why(self) -> dict[Key, _Why]:
        rows = self._reasons
        return {
            name: (rule, because, [WindowEntry(**entry) for entry in window])
            for name, rule, because, window in zip(
                _names(rows, "cluster", "group", "topic", "partition"),
                rows["rule"],
                rows["because"],
                rows["window"],
                strict=True,
            )
        }


def _columns(tables: Tables, name: str, wanted: Sequence[str] = ()) -> _Columns:
    table = tables.named()[name]
    return {column: plain(table.column(column)) for column in wanted or table.column_names}


def _names(columns: _Columns, *wanted: str) -> Iterator[Any]:
    return zip(*(columns[column] for column in wanted), strict=True)
