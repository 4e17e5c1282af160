"""Changes of groups between snapshots: for each group the last snapshot in which it changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warren.httpserver.state import Answers
from warren.httpserver.v4.parameters import REVISIONS, version
from warren.snapshot.model import ClusterSnapshot
from warren.snapshot.tables import GroupTable

# removed groups that are kept per cluster; a request for earlier changes gets all groups
MAX_REMOVED: Final = 10_000
# revisions that the first snapshot of a process can have; those after it leave room for deleted groups
_FIRST_REVISIONS: Final = REVISIONS // 2
# interval of checks for a new snapshot
_LOOK_S: Final = 0.1

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Changes since a version: rows of the table, and names of removed groups."""

    position: int
    # all rows, because the earlier state is not known
    complete: bool
    rows: Ints
    removed: list[str]

    @property
    def empty(self) -> bool:
        return not (self.complete or self.removed or len(self.rows))


@dataclass(slots=True)
class History:
    """One cluster: its current groups, and the version at which each last changed."""

    snapshot: ClusterSnapshot
    table: GroupTable
    position: int
    # changes up to this version are not known
    floor: int
    # per row of the table: version of the last change, of the last status change, and its time (0: none yet)
    changed: Ints
    status_changed: Ints
    status_since: Ints
    # group: version at which it was removed; the oldest first
    removed: dict[str, int] = field(default_factory=dict)

    @classmethod
    def started(cls, snapshot: ClusterSnapshot) -> History:
        table = snapshot.group_table()
        # the process before may have published another snapshot under this number, just before its end: a client who
        # knows that one must not take this one for the same
        position = version(snapshot.number, snapshot.taken_at_ms % _FIRST_REVISIONS)
        changed = np.full(len(table.names), position, dtype=np.int64)
        unseen = np.zeros(len(table.names), dtype=np.int64)
        return cls(snapshot, table, position, position, changed, changed.copy(), unseen)

    def with_snapshot(self, snapshot: ClusterSnapshot) -> History:
        """The history with the next snapshot."""
        # a deleted group changes the snapshot between two triggers: the same number, other content
        position = max(version(snapshot.number), self.position + (snapshot.number == self.snapshot.number))
        if position < self.position or snapshot.number < self.snapshot.number:
            return History.started(snapshot)
        table = snapshot.group_table()
        # per new row: its row in the old table, -1 where the group is new
        before = _rows_before(self.table, table)
        old, known = np.maximum(before, 0), before >= 0
        status_same = _same(self.table, table, old, known, ("status",))
        same = status_same & _same(
            self.table, table, old, known, ("complete", "partition_count", "totallag", "maxlag")
        )
        removed = dict(self.removed)
        for name in _gone(self.table, table, before):
            removed[name] = position
        for name in table.names if removed else ():
            removed.pop(name, None)
        floor = self.floor
        while len(removed) > MAX_REMOVED:
            floor = max(floor, removed.pop(next(iter(removed))))
        return History(
            snapshot,
            table,
            position,
            floor,
            _kept(self.changed, old, same, position),
            _kept(self.status_changed, old, status_same, position),
            _kept(self.status_since, old, status_same, snapshot.taken_at_ms),
            removed,
        )

    def since(self, position: int | None, *, only_status: bool) -> ChangeSet:
        """The changes after that version; None: all groups."""
        if position is None or position < self.floor or position > self.position:
            return ChangeSet(self.position, True, np.arange(len(self.table.names)), [])
        changed = self.status_changed if only_status else self.changed
        removed = sorted(name for name, went in self.removed.items() if went > position)
        return ChangeSet(self.position, False, np.flatnonzero(changed > position), removed)


def _rows_before(old: GroupTable, new: GroupTable) -> Ints:
    if old.names == new.names:
        return np.arange(len(new.names))
    rows = {name: row for row, name in enumerate(old.names)}
    return np.fromiter((rows.get(name, -1) for name in new.names), np.int64, len(new.names))


def _gone(old: GroupTable, new: GroupTable, before: Ints) -> list[str]:
    stayed = before[before >= 0]
    if len(stayed) == len(old.names):
        return []
    left = np.ones(len(old.names), dtype=np.bool_)
    left[stayed] = False
    return [old.names[row] for row in np.flatnonzero(left).tolist()]


def _same(
    old: GroupTable, new: GroupTable, rows: Ints, known: NDArray[np.bool_], columns: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Which groups existed before with the same values in these columns."""
    same = known.copy()
    for name in columns if old.names else ():
        same &= getattr(old, name)[rows] == getattr(new, name)
    return same


def _kept(old: Ints, rows: Ints, same: NDArray[np.bool_], new: int) -> Ints:
    """The old value where nothing changed, else the new one."""
    return np.where(same, old[rows] if len(old) else 0, new).astype(np.int64)


class Feed:
    """The histories of all clusters, and waiting for the next change; runs in the server's thread."""

    def __init__(
        self, answers: Answers, seen: Callable[[str, ClusterSnapshot], None] = lambda *_: None
    ) -> None:
        """`seen` is told of every cluster's latest snapshot."""
        self._answers = answers
        self._seen = seen
        self._histories: dict[str, History] = {}
        self._changed = asyncio.Event()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def changed(self) -> asyncio.Event:
        """Set when the next snapshot is there: take it before looking at the histories, then `wait`."""
        return self._changed

    async def wait(self, changed: asyncio.Event, seconds: float) -> bool:
        """Whether something changed within that time."""
        if not self._closed:
            await _set_within(changed, seconds)
        return changed.is_set()

    async def watch(self) -> None:
        """Check for new snapshots until closed."""
        self._loop = asyncio.get_running_loop()
        while not self._closed:
            for cluster in self._answers.clusters():
                history = self.history(cluster)
                if history is not None:
                    self._seen(cluster, history.snapshot)
            await asyncio.sleep(_LOOK_S)

    def close(self) -> None:
        """End all waiting requests; thread-safe."""
        self._closed = True
        if self._loop is not None:
            # the loop may have ended already
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def history(self, cluster: str) -> History | None:
        """Up to the latest snapshot; None while there is none."""
        snapshot = self._answers.snapshot(cluster)
        if snapshot is None:
            return None
        known = self._histories.get(cluster)
        if known is not None and known.snapshot is snapshot:
            return known
        history = History.started(snapshot) if known is None else known.with_snapshot(snapshot)
        self._histories[cluster] = history
        self._wake()
        return history

    async def changes_since(
        self, cluster: str, position: int | None, wait_s: float, *, only_status: bool
    ) -> tuple[History, ChangeSet] | None:
        """The changes since a version, waiting for one if there is none. None: no snapshot yet."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while True:
            changed = self._changed
            history = self.history(cluster)
            if history is None:
                return None
            changes_since = history.since(position, only_status=only_status)
            left = until - loop.time()
            if not changes_since.empty or self._closed or left <= 0:
                return history, changes_since
            await _set_within(changed, left)

    def _wake(self) -> None:
        waited, self._changed = self._changed, asyncio.Event()
        waited.set()


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
