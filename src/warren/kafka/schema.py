"""Message schemas as tables of fields, like Kafka's own message definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Fault(StrEnum):
    """Why bytes cannot be read as the message they claim to be."""

    TRUNCATED = "truncated"
    NEGATIVE_LENGTH = "negative length in"
    BAD_VARINT = "overlong varint in"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type of fixed width, big-endian."""

    name: str
    size: int
    code: str  # as `struct` writes it


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8 behind an int16 length, or behind a varint of length + 1 in flexible versions."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes behind an int32 length, or behind a varint of length + 1 in flexible versions."""


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields one after the other, and tagged fields at the end in flexible versions.

    A nullable one, of which there are only tagged ones, has a byte in front: 0 null, 1 there.
    """

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Items behind an int32 count, or behind a varint of count + 1 in flexible versions."""

    of: Type


Type = Scalar | Text | Blob | Struct | Array

INT8: Final = Scalar("int8", 1, "b")
INT16: Final = Scalar("int16", 2, "h")
INT32: Final = Scalar("int32", 4, "i")
INT64: Final = Scalar("int64", 8, "q")
UUID: Final = Scalar("uuid", 16, "16s")
STRING: Final = Text()
BYTES: Final = Blob()


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its type, and the versions that have it."""

    name: str
    type: Type
    since: int = 0
    until: int | None = None
    # first version in which the field may be null; None: never
    nullable_since: int | None = None
    # a tagged field is at the end of its struct and omitted when it equals its default
    tag: int | None = None
    default: Any = None

    def present(self, version: int) -> bool:
        """Whether this version of the message has the field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def nullable(self, version: int) -> bool:
        """Whether this version of the message lets the field be null."""
        return self.nullable_since is not None and version >= self.nullable_since


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A message: int16 version first, then the fields of that version. One object each: a key of caches."""

    name: str
    first: int
    last: int
    fields: tuple[Field, ...]
    # first version with compact lengths and tagged fields; None: never
    flexible_since: int | None = None
    # readers of the embedded consumer protocol read newer versions as the newest known one
    open_ended: bool = False
    body: Struct = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", Struct(self.fields))

    @property
    def versions(self) -> range:
        """Every version the table describes."""
        return range(self.first, self.last + 1)

    def layout(self, version: int) -> int | None:
        """The version whose fields to read for a version on the wire; None when it is not known."""
        if version in self.versions:
            return version
        return self.last if self.open_ended and version > self.last else None

    def flexible(self, version: int) -> bool:
        """Whether this version has compact lengths and tagged fields."""
        return self.flexible_since is not None and version >= self.flexible_since
