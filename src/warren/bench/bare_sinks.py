"""What a short script would write with the same clients: the upper limit for a sink written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from warren.bench.line import BenchError
from warren.config.modules import ElasticsearchSink, KafkaSink, ParquetSink
from warren.sinks import sample

if TYPE_CHECKING:
    from warren.config import AnySink

# writes these samples and returns the number of rows
BareWriter = Callable[[Sequence[Path]], int]


def bare_writer(sink: AnySink) -> BareWriter:
    """For one class of sink, with the settings of the sink it is compared with."""
    match sink:
        case ParquetSink():
            return lambda paths: _parquet(sink, paths)
        case KafkaSink():
            return lambda paths: _kafka(sink, paths)
        case ElasticsearchSink():
            return lambda paths: _elasticsearch(sink, paths)
        case _:
            raise BenchError(f"there is nothing to compare a sink of class {sink.class_name} with")


def _parquet(sink: ParquetSink, paths: Sequence[Path]) -> int:
    rows = 0
    directory = Path(f"{sink.path}-bare")
    directory.mkdir(exist_ok=True)
    for path in paths:
        for name, table in sample.read(path).named().items():
            pq.write_table(
                table, directory / f"{path.stem}-{name}.parquet", compression=sink.compression.upper()
            )
            rows += table.num_rows
    return rows


def _kafka(sink: KafkaSink, paths: Sequence[Path]) -> int:
    from confluent_kafka import Producer  # noqa: PLC0415 - one client per process is enough

    producer = Producer(
        {
            "bootstrap.servers": ",".join(sink.servers),
            "enable.idempotence": True,
            "compression.type": sink.compression,
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    encoder = msgspec.json.Encoder()
    rows = 0
    for row in _rows(paths):
        key = f"{row['cluster']}/{row.get('group') or row['topic']}"
        while True:
            try:
                producer.produce(f"{sink.topic}-bare", encoder.encode(row), key)
                break
            except BufferError:
                producer.poll(0.1)
        rows += 1
        if rows % 10_000 == 0:
            producer.poll(0)
    left = producer.flush(60)
    if left:
        raise BenchError(f"Kafka did not take {left:,} records of the bare script")
    return rows


def _elasticsearch(sink: ElasticsearchSink, paths: Sequence[Path]) -> int:
    from elasticsearch import Elasticsearch, helpers  # noqa: PLC0415 - an extra

    client = Elasticsearch([str(url) for url in sink.urls], request_timeout=60)
    actions = ({"_index": "bench-bare", "_source": row} for row in _rows(paths))
    rows, failed = helpers.bulk(client, actions, chunk_size=sink.batch_size, stats_only=True)
    if failed:
        raise BenchError(f"Elasticsearch did not take {failed:,} documents of the bare script")
    return int(rows)


def _rows(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        for table in sample.read(path).named().values():
            yield from _plain(table).to_pylist()


def _plain(table: pa.Table) -> pa.Table:
    """Times as numbers: one object less for each."""
    numbers = pa.schema(
        [
            field.with_type(pa.int64()) if pa.types.is_timestamp(field.type) else field
            for field in table.schema
        ]
    )
    return table.cast(numbers)
