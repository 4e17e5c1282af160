"""Takes a sample of every cluster's latest snapshot, whenever the interval of a sink has passed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from warren.clock import now_ms
from warren.errors import WarrenError
from warren.sinks.outbox import Outbox
from warren.sinks.tables import Tables, Tabulator, joined

if TYPE_CHECKING:
    from warren.snapshot.view import ClusterView

log = structlog.get_logger("warren.sinks")

# the clock may be set while the sampler sleeps
_LONGEST_SLEEP_S: Final = 1.0
# Spark begins triggers at multiples of their interval, as samples are due. A sample waits for the snapshots of these
# triggers: they are newer, and the sinks then write while the processors are idle. This long at most
PATIENCE_MS: Final = 5_000
_SLEEP_WAITING_S: Final = 0.1


class Snapshots(Protocol):
    """Who has the latest snapshots."""

    def clusters(self) -> list[str]: ...

    def snapshot(self, cluster: str) -> ClusterView | None: ...


class Sampler:
    """One thread for all sinks. A sample is due at multiples of the interval, by our clock."""

    def __init__(
        self, snapshots: Snapshots, outbox: Outbox, intervals_s: Iterable[int], *, with_reasons: bool = False
    ) -> None:
        """`with_reasons`: a sink wants to know why partitions are not OK."""
        self._snapshots = snapshots
        self._with_reasons = with_reasons
        self._outbox = outbox
        # interval: the stretch of time in which its last sample was taken
        self._stretch: dict[int, int] = dict.fromkeys(sorted(set(intervals_s)), -1)
        # interval: cluster: as of when its last sample was
        self._seen: dict[int, dict[str, int]] = {interval: {} for interval in self._stretch}
        self._tabulators: dict[str, Tabulator] = {}
        # why the last sample could not be written; empty: it could
        self.error = ""

    def run(self, stopping: threading.Event) -> None:
        """Until told to stop."""
        while not stopping.is_set():
            try:
                self.take(now_ms())
            except Exception:
                log.exception("no sample could be taken")
            stopping.wait(self._sleep_s(now_ms()))

    def take(self, at_ms: int) -> list[int]:
        """Write the samples that are due, and return their numbers.

        A cluster whose snapshot is as of the same moment as in the last sample has no news and is left out: its rows
        are written once.
        """
        views = {
            name: view
            for name in self._snapshots.clusters()
            if (view := self._snapshots.snapshot(name)) is not None
        }
        oldest_ms = min((view.as_of_ms for view in views.values()), default=at_ms)
        due = [interval for interval in self._due(at_ms) if _is_settled(interval, at_ms, oldest_ms)]
        # clusters with news: the intervals for which they are news
        wanted: dict[tuple[str, ...], list[int]] = {}
        for interval in due:
            self._stretch[interval] = at_ms // (interval * 1000)
            seen = self._seen[interval]
            news = tuple(name for name, view in views.items() if seen.get(name) != view.as_of_ms)
            if news:
                wanted.setdefault(news, []).append(interval)
                seen.update({name: views[name].as_of_ms for name in news})
        made: dict[str, Tables] = {}
        numbers = []
        for names, intervals in wanted.items():
            for name in names:
                if name not in made:
                    made[name] = self._tabulator(name).tables(views[name])
            number = self._add(joined([made[name] for name in names]), at_ms, intervals)
            if number is not None:
                numbers.append(number)
        return numbers

    def _due(self, at_ms: int) -> list[int]:
        return [
            interval for interval, stretch in self._stretch.items() if at_ms // (interval * 1000) != stretch
        ]

    def _tabulator(self, cluster: str) -> Tabulator:
        found = self._tabulators.get(cluster)
        if found is None:
            found = self._tabulators[cluster] = Tabulator(with_reasons=self._with_reasons)
        return found

    def _add(self, tables: Tables, at_ms: int, intervals: list[int]) -> int | None:
        try:
            number = self._outbox.add(tables, at_ms, intervals, at_ms)
        except (OSError, WarrenError) as error:
            self._outbox.skip(intervals)
            self._fail(str(error))
            return None
        if self.error:
            log.info("samples are written again", number=number)
        self.error = ""
        return number

    def _fail(self, error: str) -> None:
        if error != self.error:
            log.error("a sample cannot be written and is dropped", error=error)
        self.error = error

    def _sleep_s(self, at_ms: int) -> float:
        if self._due(at_ms):
            return _SLEEP_WAITING_S
        next_ms = min((at_ms // (each * 1000) + 1) * each * 1000 for each in self._stretch)
        return min((next_ms - at_ms) / 1000, _LONGEST_SLEEP_S)


def _is_settled(interval_s: int, at_ms: int, oldest_ms: int) -> bool:
    """Whether every cluster has been seen since the sample became due, or has had the time to be."""
    late_ms = at_ms % (interval_s * 1000)
    return oldest_ms >= at_ms - late_ms or late_ms >= min(PATIENCE_MS, interval_s * 500)
