"""Messages to bytes and back, one at a time, by their tables."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Final

from warren.errors import WarrenError
from warren.kafka.schema import (
    INT8,
    INT16,
    INT32,
    Array,
    Blob,
    Fault,
    Field,
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

    # None: not even a version was there
    version: int | None
    # field name: value; empty when the version is not known
    fields: dict[str, Value] = field(default_factory=dict)
    fault: Fault | None = None
    known: bool = True


class _BrokenError(WarrenError):
    """Ends the reading of one message; never leaves this module."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def decode(schema: Schema, data: bytes) -> Message:
    """Read a message; never raises. Bytes that follow a whole message are let be."""
    if len(data) < _VERSION.size:
        return Message(None, fault=Fault.TRUNCATED)
    (version,) = _VERSION.unpack_from(data)
    layout = schema.layout(version)
    if layout is None:
        return Message(version, known=False)
    reader = _Reader(data, _VERSION.size, len(data), layout, schema.flexible(layout))
    fields: dict[str, Value] = {}
    try:
        reader.struct(schema.body, fields)
    except _BrokenError as broken:
        return Message(version, fields, broken.fault)
    return Message(version, fields)


def encode(schema: Schema, version: int, fields: dict[str, Value]) -> bytes:
    """Write a message as it stands on the wire, version first; fields left out take their defaults."""
    layout = schema.layout(version)
    if layout is None:
        raise WarrenError(f"{schema.name} has no version {version}: use {schema.first} to {schema.last}")
    writer = _Writer(layout, schema.flexible(layout))
    writer.out += _VERSION.pack(version)
    writer.struct(schema.body, fields)
    return bytes(writer.out)


class _Reader:
    """A position in a message; no read goes beyond its end."""

    __slots__ = ("data", "end", "flexible", "pos", "version")

    def __init__(self, data: bytes, pos: int, end: int, version: int, flexible: bool) -> None:
        self.data = data
        self.pos = pos
        self.end = end
        self.version = version
        self.flexible = flexible

    def struct(self, kind: Struct, fields: dict[str, Value]) -> None:
        """Fill `fields` one by one, so that a fault leaves what was read before it."""
        tagged: dict[int, Field] = {}
        for each in kind.fields:
            if not each.present(self.version):
                continue
            if each.tag is not None:
                tagged[each.tag] = each
                fields[each.name] = each.default
            elif isinstance(each.type, Array):
                count = self._count(each.type)
                if count is None and each.nullable(self.version):
                    fields[each.name] = None
                else:
                    items = fields[each.name] = []
                    self._items(each.type.of, count or 0, items)
            else:
                fields[each.name] = self._value(each.type, each.nullable(self.version))
        if self.flexible:
            self._tail(tagged, fields)

    def _tail(self, tagged: dict[int, Field], fields: dict[str, Value]) -> None:
        for _ in range(self._bounded(self._varint(), 2)):
            tag = self._varint()
            size = self._bounded(self._varint(), 1)
            known = tagged.get(tag)
            if known is not None:
                inner = _Reader(self.data, self.pos, self.pos + size, self.version, self.flexible)
                fields[known.name] = inner.value(known.type, known.nullable(self.version))
            self.pos += size

    def value(self, kind: Type, nullable: bool) -> Value:
        """One value; null reads as empty where the definition knows no null."""
        if isinstance(kind, Array):
            count = self._count(kind)
            if count is None and nullable:
                return None
            items: list[Value] = []
            self._items(kind.of, count or 0, items)
            return items
        return self._value(kind, nullable)

    def _value(self, kind: Type, nullable: bool) -> Value:
        if isinstance(kind, Scalar):
            (value,) = struct.unpack_from(f">{kind.code}", self.data, self._step(kind.size))
            return value
        if isinstance(kind, Struct):
            if nullable and self._int(INT8) < 0:
                return None
            fields: dict[str, Value] = {}
            self.struct(kind, fields)
            return fields
        size = self._length(INT16 if isinstance(kind, Text) else INT32)
        if size is None:
            if nullable:
                return None
            size = 0
        start = self._step(size)
        raw = self.data[start : start + size]
        return raw.decode("utf-8", "replace") if isinstance(kind, Text) else raw

    def _items(self, kind: Type, count: int, items: list[Value]) -> None:
        if isinstance(kind, Scalar):
            start = self._step(count * kind.size)
            items += (each for (each,) in struct.iter_unpack(f">{kind.code}", self.data[start : self.pos]))
            return
        for _ in range(count):
            item = self.value(kind, nullable=False)
            items.append(item)

    def _count(self, kind: Array) -> int | None:
        count = self._length(INT32)
        return None if count is None else self._bounded(count, _least(kind.of))

    def _bounded(self, count: int, size: int) -> int:
        """A count that the bytes that are left can hold: a lie must not cost time or memory."""
        if count * size > self.end - self.pos:
            raise _BrokenError(Fault.TRUNCATED)
        return count

    def _length(self, width: Scalar) -> int | None:
        length = self._varint() - 1 if self.flexible else self._int(width)
        if length < -1:
            raise _BrokenError(Fault.NEGATIVE_LENGTH)
        return None if length == -1 else length

    def _int(self, kind: Scalar) -> int:
        value: int = struct.unpack_from(f">{kind.code}", self.data, self._step(kind.size))[0]
        return value

    def _varint(self) -> int:
        value = 0
        for index in range(_VARINT_BYTES):
            byte = self.data[self._step(1)]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                if value >> 32:
                    break
                return value
        raise _BrokenError(Fault.BAD_VARINT)

    def _step(self, size: int) -> int:
        start = self.pos
        if size > self.end - start:
            raise _BrokenError(Fault.TRUNCATED)
        self.pos = start + size
        return start


def _least(kind: Type) -> int:
    """Fewest bytes an item can take; one is enough to bound a count."""
    return kind.size if isinstance(kind, Scalar) else 1


class _Writer:
    """The reader's mirror."""

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
                self.out += b"\xff" if value is None else b"\x01"
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


# what a field that was left out is written as
_ZERO: Final[dict[str, Value]] = {"b": 0, "h": 0, "i": 0, "q": 0, "16s": bytes(16)}
