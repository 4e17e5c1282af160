"""The records that the kafka sink writes: their fields, their keys, and how rows of a sample become JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Meta

from warren.sinks.tables import Tables

Milliseconds = Annotated[int, Meta(ge=0, description="Milliseconds since 1970")]
Code = Annotated[int, Meta(description="OK 1, NOTFOUND 2, WARN 3, ERR 4, STOP 5, STALL 6, REWIND 7")]
# no dict default: the same mapping stands in every record
Tags = Mapping[str, str]

_TO_JSON: Final = msgspec.json.Encoder()


class Group(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="group"):
    """One group."""

    sample: int
    time: Milliseconds
    cluster: str
    group: str
    status: str
    status_code: Code
    complete: float
    partition_count: int
    total_lag: int
    # of the commits
    total_offset: int
    max_lag: int
    max_lag_topic: str | None
    max_lag_partition: int | None
    max_lag_offset: int | None
    max_lag_commit_time: Milliseconds | None
    last_commit_time: Milliseconds | None
    tags: Tags


class Topic(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="topic"):
    """One partition of a topic."""

    sample: int
    time: Milliseconds
    cluster: str
    topic: str
    partition: int
    head: int | None
    tail: int | None
    tags: Tags


class Partition(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="partition"):
    """One partition of a group."""

    sample: int
    time: Milliseconds
    cluster: str
    group: str
    topic: str
    partition: int
    owner: str
    client_id: str
    status: str
    status_code: Code
    complete: float
    lag: int
    offset: int
    commit_time: Milliseconds
    head: int | None
    tags: Tags


# table: its record
KINDS: Final[Mapping[str, Any]] = {
    "groups": Group,
    "topics": Topic,
    "partitions": Partition,
}


class Record(NamedTuple):
    """One record as the producer takes it; no value: a tombstone."""

    key: bytes
    value: bytes | None
    time_ms: int
    headers: Sequence[tuple[str, bytes]] = ()


def key(cluster: str, **names: str | int) -> bytes:
    """JSON with the names in this order: equal names have equal keys, whatever characters they have."""
    return _TO_JSON.encode({"cluster": cluster, **names})


def records(tables: Tables, sample: int, tags: Tags) -> Iterator[Record]:
    """A record for every row."""
    # the same text in every record: made once
    made: Any = msgspec.Raw(_TO_JSON.encode(tags))
    for name, table in tables.named().items():
        kind = KINDS.get(name)
        if kind is not None and table.num_rows:
            yield from _records(kind, table, sample, made)


def _records(kind: Any, table: pa.Table, sample: int, tags: Tags) -> Iterator[Record]:
    # groups and their partitions have the same key: they come in order, in one partition of the topic
    named = "topic" if kind is Topic else "group"
    # between the sample's number and the tags stand the columns
    columns = {field: plain(table.column(field)) for field in kind.__struct_fields__[1:-1]}
    pairs = list(zip(columns["cluster"], columns[named], strict=True))
    keys = {pair: key(pair[0], **{named: pair[1]}) for pair in set(pairs)}
    rows = map(kind, repeat(sample), *columns.values(), repeat(tags))
    return map(Record, map(keys.__getitem__, pairs), map(_TO_JSON.encode, rows), columns["time"])


def plain(column: pa.ChunkedArray) -> Sequence[Any]:
    """Python's values, times in milliseconds; each name of a dictionary is made once."""
    found: list[Any] = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            names = [*chunk.dictionary.to_pylist(), None]
            found += [names[at] for at in chunk.indices.fill_null(-1).to_pylist()]
        elif pa.types.is_timestamp(chunk.type):
            found += chunk.cast(pa.int64()).to_pylist()
        else:
            found += chunk.to_pylist()
    return found
