"""Many messages of one version at once: their fields as columns, by the same schemas.

Positions are int64 arrays into one byte buffer, a row per message. Every read is masked by its row's end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from warren.kafka.schema import INT16, INT32, Fault, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from warren.kafka.schema import Schema

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

# names for Arrow arrays; pyarrow itself is not typed
BinaryArray = Any
StringArray = Any

# fault of a row as a number: 0 none, else 1 + its index here
FAULTS: Final = tuple(Fault)
_TRUNCATED: Final = 1 + FAULTS.index(Fault.TRUNCATED)
_NEGATIVE: Final = 1 + FAULTS.index(Fault.NEGATIVE_LENGTH)
_VARINT: Final = 1 + FAULTS.index(Fault.BAD_VARINT)

_VERSION_SIZE: Final = 2
_VARINT_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class Rows:
    """Byte strings side by side in one buffer: row i is data[start[i]:end[i]]."""

    data: NDArray[np.uint8]
    start: Ints
    end: Ints

    @classmethod
    def of(cls, array: BinaryArray) -> Rows:
        """The rows of an Arrow binary array, without a copy of their bytes; nulls are empty."""
        if len(array) == 0:
            none = np.zeros(0, np.int64)
            return cls(np.zeros(0, np.uint8), none, none)
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
        return cls(np.frombuffer(data if data is not None else b"", np.uint8), ends[:-1], ends[1:])

    def take(self, rows: NDArray[np.integer[Any]] | Mask) -> Rows:
        """Some of the rows, over the same buffer."""
        return Rows(self.data, self.start[rows], self.end[rows])

    def __len__(self) -> int:
        return len(self.start)


def integers(data: NDArray[np.uint8], at: Ints, size: int) -> Ints:
    """Big-endian signed integers at any positions; positions out of range give arbitrary numbers."""
    reach = len(data) - size
    if reach < 0:
        return np.zeros(len(at), np.int64)
    # one element per byte position: gathers whole integers instead of their bytes, 3 times as fast
    every = np.ndarray((reach + 1,), f">i{size}", data, strides=(1,))
    return every[np.clip(at, 0, reach)].astype(np.int64)


def versions(rows: Rows) -> tuple[Ints, Mask]:
    """The int16 in front of each row, and whether it is there."""
    return integers(rows.data, rows.start, _VERSION_SIZE), rows.end - rows.start >= _VERSION_SIZE


@dataclass(frozen=True, slots=True)
class Columns:
    """Fields of many messages; a row with a fault has no meaning in the other columns."""

    # field name: integers
    values: dict[str, Ints]
    # field name: (start, end) of its bytes; null is empty
    spans: dict[str, tuple[Ints, Ints]]
    fault: NDArray[np.uint8]


def read(schema: Schema, version: int, rows: Rows, wanted: Collection[str]) -> Columns:
    """Read the wanted fields of messages that all have this version; later fields are not read."""
    walk = _Walk(rows, flexible=schema.flexible(version))
    values: dict[str, Ints] = {}
    spans: dict[str, tuple[Ints, Ints]] = {}
    missing = set(wanted)
    for each in schema.fields:
        if not missing:
            break
        if not each.present(version) or each.tag is not None:
            continue
        if isinstance(each.type, Scalar):
            at = walk.step(each.type.size)
            if each.name in missing:
                values[each.name] = integers(rows.data, at, each.type.size)
        else:
            span = walk.counted(INT16 if isinstance(each.type, Text) else INT32)
            if each.name in missing:
                spans[each.name] = span
        missing.discard(each.name)
    return Columns(values, spans, walk.fault)


class _Walk:
    """One position per row; a row with a fault stops there and keeps its first fault."""

    def __init__(self, rows: Rows, *, flexible: bool) -> None:
        self.data = rows.data
        self.pos = rows.start + _VERSION_SIZE
        self.end = rows.end
        self.fault = np.zeros(len(rows), np.uint8)
        self.flexible = flexible

    def step(self, size: int | Ints) -> Ints:
        """Skip `size` bytes; returns where they began."""
        start = self.pos
        after = start + size
        self._break(after > self.end, _TRUNCATED)
        self.pos = np.minimum(after, self.end)
        return start

    def counted(self, width: Scalar) -> tuple[Ints, Ints]:
        """Skip length-prefixed bytes; returns where they began and ended."""
        if self.flexible:
            length = self._varint() - 1
        else:
            length = integers(self.data, self.step(width.size), width.size)
            self._break(length < -1, _NEGATIVE)
        start = self.step(np.maximum(length, 0))
        return start, self.pos

    def _varint(self) -> Ints:
        """Skip an unsigned varint of at most 32 bits; returns its value."""
        value = np.zeros(len(self.pos), np.int64)
        going = np.ones(len(self.pos), np.bool_)
        for index in range(_VARINT_BYTES):
            at = self.step(going.astype(np.int64))
            byte = integers(self.data, at, 1) & 0xFF
            value |= np.where(going, (byte & 0x7F) << (7 * index), 0)
            going &= (byte >= 0x80) & (self.fault == 0)
            if not going.any():
                break
        self._break(going | (value >> 32 != 0), _VARINT)
        return value

    def _break(self, where: Mask, fault: int) -> None:
        if where.any():
            self.fault[where & (self.fault == 0)] = fault


def slices(array: BinaryArray, start: Ints, end: Ints) -> StringArray:
    """Spans of a binary array's bytes as strings; the spans lie in the order of their rows.

    Arrow requires each element to begin where the previous one ended, so the gaps between the spans are
    elements too and every second one is taken. Bytes that are not UTF-8 are replaced.
    """
    offsets = np.empty(2 * len(start), np.int32)
    offsets[0::2] = start
    offsets[1::2] = end
    count = max(2 * len(start) - 1, 0)
    data = array.buffers()[2] if len(array) else None
    buffers = [None, pa.py_buffer(offsets.data), data or pa.py_buffer(b"")]
    spans: BinaryArray = pa.Array.from_buffers(pa.binary(), count, buffers).take(np.arange(0, count, 2))
    try:
        return spans.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [each.decode("utf-8", "replace") for each in spans.to_pylist()]
        return pa.array(texts, pa.string())
