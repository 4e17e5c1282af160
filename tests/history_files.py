"""A history for tests, written by the sink's own writer: samples of groups and topics with known numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from warren.common.status import Status
from warren.sinks.codes import STATUS_CODES
from warren.sinks.parquet import ParquetWriter
from warren.sinks.tables import SCHEMAS, Tables
from warren.sinks.writer import Batch

# group: status, lag
Groups = dict[str, tuple[str, int]]


@dataclass(frozen=True)
class Sample:
    """One cluster at one moment."""

    at_ms: int
    groups: Groups
    # (topic, partition): head
    heads: dict[tuple[str, int], int] = field(default_factory=dict)
    # (group, topic, partition): offset
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)
    cluster: str = "east"
    # where the members run
    host: str = "host"


def write_history(path: Path, samples: Iterable[Sample], *, compacted: bool = False) -> Path:
    """One file per sample and table, as the sink puts them down; or one per day, as they become later."""
    writer = ParquetWriter("zstd", (("usage", "test"),), path)
    for number, sample in enumerate(samples, 1):
        writer.write(Batch(number, sample.at_ms, tables(sample)))
    for day in path.glob("*/*/*") if compacted else ():
        small = sorted(day.iterdir())
        merged = pa.concat_tables([pq.ParquetFile(each).read() for each in small])
        pq.write_table(merged, day / f"{small[0].stem}_0123456789ab.parquet", store_schema=False)
        for each in small:
            each.unlink()
    return path


def tables(sample: Sample) -> Tables:
    common = {"time": sample.at_ms, "cluster": sample.cluster, "complete": 1.0}
    groups = [
        {
            **common,
            "group": name,
            **_status(status),
            "partition_count": 1,
            "total_lag": lag,
            "max_lag": lag,
        }
        for name, (status, lag) in sample.groups.items()
    ]
    topics = [
        {**common, "topic": topic, "partition": partition, "head": head, "tail": 0}
        for (topic, partition), head in sample.heads.items()
    ]
    partitions = [
        {
            **common,
            "group": group,
            "topic": topic,
            "partition": partition,
            "owner": f"/{sample.host}-{partition}",
            "client_id": "client",
            **_status("OK"),
            "lag": max(sample.heads.get((topic, partition), offset) - offset, 0),
            "offset": offset,
            "commit_time": sample.at_ms,
            "head": sample.heads.get((topic, partition)),
        }
        for (group, topic, partition), offset in sample.offsets.items()
    ]
    return Tables(_table("groups", groups), _table("topics", topics), _table("partitions", partitions))


def _status(status: str) -> dict[str, Any]:
    return {"status": status, "status_code": STATUS_CODES[Status[status]]}


def _table(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    schema = SCHEMAS[name]
    return pa.Table.from_arrays(
        [
            _column(each, [row.get(each.name, 0 if not each.nullable else None) for row in rows])
            for each in schema
        ],
        schema=schema,
    )


def _column(column: pa.Field, values: list[Any]) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return pa.array(values, pa.string()).dictionary_encode()
    if pa.types.is_timestamp(column.type):
        return pa.array(values, pa.int64()).cast(column.type)
    return pa.array(values, column.type)
