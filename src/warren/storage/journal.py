"""A bucket in Spark's state: a base, and what every trigger changed since. A trigger writes only what it changed."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from warren.common import checkpoint, frames
from warren.storage import bucket as core
from warren.storage.bucket import Bucket, WindowSettings
from warren.storage.owners import GroupOwnership
from warren.storage.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# a new base is written after this many entries, plus an offset by bucket, so that buckets do not do it together
_ENTRIES: Final = 40
_TURNS: Final = 24


class Journal:
    """The state of the bucket that Spark is calling the operator for."""

    def __init__(self, handle: StatefulProcessorHandle, scratch: str) -> None:
        """`scratch` names the copies of the buckets on this machine."""
        self._scratch = Scratch(scratch)
        self._header = handle.getValueState("header", checkpoint.HEADER)
        self._base = handle.getValueState("base", checkpoint.BASE)
        self._entries = handle.getListState("entries", checkpoint.ENTRIES)
        self._token, self._count = "", 0

    def load(self, number: int, settings: WindowSettings) -> Bucket:
        """The bucket as the last trigger left it."""
        if not self._open():
            return Bucket.empty(settings)
        kept = self._scratch.find(number, self._token)
        if kept is not None:
            return core.load(settings, *kept)
        topic_partitions, windows, _ = self._read_base()
        bucket = core.load(settings, topic_partitions, windows)
        for tps, changes in self._entries.get() if self._count else ():
            core.replay(bucket, bytes(tps), bytes(changes))
        return core.without_changes(bucket)

    def store(self, number: int, bucket: Bucket) -> bytes | None:
        """Store what changed; returns it, for the driver. None: no window did."""
        tps, rows = core.save(bucket)
        changes = core.changes(bucket, full=False)
        turn = _ENTRIES + number % _TURNS
        if not self._token or bucket.touched is None or self._count >= turn:
            self._base.update((tps, frames.pack_batch(rows, compress=True), b""))
            if self._count:
                self._entries.clear()
            self._count = 0
        else:
            self._entries.appendValue((tps, changes or b""))
            self._count += 1
        token = uuid.uuid4().hex
        self._mark(token)
        self._scratch.keep(number, token, tps, rows)
        return changes

    def load_owners(self) -> GroupOwnership:
        """The owners of a bucket that has no windows; they are written whole each time."""
        if not self._open():
            return GroupOwnership()
        _, _, owners = self._read_base()
        return GroupOwnership.load(owners)

    def store_owners(self, owners: GroupOwnership) -> None:
        self._base.update((b"", b"", owners.save()))
        self._mark("")

    def _read_base(self) -> tuple[bytes, bytes, bytes]:
        row: Any = self._base.get()
        topic_partitions, windows, owners = map(bytes, row)
        return topic_partitions, windows, owners

    def _mark(self, token: str) -> None:
        self._header.update((checkpoint.VERSION, checkpoint.FINGERPRINT, token, self._count))

    def _open(self) -> bool:
        header: Any = self._header.get()
        if header is None:
            self._token, self._count = "", 0
            return False
        version, fingerprint, self._token, self._count = header
        checkpoint.check(version, fingerprint, "The checkpoint's state")
        return True
