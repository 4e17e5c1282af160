"""Random messages by their tables, and random batches of records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from warren.kafka import codec, messages
from warren.kafka.batch import RawRecords
from warren.kafka.schema import Array, Blob, Field, Scalar, Schema, Struct, Text, Type

SCHEMAS = [
    messages.COMMIT_KEY,
    messages.GROUP_KEY,
    messages.CONSUMER_GROUP_KEY,
    messages.CONSUMER_MEMBER_KEY,
    messages.CURRENT_ASSIGNMENT_KEY,
    *(kind.key for kind in messages.KINDS.values() if kind.skipped_as is not None),
    messages.COMMIT_VALUE,
    messages.GROUP_VALUE,
    messages.ASSIGNMENT,
    messages.CONSUMER_GROUP_VALUE,
    messages.CONSUMER_MEMBER_VALUE,
    messages.CURRENT_ASSIGNMENT_VALUE,
]

# every message in every version
VERSIONS = [(schema, version) for schema in SCHEMAS for version in schema.versions]

# key and value of a record
Pair = tuple[bytes | None, bytes | None]


def fields(schema: Schema, version: int) -> st.SearchStrategy[dict[str, Any]]:
    """What can stand in a message of this version, all fields given."""
    return _struct(schema.body, version)


def _struct(kind: Struct, version: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {each.name: _field(each, version) for each in kind.fields if each.present(version)}
    )


def _field(each: Field, version: int) -> st.SearchStrategy[Any]:
    values = _value(each.type, version)
    return st.none() | values if each.nullable(version) else values


def _value(kind: Type, version: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, Scalar):
        if kind.name == "uuid":
            return st.binary(min_size=16, max_size=16)
        bound = 1 << (8 * kind.size - 1)
        return st.integers(-bound, bound - 1)
    if isinstance(kind, Text):
        # lengths round 127, where a compact length becomes two bytes
        return st.text(max_size=5) | st.integers(120, 135).map("x".__mul__)
    if isinstance(kind, Blob):
        return st.binary(max_size=5) | st.integers(120, 135).map(bytes)
    if isinstance(kind, Array):
        return st.lists(_value(kind.of, version), max_size=3)
    return _struct(kind, version)


def message(schema: Schema) -> st.SearchStrategy[bytes]:
    """A whole message of any version, as bytes."""
    return st.sampled_from(schema.versions).flatmap(
        lambda version: fields(schema, version).map(lambda given: codec.encode(schema, version, given))
    )


def commit_keys() -> st.SearchStrategy[bytes]:
    """Few distinct commits, so that keys come back, in both key versions."""
    given = st.fixed_dictionaries(
        {
            "group": st.sampled_from(["g", "grün", ""]),
            "topic": st.sampled_from(["t", "u"]),
            "partition": st.integers(-1, 1),
        }
    )
    return st.builds(
        lambda version, body: codec.encode(messages.COMMIT_KEY, version, body), st.integers(0, 1), given
    )


def broken(whole: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """A message cut short, grown, or with a byte changed."""
    return st.one_of(
        st.builds(lambda data, cut: data[:cut], whole, st.integers(0, 40)),
        st.builds(lambda data, more: data + more, whole, st.binary(max_size=3)),
        st.builds(_changed, whole, st.integers(0), st.integers(0, 255)),
    )


def _changed(data: bytes, place: int, byte: int) -> bytes:
    place %= len(data) or 1
    return data[:place] + bytes([byte]) + data[place + 1 :]


def commits() -> st.SearchStrategy[Pair]:
    """Commits and their deletions, whole and broken."""
    key, value = commit_keys(), message(messages.COMMIT_VALUE)
    return st.tuples(key | broken(key), st.none() | value | broken(value))


def pairs() -> st.SearchStrategy[Pair]:
    """Records of every kind, whole, broken and random."""
    group_records: list[st.SearchStrategy[Pair]] = [
        st.tuples(message(kind.key), st.none() | message(kind.value) | broken(message(kind.value)))
        for kind in messages.KINDS.values()
        if kind.value is not None and kind.key is not messages.COMMIT_KEY
    ]
    left = [
        codec.encode(kind.key, version, {"group": "g"})
        for version, kind in messages.KINDS.items()
        if kind.skipped_as is not None
    ]
    noise = st.none() | st.binary(max_size=40)
    return st.one_of(
        commits(),
        commits(),
        st.one_of(group_records),
        st.tuples(st.sampled_from(left), noise),
        st.tuples(noise, noise),
    )


def raw(records: list[Pair], order: list[int] | None = None, observed_at: int = 5) -> RawRecords:
    """A batch of these records, in this order."""
    return RawRecords(
        pa.array([key for key, _ in records], pa.binary()),
        pa.array([value for _, value in records], pa.binary()),
        np.arange(len(records), dtype=np.int64) if order is None else np.array(order, np.int64),
        observed_at,
    )


def everyone(_: str) -> bool:
    """Accepts every group."""
    return True
