"""A sample as Prometheus' remote write takes it: the series of `/metrics`, as protobuf, column by column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warren.common.status import Status
from warren.sinks.tables import Tables

_BYTES: Final = pa.large_binary()
# fields of the messages, with their wire types: WriteRequest.timeseries, TimeSeries.labels and .samples, Label.name and
# .value, Sample.value and .timestamp
_TIMESERIES, _LABELS, _SAMPLES, _NAME, _VALUE = b"\x0a", b"\x0a", b"\x12", b"\x0a", b"\x12"
_SAMPLE_VALUE, _SAMPLE_TIME = b"\x09", b"\x10"
_NO_LABEL: Final = re.compile(r"[^a-zA-Z0-9_]")
_OWN: Final = frozenset({"cluster", "consumer_group", "topic", "partition"})


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: the table and column of its values, and its labels with their columns."""

    name: str
    table: str
    column: str
    labels: Mapping[str, str]


_GROUP: Final = {"cluster": "cluster", "consumer_group": "group"}
_TOPIC: Final = {"cluster": "cluster", "topic": "topic", "partition": "partition"}
_WINDOW: Final = _GROUP | _TOPIC
# as on /metrics
FAMILIES: Final = (
    Family("burrow_kafka_consumer_lag_total", "groups", "total_lag", _GROUP),
    Family("burrow_kafka_consumer_status", "groups", "status", _GROUP),
    Family("burrow_kafka_topic_partition_offset", "topics", "head", _TOPIC),
    Family("burrow_kafka_consumer_current_offset", "partitions", "offset", _WINDOW),
    Family("burrow_kafka_consumer_partition_lag", "partitions", "lag", _WINDOW),
    Family("burrow_kafka_topic_partition_status", "partitions", "status", _WINDOW),
)


def requests(tables: Tables, tags: Mapping[str, str], batch_size: int) -> Iterable[tuple[int, bytes]]:
    """Write requests and the number of series in each; every one is of one metric and one cluster."""
    for family in FAMILIES:
        table = getattr(tables, family.table)
        for cluster in pc.unique(table.column("cluster")).to_pylist() if table.num_rows else ():
            own = table.filter(pc.equal(table.column("cluster").cast(pa.string()), cluster))
            encoded = _timeseries(family, own.filter(pc.is_valid(own.column(family.column))), tags)
            for first in range(0, len(encoded), batch_size):
                part = encoded.slice(first, batch_size).to_pylist()
                yield len(part), b"".join(part)


def label_name(name: str) -> str:
    """A name that can be asked for: Prometheus' language has no other letters in labels."""
    name = _NO_LABEL.sub("_", name)
    return f"_{name}" if name[:1].isdigit() else name


def _timeseries(family: Family, table: pa.Table, tags: Mapping[str, str]) -> pa.Array:
    """One per row, as a field of a write request."""
    if not table.num_rows:
        return pa.array([], _BYTES)
    whole = table.unify_dictionaries().combine_chunks()
    columns = {name: whole.column(name).chunk(0) for name in whole.column_names}
    # sorted by name, as the protocol demands; without those that have no value
    named: dict[str, Any] = {"__name__": _constant(_label("__name__", family.name))}
    given = {label_name(name): value for name, value in tags.items()}
    named |= {name: _constant(_label(name, value)) for name, value in given.items() if name not in _OWN}
    named |= {name: _label_column(name, columns[column]) for name, column in family.labels.items()}
    labels = _joined([named[name] for name in sorted(named)])
    sample = _joined([_constant(_SAMPLE_VALUE), _doubles(columns[family.column]), _times(columns["time"])])
    inner = _joined([labels, _constant(_SAMPLES), _lengths(sample), sample])
    return _joined([_constant(_TIMESERIES), _lengths(inner), inner])


def _label_column(name: str, column: pa.Array) -> pa.Array:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return _spelled(coded, [_label(name, str(value)) for value in coded.dictionary.to_pylist()])


def _label(name: str, value: str) -> bytes:
    """A label as a field of a time series; none when it has no value."""
    if not value:
        return b""
    texts = [(_NAME, name.encode()), (_VALUE, value.encode())]
    inner = b"".join(field + _varint(len(text)) + text for field, text in texts)
    return _LABELS + _varint(len(inner)) + inner


def _doubles(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        codes = np.array([Status[name] for name in column.dictionary.to_pylist()], np.int64)
        numbers = codes[column.indices.to_numpy()]
    else:
        numbers = column.to_numpy()
    values = pa.py_buffer(numbers.astype("<f8").tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(8), len(column), [None, values]).cast(_BYTES)


def _times(column: pa.Array) -> pa.Array:
    coded = column.cast(pa.int64()).dictionary_encode()
    return _spelled(coded, [_SAMPLE_TIME + _varint(time) for time in coded.dictionary.to_pylist()])


def _lengths(column: pa.Array) -> pa.Array:
    coded = pc.binary_length(column).dictionary_encode()
    return _spelled(coded, [_varint(length) for length in coded.dictionary.to_pylist()])


def _spelled(coded: pa.DictionaryArray, texts: Sequence[bytes]) -> pa.Array:
    return pa.array(texts, _BYTES).take(coded.indices)


def _joined(pieces: Sequence[Any]) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, _constant(b""))


def _constant(text: bytes) -> pa.Scalar:
    return pa.scalar(text, _BYTES)


def _varint(number: int) -> bytes:
    """Protobuf's whole numbers: seven bits a byte, the lowest first; the highest bit says that more follow."""
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
