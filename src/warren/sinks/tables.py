"""A cluster's snapshot as three Arrow tables: groups, partitions of groups, partitions of topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.groups import NO_ROW
from warren.sinks.codes import STATUS_CODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.snapshot.view import ClusterView

_TIME: Final = pa.timestamp("ms", tz="UTC")
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
_STATUS: Final = [
    pa.field("status", _NAME, nullable=False),
    pa.field("status_code", pa.int8(), nullable=False),
]
# when it was so, and where
_KEY: Final = [pa.field("time", _TIME, nullable=False), pa.field("cluster", _NAME, nullable=False)]

GROUPS: Final = pa.schema(
    [
        *_KEY,
        pa.field("group", _NAME, nullable=False),
        *_STATUS,
        pa.field("complete", pa.float32(), nullable=False),
        pa.field("partition_count", pa.int32(), nullable=False),
        pa.field("total_lag", pa.int64(), nullable=False),
        # sum of the partitions' last commits: its growth is what the group consumes
        pa.field("total_offset", pa.int64(), nullable=False),
        # of the partition with the greatest lag
        pa.field("max_lag", pa.int64(), nullable=False),
        pa.field("max_lag_topic", _NAME),
        pa.field("max_lag_partition", pa.int32()),
        pa.field("max_lag_offset", pa.int64()),
        pa.field("max_lag_commit_time", _TIME),
        # of all partitions
        pa.field("last_commit_time", _TIME),
    ]
)
PARTITIONS: Final = pa.schema(
    [
        *_KEY,
        pa.field("group", _NAME, nullable=False),
        pa.field("topic", _NAME, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("owner", _NAME, nullable=False),
        pa.field("client_id", _NAME, nullable=False),
        *_STATUS,
        pa.field("complete", pa.float32(), nullable=False),
        pa.field("lag", pa.int64(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("commit_time", _TIME, nullable=False),
        pa.field("head", pa.int64()),
    ]
)
TOPICS: Final = pa.schema(
    [
        *_KEY,
        pa.field("topic", _NAME, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("head", pa.int64()),
        pa.field("tail", pa.int64()),
    ]
)
# of every partition of a group that is not OK: why, and its window, as they were when its status became what it is
REASONS: Final = pa.schema(
    [
        *_KEY,
        pa.field("group", _NAME, nullable=False),
        pa.field("topic", _NAME, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("rule", pa.string()),
        pa.field("because", pa.string()),
        pa.field(
            "window",
            pa.list_(pa.struct([("offset", pa.int64()), ("timestamp", pa.int64()), ("lag", pa.int64())])),
        ),
    ]
)
# name: schema, in the order in which they stand in a sample
SCHEMAS: Final = {"groups": GROUPS, "topics": TOPICS, "partitions": PARTITIONS, "reasons": REASONS}

_STATUSES: Final = pa.array([status.name for status in Status])
_CODES: Final = np.array([STATUS_CODES[status] for status in Status], dtype=np.int8)


@dataclass(frozen=True, slots=True)
class Tables:
    """One moment of one cluster, or of several put together; an empty table where a sink does not want it."""

    groups: pa.Table
    topics: pa.Table
    partitions: pa.Table
    # empty, too, when no sink wants it
    reasons: pa.Table = field(default_factory=REASONS.empty_table)

    def named(self) -> dict[str, pa.Table]:
        """Name: table."""
        return {name: getattr(self, name) for name in SCHEMAS}

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.named().values())


def joined(parts: Sequence[Tables]) -> Tables:
    """The tables of several clusters as one."""
    return Tables(
        **{
            name: pa.concat_tables([getattr(each, name) for each in parts])
            if parts
            else SCHEMAS[name].empty_table()
            for name in SCHEMAS
        }
    )


class Tabulator:
    """Makes the tables of one cluster's snapshots; keeps what does not change from one to the next."""

    def __init__(self, *, with_reasons: bool = False) -> None:
        self._reasons = Reasons() if with_reasons else None
        # what the owners' columns were made from, and the columns
        self._owned: tuple[Any, ...] = ()
        self._owners: tuple[pa.Array, pa.Array] | None = None

    def tables(self, view: ClusterView) -> Tables:
        reasons = REASONS.empty_table() if self._reasons is None else self._reasons.table(view)
        return Tables(_groups(view), _topics(view), self._partitions(view), reasons)

    def _partitions(self, view: ClusterView) -> pa.Table:
        structure, rows = view.structure, len(view.structure.group)
        owner, client_id = self._owner_columns(view)
        return _table(
            PARTITIONS,
            **_keys(view, rows),
            group=_names(structure.group, structure.groups),
            topic=_names(structure.topic, structure.topics),
            partition=structure.partition,
            owner=owner,
            client_id=client_id,
            **_statuses(view.verdict.status),
            complete=view.verdict.complete,
            lag=view.verdict.current_lag,
            offset=view.last_offset,
            commit_time=view.last_timestamp,
            head=_known(view.head[structure.tp]),
        )

    def _owner_columns(self, view: ClusterView) -> tuple[pa.Array, pa.Array]:
        made_from = (view.structure, view.owners, view.topic_names)
        if self._owners is None or any(
            old is not new for old, new in zip(self._owned, made_from, strict=True)
        ):
            self._owned, self._owners = made_from, _owners(view)
        return self._owners


class Reasons:
    """Why partitions are not OK. A sentence is made once, when the status becomes what it is."""

    def __init__(self) -> None:
        # group, topic and partition: its status, and the sentence's row
        self._known: dict[tuple[str, str, int], tuple[int, dict[str, Any]]] = {}

    def table(self, view: ClusterView) -> pa.Table:
        structure = view.structure
        rows = np.flatnonzero(view.verdict.status > Status.OK)
        keys = [
            (structure.groups[group], structure.topics[topic], partition)
            for group, topic, partition in zip(
                structure.group[rows].tolist(),
                structure.topic[rows].tolist(),
                structure.partition[rows].tolist(),
                strict=True,
            )
        ]
        status = view.verdict.status[rows].tolist()
        known = {
            key: found
            for key, each in zip(keys, status, strict=True)
            if (found := self._known.get(key)) is not None and found[0] == each
        }
        for group in {key[0] for key in keys if key not in known}:
            made = _reasons_of(view, group)
            known |= {key: made[key] for key in keys if key in made and key not in known}
        self._known = known
        moment = {"time": view.as_of_ms, "cluster": view.name}
        found_rows = [moment | known[key][1] for key in keys if key in known]
        return pa.Table.from_pylist(found_rows, schema=REASONS)


def _reasons_of(view: ClusterView, group: str) -> dict[tuple[str, str, int], tuple[int, dict[str, Any]]]:
    """Of the partitions of one group that are not OK."""
    status, detail = view.group(group), view.detail(group)
    if status is None or detail is None:
        return {}
    found: dict[tuple[str, str, int], tuple[int, dict[str, Any]]] = {}
    for one in view.explained(status).partitions:
        if one.status > Status.OK:
            offsets = (
                detail[one.topic][one.partition].offsets if one.partition < len(detail[one.topic]) else ()
            )
            window = [
                {"offset": each.offset, "timestamp": each.timestamp, "lag": each.lag}
                for each in offsets
                if each is not None
            ]
            names = {"group": group, "topic": one.topic, "partition": one.partition}
            row = names | {"rule": one.rule, "because": one.because, "window": window}
            found[group, one.topic, one.partition] = (int(one.status), row)
    return found


def _groups(view: ClusterView) -> pa.Table:
    structure = view.structure
    rolled = view.group_table()
    worst = view.rolled.maxlag
    none = worst == NO_ROW
    row = np.where(none, 0, worst)
    some = len(structure.group) > 0

    def of_worst(column: NDArray[Any]) -> pa.Array:
        return pa.array(column[row] if some else np.zeros(len(row), column.dtype), mask=none)

    return _table(
        GROUPS,
        **_keys(view, len(structure.groups)),
        group=_names(np.arange(len(structure.groups)), structure.groups),
        **_statuses(rolled.status),
        complete=rolled.complete,
        partition_count=rolled.partition_count,
        total_lag=rolled.totallag,
        total_offset=np.add.reduceat(view.last_offset, structure.begin[:-1])
        if some
        else np.zeros(len(structure.groups), np.int64),
        max_lag=rolled.maxlag,
        max_lag_topic=_names(of_worst(structure.topic), structure.topics),
        max_lag_partition=of_worst(structure.partition),
        max_lag_offset=of_worst(view.last_offset),
        max_lag_commit_time=of_worst(view.last_timestamp),
        last_commit_time=rolled.last_commit,
    )


def _topics(view: ClusterView) -> pa.Table:
    there = np.flatnonzero(view.there)
    topics = pa.array([view.tps.topic[at] for at in there.tolist()], pa.string())
    return _table(
        TOPICS,
        **_keys(view, len(there)),
        topic=topics.dictionary_encode(),
        partition=view.tps.partition[there],
        head=_known(view.head[there]),
        tail=_known(view.tail[there]),
    )


def _owners(view: ClusterView) -> tuple[pa.Array, pa.Array]:
    """Owner and client id of every window."""
    structure = view.structure
    # owner: its number; nobody is the first
    numbers: dict[tuple[str, str], int] = {("", ""): 0}
    found = np.zeros(len(structure.group), dtype=np.int32)
    topic_index = {name: number for number, name in enumerate(structure.topics)}
    for group, owners in view.owners.items():
        at = structure.index.get(group)
        if at is None:
            continue
        rows = structure.rows(at)
        row_of = {
            key: rows.start + number
            for number, key in enumerate(
                zip(structure.topic[rows].tolist(), structure.partition[rows].tolist(), strict=True)
            )
        }
        for each in owners:
            topic = topic_index.get(view.topic_names.get(each.topic, each.topic), -1)
            row = row_of.get((topic, each.partition))
            if row is not None:
                found[row] = numbers.setdefault((each.owner, each.client_id), len(numbers))
    names, ids = zip(*numbers, strict=True)
    return _names(found, names), _names(found, ids)


def _keys(view: ClusterView, rows: int) -> dict[str, Any]:
    return {
        "time": np.full(rows, view.as_of_ms),
        "cluster": _names(np.zeros(rows, dtype=np.int32), (view.name,)),
    }


def _statuses(status: NDArray[Any]) -> dict[str, Any]:
    return {"status": _names(status, _STATUSES), "status_code": _CODES[status]}


def _names(indices: Any, names: Sequence[str] | pa.Array) -> pa.Array:
    held = names if isinstance(names, pa.Array) else pa.array(names, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(indices).cast(pa.int32()), held)


def _known(values: NDArray[Any]) -> pa.Array:
    return pa.array(values, mask=values == UNKNOWN)


def _table(schema: pa.Schema, **columns: Any) -> pa.Table:
    arrays = [
        column if pa.types.is_dictionary(column.type) else column.cast(field.type)
        for field in schema
        for column in [_array(columns[field.name])]
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(column: Any) -> pa.Array:
    return column if isinstance(column, pa.Array) else pa.array(column)
