"""Encodes and decodes single messages by their schemas."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from warren.errors import WarrenError
from warren.kafka.schema import (
    INT8,
    INT16,
    INT32,
    Array,
    Blob,
    Fault,
    Scalar,
    Schema,
    Struct,
    Text,
    Type,
)

_VERSION: Final = struct.Struct(">h")
# an int, str, bytes, None, a list of such, or a dict of field name: such
Value = Any
# a varint of 32 bits: five bytes, of the last only four bits
_VARINT_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class Message:
    """What could be read: all fields, or those before the fault; of a broken array its whole items."""

    # None: there was no version
    version: int | None
    # field name: value; empty when the version is not known
    fields: dict[str, Value] = field(default_factory=dict)
    fault: Fault | None = None
    known: bool = True


class _BrokenError(WarrenError):
    """Ends decoding of one message; never leaves this module."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def decode(schema: Schema, data: bytes) -> Message:
    """Read a message; never raises. Bytes after a complete message are ignored."""
    if len(data) < _VERSION.size:
        return Message(None, fault=Fault.TRUNCATED)
    (version,) = _VERSION.unpack_from(data)
    layout = schema.layout(version)
    if layout is None:
        return Message(version, known=False)
    fields: dict[str, Value] = {}
    try:
        _filler(schema, layout)(data, _VERSION.size, len(data), fields)
    except _BrokenError as broken:
        return Message(version, fields, broken.fault)
    return Message(version, fields)


def encode(schema: Schema, version: int, fields: dict[str, Value]) -> bytes:
    """Encode a message for the wire, version first; missing fields get their defaults."""
    layout = schema.layout(version)
    if layout is None:
        raise WarrenError(f"{schema.name} has no version {version}: use {schema.first} to {schema.last}")
    writer = _Writer(layout, schema.flexible(layout))
    writer.out += _VERSION.pack(version)
    writer.struct(schema.body, fields)
    return bytes(writer.out)


# Readers are built once per schema and version. Each takes the bytes, a position and the end, and returns a value and
# the position after it; none reads beyond the end.
_Read = Callable[[bytes, int, int], tuple[Value, int]]
# These put fields into a dict, or items into a list, one by one: after a fault the earlier ones are kept.
_Fill = Callable[[bytes, int, int, dict[str, Value]], int]
_Gather = Callable[[bytes, int, int, int, list[Value]], int]


@cache
def _filler(schema: Schema, version: int) -> _Fill:
    return _fields(schema.body, version, schema.flexible(version))


def _fields(kind: Struct, version: int, flexible: bool) -> _Fill:
    plain: list[tuple[str, _Read, _Gather | None, bool]] = []
    tagged: dict[int, tuple[str, _Read]] = {}
    defaults: dict[str, Value] = {}
    for each in kind.fields:
        nullable = each.nullable(version)
        if not each.present(version):
            continue
        if each.tag is not None:
            tagged[each.tag] = each.name, _value(each.type, version, flexible, nullable)
            defaults[each.name] = each.default
        elif isinstance(each.type, Array):
            gather = _items(each.type.of, version, flexible)
            plain.append((each.name, _length(INT32, flexible), gather, nullable))
        else:
            plain.append((each.name, _value(each.type, version, flexible, nullable), None, nullable))

    def fill(data: bytes, pos: int, end: int, fields: dict[str, Value]) -> int:
        for name, read, gather, nullable in plain:
            value, pos = read(data, pos, end)
            if gather is None or (value is None and nullable):
                fields[name] = value
            else:
                items = fields[name] = []
                pos = gather(data, pos, end, value or 0, items)
        if flexible:
            fields.update(defaults)
            pos = _tail(data, pos, end, tagged, fields)
        return pos

    return fill


def _tail(
    data: bytes, pos: int, end: int, tagged: dict[int, tuple[str, _Read]], fields: dict[str, Value]
) -> int:
    """The tagged fields of a struct; unknown ones are ignored."""
    count, pos = _varint(data, pos, end)
    for _ in range(_bounded(count, 2, pos, end)):
        tag, pos = _varint(data, pos, end)
        size, pos = _varint(data, pos, end)
        after = pos + _bounded(size, 1, pos, end)
        if tag in tagged:
            name, read = tagged[tag]
            fields[name], _ = read(data, pos, after)
        pos = after
    return pos


def _value(kind: Type, version: int, flexible: bool, nullable: bool) -> _Read:
    """A reader of one value; null reads as empty where the schema has no null."""
    if isinstance(kind, Scalar):
        return _scalar(kind)
    if isinstance(kind, Text):
        return _text(flexible, None if nullable else "")
    if isinstance(kind, Blob):
        return _blob(flexible, None if nullable else b"")
    if isinstance(kind, Array):
        return _array(kind, version, flexible, nullable)
    fill = _fields(kind, version, flexible)

    def read(data: bytes, pos: int, end: int) -> tuple[Value, int]:
        if nullable:
            there, pos = _INT8(data, pos, end)
            if there <= 0:
                return None, pos
        fields: dict[str, Value] = {}
        return fields, fill(data, pos, end, fields)

    return read


def _scalar(kind: Scalar) -> _Read:
    unpack, size = struct.Struct(f">{kind.code}").unpack_from, kind.size

    def read(data: bytes, pos: int, end: int) -> tuple[Value, int]:
        if pos + size > end:
            raise _BrokenError(Fault.TRUNCATED)
        return unpack(data, pos)[0], pos + size

    return read


def _text(flexible: bool, null: str | None) -> _Read:
    length = _length(INT16, flexible)

    def read(data: bytes, pos: int, end: int) -> tuple[Value, int]:
        size, pos = length(data, pos, end)
        if size is None:
            return null, pos
        after = pos + _bounded(size, 1, pos, end)
        return data[pos:after].decode("utf-8", "replace"), after

    return read


def _blob(flexible: bool, null: bytes | None) -> _Read:
    length = _length(INT32, flexible)

    def read(data: bytes, pos: int, end: int) -> tuple[Value, int]:
        size, pos = length(data, pos, end)
        if size is None:
            return null, pos
        after = pos + _bounded(size, 1, pos, end)
        return data[pos:after], after

    return read


def _array(kind: Array, version: int, flexible: bool, nullable: bool) -> _Read:
    length, gather = _length(INT32, flexible), _items(kind.of, version, flexible)

    def read(data: bytes, pos: int, end: int) -> tuple[Value, int]:
        count, pos = length(data, pos, end)
        if count is None and nullable:
            return None, pos
        items: list[Value] = []
        return items, gather(data, pos, end, count or 0, items)

    return read


def _items(kind: Type, version: int, flexible: bool) -> _Gather:
    if isinstance(kind, Scalar):
        code, size = f">{kind.code}", kind.size

        def unpack(data: bytes, pos: int, end: int, count: int, items: list[Value]) -> int:
            after = pos + size * _bounded(count, size, pos, end)
            items += (each for (each,) in struct.iter_unpack(code, data[pos:after]))
            return after

        return unpack
    read = _value(kind, version, flexible, nullable=False)

    def gather(data: bytes, pos: int, end: int, count: int, items: list[Value]) -> int:
        for _ in range(_bounded(count, 1, pos, end)):
            item, pos = read(data, pos, end)
            items.append(item)
        return pos

    return gather


def _length(width: Scalar, flexible: bool) -> _Read:
    """A reader of a length or count; None is null."""
    fixed = _varint if flexible else _scalar(width)
    less = 1 if flexible else 0

    def read(data: bytes, pos: int, end: int) -> tuple[int | None, int]:
        length, pos = fixed(data, pos, end)
        length -= less
        if length >= 0:
            return length, pos
        if length < -1:
            raise _BrokenError(Fault.NEGATIVE_LENGTH)
        return None, pos

    return read


def _varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    value = 0
    for index in range(_VARINT_BYTES):
        if pos >= end:
            raise _BrokenError(Fault.TRUNCATED)
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value >> 32:
                break
            return value, pos
    raise _BrokenError(Fault.BAD_VARINT)


def _bounded(count: int, size: int, pos: int, end: int) -> int:
    """A count that fits into the remaining bytes: a wrong one must not cost time or memory."""
    if count * size > end - pos:
        raise _BrokenError(Fault.TRUNCATED)
    return count


_INT8: Final = _scalar(INT8)


class _Writer:
    """Encodes what the readers decode."""

    __slots__ = ("flexible", "out", "version")

    def __init__(self, version: int, flexible: bool) -> None:
        self.out = bytearray()
        self.version = version
        self.flexible = flexible

    def struct(self, kind: Struct, fields: dict[str, Value]) -> None:
        tagged: list[tuple[int, bytes]] = []
        for each in kind.fields:
            if not each.present(self.version):
                continue
            value = fields.get(each.name, each.default)
            nullable = each.nullable(self.version)
            if each.tag is None:
                self._value(each.type, value, nullable)
            elif value != each.default:
                inner = _Writer(self.version, self.flexible)
                inner._value(each.type, value, nullable)
                tagged.append((each.tag, bytes(inner.out)))
        if self.flexible:
            self._varint(len(tagged))
            for tag, data in sorted(tagged):
                self._varint(tag)
                self._varint(len(data))
                self.out += data

    def _value(self, kind: Type, value: Value, nullable: bool) -> None:
        if isinstance(kind, Scalar):
            self.out += struct.pack(f">{kind.code}", _ZERO[kind.code] if value is None else value)
        elif isinstance(kind, Struct):
            if nullable:
                self.out += b"\x00" if value is None else b"\x01"
            if value is not None or not nullable:
                self.struct(kind, value or {})
        elif value is None and nullable:
            self._length(-1, kind)
        elif isinstance(kind, Array):
            items = value or []
            self._length(len(items), kind)
            for each in items:
                self._value(kind.of, each, nullable=False)
        else:
            raw = value.encode() if isinstance(value, str) else bytes(value or b"")
            self._length(len(raw), kind)
            self.out += raw

    def _length(self, length: int, kind: Text | Blob | Array) -> None:
        if self.flexible:
            self._varint(length + 1)
        else:
            self.out += struct.pack(">h" if isinstance(kind, Text) else ">i", length)

    def _varint(self, value: int) -> None:
        while value > 0x7F:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)


# encoding of a missing field
_ZERO: Final[dict[str, Value]] = {"b": 0, "h": 0, "i": 0, "q": 0, "16s": bytes(16)}
