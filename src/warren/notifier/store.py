"""What the notifier stores across restarts, and the interface of its stores."""

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

# limits on closed incidents: number and age
PAST_COUNT: Final = 1000
PAST_MS: Final = 30 * 24 * 3600 * 1000
# bytes of a stored value: a message with 100,000 partitions has some 25 MB
MAX_UNPACKED: Final = 64 * 1024 * 1024


class StoreError(WarrenError):
    """The store cannot be read or written; an attempted write may or may not have succeeded."""


class Case(msgspec.Struct, frozen=True):
    """What is known of one group."""

    cluster: str
    group: str
    incident: Incident | None = None
    # module: what it was last told
    told: dict[str, Told] = {}
    # modules with a topic-denylist for which the group is not OK
    seen_by: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, str]:
        return self.cluster, self.group

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to store."""
        return self.incident is None and not self.told


class Change(msgspec.Struct, frozen=True):
    """An atomic write."""

    # replaces the stored case of its group; an empty one removes it
    case: Case | None = None
    # closed incidents, new ones or with changed messages
    past: tuple[Incident, ...] = ()
    # closed incidents to remove
    forgotten: tuple[Incident, ...] = ()
    # new pending messages, and ids of those that are no longer pending
    owed: tuple[Message, ...] = ()
    settled: tuple[str, ...] = ()


class Contents(msgspec.Struct, frozen=True):
    """The contents of a store."""

    cases: tuple[Case, ...] = ()
    past: tuple[Incident, ...] = ()
    owed: tuple[Message, ...] = ()


class Store(Protocol):
    """Written by one thread at a time."""

    def load(self) -> Contents:
        """Everything; StoreError when it cannot be read."""

    def refresh(self, known: Contents) -> Contents:
        """The same without pending messages, for an instance that follows; `known`: the last contents."""

    def write(self, changes: Sequence[Change]) -> None:
        """Each change atomically, in their order; StoreError when it is not certain that all were written."""

    def fitted(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages of one change, cut to what the store can hold: what is stored is what is sent."""

    def close(self) -> None: ...


def packed(value: Any) -> bytes:
    """As stored: partitions of one group are similar, so they compress to a tenth."""
    return zlib.compress(msgspec.msgpack.encode(value), 6)


def unpacked(data: bytes, kind: type[_T], most: int = MAX_UNPACKED) -> _T:
    """The value; StoreError when it is invalid, or larger than `most` bytes: it may decompress to any size."""
    inflating = zlib.decompressobj()
    try:
        plain = inflating.decompress(data, most)
        if inflating.eof:
            return msgspec.msgpack.decode(plain, type=kind)
        error: Exception | str = f"it is truncated, or larger than {most} bytes"
    except (zlib.error, msgspec.MsgspecError) as invalid:
        error = invalid
    raise StoreError(f"a {kind.__name__.lower()} in the notifier's store cannot be read: {error}")
