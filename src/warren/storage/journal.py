"""A bucket in Spark's state: a base, and what every trigger changed since. A trigger writes only what it changed."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from warren.common import frames
from warren.errors import WarrenError
from warren.storage import bucket as core
from warren.storage.bucket import Bucket, WindowSettings
from warren.storage.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# raised whenever what is written below changes
STATE_VERSION: Final = 3

# a new base is written after this many entries, plus an offset by bucket, so that buckets do not do it together
_ENTRIES: Final = 40
_TURNS: Final = 24


class StateVersionError(WarrenError):
    """The checkpoint was written by a program that kept its state in another way."""


class Journal:
    """The state of the bucket that Spark is calling the operator for."""

    def __init__(self, handle: StatefulProcessorHandle, scratch: str) -> None:
        """`scratch` names the copies of the buckets on this machine."""
        self._scratch = Scratch(scratch)
        self._head = handle.getValueState("head", "version int, token string, entries int")
        self._base = handle.getValueState("base", "first binary, second binary")
        self._entries = handle.getListState("entries", "first binary, second binary")
        self._token, self._count = "", 0

    def load(self, number: int, settings: WindowSettings) -> Bucket:
        """The bucket as the last trigger left it."""
        if not self._open():
            return Bucket.empty(settings)
        kept = self._scratch.find(number, self._token)
        if kept is not None:
            return core.load(settings, *kept)
        bucket = core.load(settings, *self.load_parts())
        for tps, changes in self._entries.get() if self._count else ():
            core.replay(bucket, bytes(tps), bytes(changes))
        return core.without_changes(bucket)

    def store(self, number: int, bucket: Bucket) -> bytes | None:
        """Store what changed; returns it, for the driver. None: no window did."""
        tps, rows = core.save(bucket)
        changes = core.changes(bucket, full=False)
        turn = _ENTRIES + number % _TURNS
        if not self._token or bucket.touched is None or self._count >= turn:
            self._base.update((tps, frames.pack_batch(rows, compress=True)))
            if self._count:
                self._entries.clear()
            self._count = 0
        else:
            self._entries.appendValue((tps, changes or b""))
            self._count += 1
        token = uuid.uuid4().hex
        self._head.update((STATE_VERSION, token, self._count))
        self._scratch.keep(number, token, tps, rows)
        return changes

    def load_parts(self) -> tuple[bytes, bytes]:
        """The base; for state without journal entries."""
        held: Any = self._base.get()
        return bytes(held[0]), bytes(held[1])

    def exists(self) -> bool:
        """Whether there is anything."""
        return self._open()

    def store_parts(self, first: bytes, second: bytes = b"") -> None:
        """Write a base and nothing else."""
        self._base.update((first, second))
        self._head.update((STATE_VERSION, "", 0))

    def _open(self) -> bool:
        head: Any = self._head.get()
        if head is None:
            self._token, self._count = "", 0
            return False
        version, self._token, self._count = head
        if version != STATE_VERSION:
            raise StateVersionError(
                f"The checkpoint holds windows in format {version}, this version of Warren reads format "
                f"{STATE_VERSION}: start the version that wrote it, or remove the checkpoint directory to begin afresh."
            )
        return True
