"""Removes groups that the brokers no longer list (`groups-reaper-refresh`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog

from warren.errors import WarrenError
from warren.kafka.brokers import Limit, UnreachableError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable

    from warren.kafka.brokers import Brokers

log = structlog.get_logger("warren.cluster")

# time limit of listing the groups of every broker
_LOOK_S: Final = 30.0


class Reaper:
    """Compares the monitored groups with those that the brokers list, periodically.

    A group is removed when it was missing from two lists in a row and the brokers have no offset of it either: kinds
    of groups that are new to the client may be missing from lists. An empty list, or one without the answer of every
    broker, does not count.
    """

    def __init__(
        self,
        cluster: str,
        brokers: Brokers,
        watched: Callable[[], Iterable[str]],
        remove: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        """`tell` takes what is wrong, "" when nothing is."""
        self._cluster = cluster
        self._brokers = brokers
        self._watched = watched
        self._remove = remove
        self._tell = tell
        # groups that the last list did not have
        self._missing: set[str] = set()
        # what was wrong with the last comparison
        self._hidden = ""

    def run(self, refresh_s: float, stopping: threading.Event) -> None:
        """Run periodically, until stopped."""
        while not stopping.wait(refresh_s):
            self._hidden = ""
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - a thread that ended would compare nothing any more
                self._missing = set()
                self._hidden = str(error) if isinstance(error, WarrenError) else repr(error)
            if self._hidden:
                log.warning("groups cannot be checked", cluster=self._cluster, error=self._hidden)
            self._tell(self._hidden)

    def look(self) -> None:
        """One comparison; UnreachableError when not all brokers responded."""
        # read first: a group that is created meanwhile is in the list and not among these
        watched = set(self._watched())
        limit = Limit(_LOOK_S)
        there = self._brokers.groups(limit)
        if not there:
            self._missing = set()
            return
        missing = watched - there
        for group in sorted(missing & self._missing):
            if self._is_gone(group, limit):
                log.info("group no longer exists on the brokers", cluster=self._cluster, group=group)
                self._remove(group)
        self._missing = missing

    def _is_gone(self, group: str, limit: Limit) -> bool:
        try:
            return not self._brokers.has_offsets(group, limit)
        except UnreachableError as error:
            # or we are not allowed to see it
            self._hidden = str(error)
            return False
