"""The last hours of a cluster's groups as arrays: lag, status, completeness; every ten seconds, later every minute."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.snapshot.tables import GroupTable

    Ints = NDArray[np.int64]

FINE_MS: Final = 10_000
# how long samples stay as they are; then those of a minute become one
FINE_SPAN_MS: Final = 600_000
COARSE_MS: Final = 60_000
SPAN_MS: Final = 24 * 3_600_000
# a group that is not in a sample
MISSING: Final = -1
# bytes of a name in a tuple that is not shared with the sample before
_POINTER: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class RecentSample:
    """All groups at one moment; arrays are never changed."""

    time_ms: int
    # sorted; the same tuple from sample to sample while the groups stay the same
    names: tuple[str, ...]
    lag: Ints
    # of Status
    status: NDArray[np.int8]
    # in hundredths
    complete: NDArray[np.uint8]

    @property
    def bytes(self) -> int:
        return self.lag.nbytes + self.status.nbytes + self.complete.nbytes

    def row(self, group: str) -> int | None:
        at = bisect_left(self.names, group)
        return at if at < len(self.names) and self.names[at] == group else None


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One group over time; a position for each sample that has it."""

    times_ms: Sequence[int]
    lag: Sequence[int]
    status: Sequence[int]
    complete: Sequence[float]


@dataclass(frozen=True, slots=True)
class GroupGrid:
    """All groups over steps of equal length: (groups, steps), MISSING where nothing is known."""

    names: Sequence[str]
    lag: Ints
    # the worst status of each group in all steps
    worst: NDArray[np.int8]


class Recent:
    """One cluster. Written by one thread; readers of any thread get what was there when they asked."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._fine: deque[RecentSample] = deque()
        self._coarse: deque[RecentSample] = deque()
        # both, replaced as a whole: readers may be other threads
        self._held: tuple[RecentSample, ...] = ()

    def samples(self) -> tuple[RecentSample, ...]:
        """In the order of time."""
        return self._held

    @property
    def last_ms(self) -> int:
        return self._fine[-1].time_ms if self._fine else 0

    def take(self, as_of_ms: int, table: GroupTable) -> bool:
        """A sample of a snapshot, if the last one is ten seconds old; whether it was taken."""
        last = self._fine[-1] if self._fine else None
        if last is not None and as_of_ms // FINE_MS == last.time_ms // FINE_MS:
            return False
        if last is not None and as_of_ms < last.time_ms:
            # the clock was set back: what comes after this moment was never so
            self._divide(each for each in self._held if each.time_ms < as_of_ms)
            last = self._fine[-1] if self._fine else None
        names = tuple(table.names)
        self._fine.append(
            RecentSample(
                as_of_ms,
                last.names if last is not None and last.names == names else _shared(last, names),
                np.array(table.totallag, dtype=np.int64),
                np.array(table.status, dtype=np.int8),
                np.floor(np.asarray(table.complete) * 100).astype(np.uint8),
            )
        )
        self._thin(as_of_ms)
        return True

    def restore(self, samples: Iterable[RecentSample]) -> None:
        """What was there before a restart."""
        self._divide(samples)
        self._bound()

    def line(self, group: str, since_ms: int) -> GroupLine:
        """One group since that moment."""
        found = [
            (sample, row)
            for sample in self.samples()
            if sample.time_ms >= since_ms and (row := sample.row(group)) is not None
        ]
        return GroupLine(
            [sample.time_ms for sample, _ in found],
            [int(sample.lag[row]) for sample, row in found],
            [int(sample.status[row]) for sample, row in found],
            [int(sample.complete[row]) / 100 for sample, row in found],
        )

    def grid(self, begin_ms: int, step_ms: int, steps: int) -> GroupGrid:
        """All groups that were there in these steps; a step has the greatest lag in it."""
        wanted = [sample for sample in self.samples() if 0 <= (sample.time_ms - begin_ms) // step_ms < steps]
        tuples = {id(sample.names): sample.names for sample in wanted}
        if len(tuples) == 1:
            names: Sequence[str] = wanted[0].names
        else:
            names = sorted(set(chain.from_iterable(tuples.values())))
        column = {name: number for number, name in enumerate(names)} if len(tuples) > 1 else {}
        # tuple: which rows of the grid its groups are
        places = {
            key: np.fromiter((column[name] for name in held), np.int64, len(held)) if column else slice(None)
            for key, held in tuples.items()
        }
        lag = np.full((steps, len(names)), MISSING, dtype=np.int64)
        worst = np.zeros(len(names), dtype=np.int8)
        for sample in wanted:
            place, step = places[id(sample.names)], (sample.time_ms - begin_ms) // step_ms
            lag[step, place] = np.maximum(lag[step, place], sample.lag)
            worst[place] = np.maximum(worst[place], sample.status)
        return GroupGrid(names, lag.T, worst)

    def _divide(self, samples: Iterable[RecentSample]) -> None:
        held = sorted(samples, key=lambda each: each.time_ms)
        newest = held[-1].time_ms if held else 0
        fine = [each for each in held if each.time_ms > newest - FINE_SPAN_MS]
        self._coarse = deque(held[: len(held) - len(fine)])
        self._fine = deque(fine)

    def _thin(self, now_ms: int) -> None:
        """Whole minutes that are old enough become one sample each; the oldest go."""
        old: list[RecentSample] = []
        before = (now_ms - FINE_SPAN_MS) // COARSE_MS
        while self._fine and self._fine[0].time_ms // COARSE_MS < before:
            old.append(self._fine.popleft())
        for _, minute in groupby(old, lambda each: each.time_ms // COARSE_MS):
            self._coarse.append(_folded(list(minute)))
        while self._coarse and self._coarse[0].time_ms < now_ms - SPAN_MS:
            self._coarse.popleft()
        self._bound()

    def _bound(self) -> None:
        self._held = (*self._coarse, *self._fine)
        while self.bytes > self._max_bytes and len(self._held) > 1:
            (self._coarse or self._fine).popleft()
            self._held = self._held[1:]

    @property
    def bytes(self) -> int:
        """Of the arrays and the tuples of names; the names themselves are those of the snapshot."""
        tuples = {id(each.names): len(each.names) * _POINTER for each in self._held}
        return sum(each.bytes for each in self._held) + sum(tuples.values())


def _shared(last: RecentSample | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names with the objects of the sample before, so that old ones do not keep a copy of each."""
    known = {name: name for name in last.names} if last is not None else {}
    return tuple(known.get(name, name) for name in names)


def _folded(samples: Sequence[RecentSample]) -> RecentSample:
    """The samples of a minute as one: greatest lag, worst status, lowest completeness; of the groups at its end."""
    last = samples[-1]
    alike = [each for each in samples if each.names is last.names]
    return RecentSample(
        last.time_ms,
        last.names,
        np.maximum.reduce([each.lag for each in alike]),
        np.maximum.reduce([each.status for each in alike]),
        np.minimum.reduce([each.complete for each in alike]),
    )
