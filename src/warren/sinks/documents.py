"""Documents as Telegraf's elasticsearch output writes them, from the tables of a sample."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from warren.sinks.tables import Tables

GROUP: Final = "burrow_group"
PARTITION: Final = "burrow_partition"
TOPIC: Final = "burrow_topic"

# rows that are Python objects at a time
_SLICE: Final = 10_000
_encode: Final = msgspec.json.Encoder().encode


class Document(NamedTuple):
    """What one row becomes."""

    index_name: str
    # the same for the same row, always
    id: str
    # JSON
    source: bytes


@dataclass(frozen=True, slots=True)
class _Moment:
    """The time of a row, as it is written."""

    text: str
    index: str


def documents_of(tables: Tables, index: str, tags: Mapping[str, str]) -> Iterator[Document]:
    """A document for each row, into the index that the row's day has (`index`: with strftime directives)."""
    yield from _group_documents(tables.groups, index, tags)
    yield from _topic_documents(tables.topics, index, tags)
    yield from _partition_documents(tables.partitions, index, tags)


def index_at(index: str, time_ms: int) -> str:
    """The index of a moment; its day is UTC's."""
    return dt.datetime.fromtimestamp(time_ms / 1000, dt.UTC).strftime(index)


def document_id(*key: str | int) -> str:
    """Of what a row is about (measurement, names, partition) and when: a row that is written again has the same."""
    return hashlib.sha1(_encode(key), usedforsecurity=False).hexdigest()


def _group_documents(table: pa.Table, index: str, tags: Mapping[str, str]) -> Iterator[Document]:
    names = ("cluster", "group", "status", "status_code", "partition_count", "total_lag", "max_lag")
    for time, moment, cluster, group, status, code, count, total, lag, offset, committed in _rows(
        table, index, (*names, "total_offset", "last_commit_time")
    ):
        source = {
            "@timestamp": moment.text,
            "measurement_name": GROUP,
            "tag": {**tags, "cluster": cluster, "group": group},
            GROUP: {
                "status": status,
                "status_code": code,
                "partition_count": count,
                "total_lag": total,
                "lag": lag,
                "offset": offset,
                # Telegraf's for a group without commits
                "timestamp": committed or 0,
            },
        }
        yield Document(moment.index, document_id(GROUP, cluster, group, time), _encode(source))


def _topic_documents(table: pa.Table, index: str, tags: Mapping[str, str]) -> Iterator[Document]:
    # Burrow's API does not have heads that nobody knows yet
    known = table.filter(pc.is_valid(table.column("head")))
    for time, moment, cluster, topic, partition, head in _rows(
        known, index, ("cluster", "topic", "partition", "head")
    ):
        source = {
            "@timestamp": moment.text,
            "measurement_name": TOPIC,
            "tag": {**tags, "cluster": cluster, "topic": topic, "partition": str(partition)},
            TOPIC: {"offset": head},
        }
        yield Document(moment.index, document_id(TOPIC, cluster, topic, partition, time), _encode(source))


def _partition_documents(table: pa.Table, index: str, tags: Mapping[str, str]) -> Iterator[Document]:
    names = ("cluster", "group", "topic", "partition", "owner", "status", "status_code", "lag", "offset")
    for time, moment, cluster, group, topic, partition, owner, status, code, lag, offset, committed in _rows(
        table, index, (*names, "commit_time")
    ):
        source = {
            "@timestamp": moment.text,
            "measurement_name": PARTITION,
            "tag": {
                **tags,
                "cluster": cluster,
                "group": group,
                "topic": topic,
                "partition": str(partition),
                "owner": owner,
            },
            PARTITION: {
                "status": status,
                "status_code": code,
                "lag": lag,
                "offset": offset,
                "timestamp": committed,
            },
        }
        id_ = document_id(PARTITION, cluster, group, topic, partition, time)
        yield Document(moment.index, id_, _encode(source))


def _rows(table: pa.Table, index: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Time in milliseconds, its moment, and the columns, row by row."""
    for batch in table.select(["time", *names]).to_batches(max_chunksize=_SLICE):
        times, *columns = (_values(column) for column in batch.columns)
        moments = {time: _Moment(_text(time), index_at(index, time)) for time in set(times)}
        yield from zip(times, map(moments.__getitem__, times), *columns, strict=True)


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        # each name becomes a Python object once
        names = column.dictionary.to_pylist()
        return [names[at] for at in column.indices.to_pylist()]
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]


def _text(time_ms: int) -> str:
    moment = dt.datetime.fromtimestamp(time_ms // 1000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"
