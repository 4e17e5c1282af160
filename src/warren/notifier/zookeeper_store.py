"""The store of several instances: under `<root-path>/warren` in ZooKeeper, so that the next leader continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec
import structlog
from kazoo.client import TransactionRequest
from kazoo.exceptions import NoNodeError

from warren.notifier.leadership import Election, NotLeadingError
from warren.notifier.message import Message
from warren.notifier.record import Incident
from warren.notifier.store import Case, Change, Contents, StoreError, packed, unpacked
from warren.snapshot.model import PartitionStatus

log = structlog.get_logger("warren.notifier")

_T = TypeVar("_T")

# ZooKeeper accepts requests of up to 1 MB; the messages of a change must fit into one with the rest of it
LARGEST: Final = 700_000
_REQUEST: Final = 900_000
# partitions of a message: it must also be small enough after decompression
MOST_PARTITIONS: Final = 100_000
# concurrent reads
_AT_ONCE: Final = 200

# path and content; None: delete
Write = tuple[str, bytes | None]


class ZooKeeperStore:
    """Implements `warren.notifier.store.Store`: one node per case, closed incident and pending message.

    It is not beside the lock: Burrow expects nothing but locks under `<root-path>/notifier`.
    """

    def __init__(self, election: Election, root_path: str, *, largest: int = LARGEST) -> None:
        self._election = election
        self._client = election.client
        self._largest = largest
        root = f"{root_path.rstrip('/')}/warren"
        self._cases, self._past, self._owed = f"{root}/cases", f"{root}/past", f"{root}/owed"
        # paths of existing nodes: changing one is another operation than creating one
        self._there: set[str] = set()
        # paths whose error was logged
        self._unreadable: set[str] = set()
        # the term in which the contents were read
        self._term = 0

    def load(self) -> Contents:
        # read first: when it changes meanwhile, nothing can be written until the next load
        self._term = self._election.term
        with _as_store_error():
            for folder in (self._cases, self._past, self._owed):
                self._election.awaited(self._client.ensure_path_async(folder))
            # a server may lag behind the one that the previous leader wrote to
            self._election.awaited(self._client.sync_async(self._cases))
            found = {folder: self._read(folder) for folder in (self._cases, self._past, self._owed)}
        self._there = {path for nodes in found.values() for path in nodes}
        return Contents(
            tuple(self._decoded(found[self._cases], Case)),
            tuple(self._decoded(found[self._past], Incident)),
            tuple(self._decoded(found[self._owed], Message)),
        )

    def refresh(self, known: Contents) -> Contents:
        """Closed incidents are read once, and again while a message of theirs is pending: the others do not change."""
        finished = {
            self._of_past(each): each
            for each in known.past
            if all(record.state != "owed" for record in each.messages)
        }
        with _as_store_error():
            try:
                cases, past = self._read(self._cases), self._read(self._past, set(finished))
                names = set(self._names(self._past))
            except NoNodeError:
                # there was no leader yet
                return Contents()
        kept = [each for path, each in finished.items() if path in names]
        return Contents(tuple(self._decoded(cases, Case)), (*kept, *self._decoded(past, Incident)))

    def write(self, changes: Sequence[Change]) -> None:
        with _as_store_error():
            for batch in _batches([list(self._writes(change)) for change in changes]):
                self._election.fenced(partial(self._fill, batch), self._term)
                for path, content in batch:
                    (self._there.discard if content is None else self._there.add)(path)

    def fitted(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Without the least important partitions, when all of them are too much for one change."""
        return tuple(_cut(message, self._largest // len(messages)) for message in messages)

    def close(self) -> None:
        """The election owns the connection."""

    def _writes(self, change: Change) -> Iterable[Write]:
        if change.case is not None:
            path = f"{self._cases}/{_name(change.case.cluster)}~{_name(change.case.group)}"
            yield path, None if change.case.is_empty else packed(change.case)
        for incident in change.past:
            yield self._of_past(incident), packed(incident)
        for incident in change.forgotten:
            yield self._of_past(incident), None
        for message in change.owed:
            yield f"{self._owed}/{_name(message.id)}", packed(message)
        for settled in change.settled:
            yield f"{self._owed}/{_name(settled)}", None

    def _fill(self, writes: Sequence[Write], transaction: TransactionRequest) -> None:
        # path: whether it exists at this point of the transaction
        there: dict[str, bool] = {}
        for path, content in writes:
            known = there.get(path, path in self._there)
            if content is None and known:
                transaction.delete(path)
            elif content is not None and known:
                transaction.set_data(path, content)
            elif content is not None:
                transaction.create(path, content)
            there[path] = content is not None

    def _of_past(self, incident: Incident) -> str:
        return f"{self._past}/{_name(incident.id)}"

    def _decoded(self, contents: Mapping[str, bytes], kind: type[_T]) -> Iterable[_T]:
        """Without what cannot be read: one damaged node must not suppress the others."""
        for path, content in contents.items():
            try:
                yield unpacked(content, kind)
            except StoreError as error:
                if path not in self._unreadable:
                    log.error("unreadable node of the notifier's store skipped", node=path, error=str(error))  # noqa: TRY400
                self._unreadable.add(path)

    def _names(self, folder: str) -> list[str]:
        names = self._election.awaited(self._client.get_children_async(folder))
        return [f"{folder}/{name}" for name in names]

    def _read(self, folder: str, but: set[str] | None = None) -> dict[str, bytes]:
        """Path: content, of all nodes in a folder except some."""
        paths = [path for path in self._names(folder) if path not in (but or ())]
        found = {}
        for at in range(0, len(paths), _AT_ONCE):
            asked = [(path, self._client.get_async(path)) for path in paths[at : at + _AT_ONCE]]
            for path, answer in asked:
                try:
                    found[path] = self._election.awaited(answer)[0]
                except NoNodeError:
                    # deleted since its name was read: another instance writes
                    continue
        return found


class _as_store_error:  # noqa: N801 - reads as a phrase where it is used
    """Turns NotLeadingError into StoreError."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotLeadingError):
            raise StoreError(str(error)) from None


def _name(text: str) -> str:
    """Part of a node's name: without slashes and other characters that ZooKeeper refuses."""
    return quote(text, safe="")


def _batches(changes: Sequence[list[Write]]) -> Iterable[list[Write]]:
    """As many changes per transaction as ZooKeeper accepts, none split."""
    batch: list[Write] = []
    size = 0
    for change in changes:
        weight = sum(len(path) + len(content or b"") + 100 for path, content in change)
        if batch and size + weight > _REQUEST:
            yield batch
            batch, size = [], 0
        batch += change
        size += weight
    if batch:
        yield batch


def _cut(message: Message, largest: int) -> Message:
    partitions = message.result.partitions
    while partitions and (len(packed(message)) > largest or len(partitions) > MOST_PARTITIONS):
        worst = sorted(partitions, key=_badness, reverse=True)[: len(partitions) // 2]
        left = set(map(_topic_partition, worst))
        partitions = tuple(each for each in partitions if _topic_partition(each) in left)
        result = msgspec.structs.replace(message.result, partitions=partitions)
        message = msgspec.structs.replace(message, result=result)
    return message


def _badness(partition: PartitionStatus) -> tuple[int, int]:
    return partition.status, partition.current_lag


def _topic_partition(partition: PartitionStatus) -> tuple[str, int]:
    return partition.topic, partition.partition
