"""Which znodes hold commits, what is in them, and which of them have to be read: no ZooKeeper, no clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

from warren.consumer.polling import Key

# names of the nodes from below the base to this one; () is the base itself
Path = tuple[str, ...]

# what an offset and a partition fit into
_MAX_OFFSET: Final = 2**63 - 1
_MAX_PARTITION: Final = 2**31 - 1
_DIGITS: Final = 19

NOT_A_NUMBER: Final = "an offset in ZooKeeper that is not a number"
NO_PARTITION: Final = "a partition in ZooKeeper that is not a number"
NOT_STORMS: Final = "a node of a Storm spout that cannot be parsed"


class Kind(Enum):
    """What is read of a node."""

    # the names of its children
    LIST = "list"
    # its value
    VALUE = "value"


class UnusableError(ValueError):
    """A value that cannot be used; the text is the reason under which it is counted."""


@dataclass(frozen=True, slots=True)
class Commit:
    key: Key
    offset: int


@dataclass(frozen=True, slots=True)
class Owner:
    key: Key
    owner: str


class Layout(Protocol):
    """Where the nodes are, and what their values mean."""

    # below the configured path
    base: str

    def kind(self, path: Path) -> Kind | None:
        """None: it is of no interest. UnusableError: it should be, and its name makes no sense."""

    def parsed(self, path: Path, value: bytes) -> Commit | Owner:
        """The meaning of a value; UnusableError when it has none."""


class KafkaLayout:
    """Old consumers of Kafka: GROUP/offsets/TOPIC/PARTITION, and GROUP/owners/TOPIC/PARTITION."""

    base = "/consumers"

    def kind(self, path: Path) -> Kind | None:
        match path:
            case () | (_,) | (_, "offsets" | "owners") | (_, "offsets" | "owners", _):
                return Kind.LIST
            case (_, "offsets" | "owners", _, partition):
                _number(partition, _MAX_PARTITION, NO_PARTITION)
                return Kind.VALUE
        return None

    def parsed(self, path: Path, value: bytes) -> Commit | Owner:
        group, folder, topic, partition = path
        key = group, topic, int(partition)
        if folder == "owners":
            return Owner(key, value.decode(errors="replace"))
        return Commit(key, _number(value.decode(errors="replace").strip(), _MAX_OFFSET, NOT_A_NUMBER))


class StormLayout:
    """Storm's Kafka spout: ID/partition_N, or ID/TOPIC/partition_N for one of several topics. The id is the group."""

    base = ""

    def kind(self, path: Path) -> Kind | None:
        match path:
            case () | (_,):
                return Kind.LIST
            case (_, name) | (_, _, name) if name.startswith("partition_"):
                return Kind.VALUE
            case (_, _):
                return Kind.LIST
        return None

    def parsed(self, path: Path, value: bytes) -> Commit:
        try:
            found = json.loads(value)
            topic, partition, offset = found["topic"], found["partition"], found["offset"]
            # JSON can have half a character, which nothing behind this can store
            str.encode(topic)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UnusableError(NOT_STORMS) from None
        fits = type(partition) is type(offset) is int
        if not fits or not (0 <= partition <= _MAX_PARTITION and 0 <= offset <= _MAX_OFFSET):
            raise UnusableError(NOT_STORMS)
        return Commit((path[0], topic, partition), offset)


def _number(text: str, most: int, reason: str) -> int:
    # digits of other scripts are none to Kafka; and Python refuses to read numbers of thousands of digits
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS or int(text) > most:
        raise UnusableError(reason)
    return int(text)


@dataclass(slots=True)
class Listing:
    """What the children of a node have become."""

    # to be read, for the first time
    added: list[tuple[Path, Kind]] = field(default_factory=list)
    # values that are gone
    gone: list[Path] = field(default_factory=list)
    # reasons for children that make no sense, and groups that the lists exclude; each is told once
    unusable: list[str] = field(default_factory=list)
    denied: int = 0


class Tree:
    """The known nodes: those with children have the names of them, of which some are of no interest."""

    def __init__(self, layout: Layout, accepts: Callable[[str], bool]) -> None:
        self._layout = layout
        self._accepts = accepts
        # of every node that is listed: the names of its children
        self._children: dict[Path, frozenset[str]] = {(): frozenset()}
        self._values: set[Path] = set()

    def everything(self) -> list[tuple[Path, Kind]]:
        """Every known node: after a lost session all of them have to be read again."""
        return [(path, Kind.LIST) for path in self._children] + [(path, Kind.VALUE) for path in self._values]

    def known(self, paths: Iterable[Path]) -> list[tuple[Path, Kind]]:
        """Those of the nodes that are known, lists first: they may say that others are gone."""
        found = set(paths)
        return [(path, Kind.LIST) for path in found if path in self._children] + [
            (path, Kind.VALUE) for path in found if path in self._values
        ]

    def list(self, path: Path, names: Iterable[str]) -> Listing:
        """The children of a node as they are now."""
        listing = Listing()
        before = self._children.get(path)
        if before is None:
            # it went while it was read
            return listing
        now = frozenset(names)
        for name in before - now:
            self._drop((*path, name), listing)
        for name in sorted(now - before):
            self._add((*path, name), listing)
        self._children[path] = now
        return listing

    def forget(self, path: Path) -> Listing:
        """There is no such node. When it comes again, its parent's list has it as a new one."""
        listing = Listing()
        self._drop(path, listing)
        parent = path[:-1]
        if parent in self._children:
            self._children[parent] -= {path[-1]}
        return listing

    def is_known(self, path: Path) -> bool:
        return path in self._values

    def _add(self, path: Path, listing: Listing) -> None:
        if len(path) == 1 and not self._accepts(path[0]):
            listing.denied += 1
            return
        try:
            kind = self._layout.kind(path)
        except UnusableError as error:
            listing.unusable.append(str(error))
            return
        if kind is None:
            return
        if kind is Kind.LIST:
            self._children[path] = frozenset()
        else:
            self._values.add(path)
        listing.added.append((path, kind))

    def _drop(self, path: Path, listing: Listing) -> None:
        if path in self._values:
            self._values.discard(path)
            listing.gone.append(path)
        for name in self._children.pop(path, ()):
            self._drop((*path, name), listing)
