"""What must survive a restart, and the contract of the places where it is kept."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from warren.errors import WarrenError
from warren.notifier.message import Message
from warren.notifier.record import Incident
from warren.notifier.rules import Told

_T = TypeVar("_T")

# past incidents are kept so many, and so long
PAST_COUNT: Final = 1000
PAST_MS: Final = 30 * 24 * 3600 * 1000
# bytes of a value that is kept: a message with 100,000 partitions in trouble has some 25 MB
UNPACKED_MOST: Final = 64 * 1024 * 1024


class BookError(WarrenError):
    """The book cannot be read or written; what was to be written may or may not be in it."""


class Case(msgspec.Struct, frozen=True):
    """What is known of one group."""

    cluster: str
    group: str
    incident: Incident | None = None
    # module: what it was last told
    told: dict[str, Told] = {}
    # modules with a view of their own in which the group is not OK
    seen_by: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, str]:
        return self.cluster, self.group

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return self.incident is None and not self.told


class Change(msgspec.Struct, frozen=True):
    """What is written all or not at all."""

    # takes the place of what was known of its group; an empty one removes it
    case: Case | None = None
    # incidents that are over, new or with news of their messages
    past: tuple[Incident, ...] = ()
    # past incidents that are too old to keep
    forgotten: tuple[Incident, ...] = ()
    # messages to be sent from now on, and ids of those that are not any more
    owed: tuple[Message, ...] = ()
    settled: tuple[str, ...] = ()


class Contents(msgspec.Struct, frozen=True):
    """All that is in a book."""

    cases: tuple[Case, ...] = ()
    past: tuple[Incident, ...] = ()
    owed: tuple[Message, ...] = ()


class Book(Protocol):
    """Written by one thread at a time."""

    def load(self) -> Contents:
        """Everything; BookError when it cannot be had."""

    def glance(self, known: Contents) -> Contents:
        """The same without owed messages, for one who only looks on; `known`: what the last look gave."""

    def write(self, changes: Sequence[Change]) -> None:
        """Each change all or not at all, in their order; BookError when it is not certain that all are in."""

    def fitted(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages of one change, as large as the book can take them: what is kept is what is sent."""

    def close(self) -> None: ...


def packed(value: Any) -> bytes:
    """As it is kept: partitions of one group are much alike, so they shrink to a tenth."""
    return zlib.compress(msgspec.msgpack.encode(value), 6)


def unpacked(data: bytes, kind: type[_T], most: int = UNPACKED_MOST) -> _T:
    """The value again; BookError when it is none, or larger than `most` bytes: a small node can unpack to anything."""
    inflating = zlib.decompressobj()
    try:
        plain = inflating.decompress(data, most)
        if inflating.eof:
            return msgspec.msgpack.decode(plain, type=kind)
        error: Exception | str = f"it is cut off, or larger than {most} bytes"
    except (zlib.error, msgspec.MsgspecError) as fault:
        error = fault
    raise BookError(f"a {kind.__name__.lower()} in the notifier's book cannot be read: {error}")
