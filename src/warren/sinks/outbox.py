"""The outbox: numbered samples in a directory, until every sink has them or they are too old or too many."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from warren.errors import WarrenError
from warren.sinks import sample
from warren.sinks.sample import SampleName
from warren.sinks.tables import Tables

log = structlog.get_logger("warren.sinks")

# what the outbox leaves free on its disk: windows and positions are on the same one
RESERVE_BYTES: Final = 64 * 1024 * 1024

# what the time between two samples counts at most, unless intervals are longer: a clock may have been set
_GAP_MS: Final = 600_000

# what a sink that is behind takes at once: a batch costs Spark 0.3 s, whatever is in it. It is repeated whole after a
# crash, and files of a distant file system are in memory until its end
MAX_BATCH_SAMPLES: Final = 120
MAX_BATCH_BYTES: Final = 32 * 1024 * 1024


class DiskFullError(WarrenError):
    """There is no room for another sample."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much the outbox holds at most."""

    max_age_ms: int
    max_bytes: int


@dataclass(slots=True)
class Reader:
    """How far a sink is."""

    interval_s: int
    # the last sample that it has, and needs no more
    done: int
    # samples that went before it had them, since the start of this process
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Behind:
    """What a sink does not have yet."""

    samples: int
    # when the oldest of them was taken; None when there is none
    since_ms: int | None


class Outbox:
    """Written by the sampler, read by the sinks' queries, each in a thread of its own."""

    def __init__(self, directory: Path, bounds: Bounds, *, after: int = 0) -> None:
        """`after`: numbers go on after this one, though the directory may be empty."""
        self.directory = directory
        self._bounds = bounds
        self._changed = threading.Condition()
        # by number: what is there, and its bytes
        self._samples: dict[int, tuple[SampleName, int]] = {}
        self._readers: dict[str, Reader] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for leftover in directory.glob(f"*{sample.UNFINISHED}"):
                leftover.unlink(missing_ok=True)
        except OSError as error:
            # the disk may be full; every sample tries again
            log.warning("the outbox cannot be made", directory=str(directory), error=str(error))
        self._samples = self._listed()
        self._next = max([after, *self._samples]) + 1

    def join(self, sink: str, interval_s: int, done: int | None) -> None:
        """A sink that reads from now on; `done`: the last sample it has, None: it begins with the oldest there is."""
        with self._changed:
            of_interval = [number for number in self._samples if self._is_for(interval_s, number)]
            oldest = min(of_interval, default=self._next)
            if done is not None and done + 1 < oldest and done < self._next - 1:
                log.info("samples since then are gone, or were for others", sink=sink, done=done, next=oldest)
            self._readers[sink] = Reader(interval_s, oldest - 1 if done is None else done)

    def add(self, tables: Tables, time_ms: int, intervals_s: Iterable[int], now_ms: int) -> int:
        """Write a sample and return its number; OSError or DiskFullError when that cannot be."""
        name = SampleName(self._next, time_ms, tuple(sorted(intervals_s)))
        # somebody may have removed the directory
        self.directory.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.directory).free
        if free < RESERVE_BYTES:
            raise DiskFullError(
                f"Only {free} bytes are free where {self.directory} is: make room, or lower outbox.max-bytes."
            )
        size = sample.write(self.directory / str(name), tables)
        with self._changed:
            self._samples[name.number] = (name, size)
            self._next += 1
            self._notice_lost()
            self._prune(now_ms)
            self._changed.notify_all()
        return name.number

    def skip(self, intervals_s: Iterable[int]) -> None:
        """A sample that could not be written: it is dropped for everybody who would have read it."""
        with self._changed:
            for reader in self._readers.values():
                reader.dropped += reader.interval_s in intervals_s

    def advance(self, sink: str, done: int, now_ms: int) -> None:
        """The sink has everything up to this sample and needs none of it any more."""
        with self._changed:
            self._readers[sink].done = done
            self._prune(now_ms)

    def await_samples(self, sink: str, after: int, stopped: Callable[[], bool]) -> list[int]:
        """The next samples of a sink, as soon as there is one; none when it is stopped meanwhile: see `wake`."""
        with self._changed:
            self._changed.wait_for(lambda: stopped() or self._waiting(sink, after))
            return [] if stopped() else self._first(self._waiting(sink, after))

    def wake(self) -> None:
        """Let everybody who waits look whether he is to stop."""
        with self._changed:
            self._changed.notify_all()

    def path(self, number: int) -> Path | None:
        """Where a sample is; None when it has gone."""
        with self._changed:
            found = self._samples.get(number)
        return None if found is None else self.directory / str(found[0])

    def behind(self, sink: str, done: int) -> Behind:
        """What a sink does not have that has everything up to `done`."""
        with self._changed:
            numbers = self._waiting(sink, done)
            return Behind(len(numbers), self._samples[numbers[0]][0].time_ms if numbers else None)

    def done(self, sink: str) -> int:
        """The last sample that the sink has and needs no more."""
        return self._readers[sink].done

    def dropped(self, sink: str) -> int:
        """Samples that went before the sink had them, since the start of this process."""
        return self._readers[sink].dropped

    @property
    def size(self) -> tuple[int, int]:
        """Samples and bytes."""
        with self._changed:
            return len(self._samples), sum(size for _, size in self._samples.values())

    def _waiting(self, sink: str, after: int) -> list[int]:
        interval_s = self._readers[sink].interval_s
        return sorted(
            number for number in self._samples if number > after and self._is_for(interval_s, number)
        )

    def _first(self, numbers: list[int]) -> list[int]:
        """As many as one batch takes: at least one."""
        taken: list[int] = []
        size = 0
        for number in numbers[:MAX_BATCH_SAMPLES]:
            size += self._samples[number][1]
            if taken and size > MAX_BATCH_BYTES:
                break
            taken.append(number)
        return taken

    def _is_for(self, interval_s: int, number: int) -> bool:
        return interval_s in self._samples[number][0].intervals

    def _listed(self) -> dict[int, tuple[SampleName, int]]:
        found: dict[int, tuple[SampleName, int]] = {}
        with contextlib.suppress(FileNotFoundError):
            for path in self.directory.iterdir():
                name = SampleName.read(path.name)
                if name is not None:
                    found[name.number] = (name, path.stat().st_size)
        return found

    def _notice_lost(self) -> None:
        """Samples that somebody else removed."""
        there = self._listed()
        lost = {number for number in self._samples if number not in there}
        self._drop(lost, "somebody removed them from the outbox")
        self._samples = there

    def _prune(self, now_ms: int) -> None:
        """Remove what every sink has, and what is beyond the bounds."""
        # a sink keeps the last sample that it has: changes are counted from there
        had = {number for number in self._samples if not self._is_wanted(number)}
        self._remove(had)
        too_old = self._too_old(now_ms)
        self._drop(too_old, "they are older than outbox.max-age")
        self._remove(too_old)
        total = sum(size for _, size in self._samples.values())
        too_many: set[int] = set()
        for number in sorted(self._samples)[:-1]:
            if total <= self._bounds.max_bytes:
                break
            total -= self._samples[number][1]
            too_many.add(number)
        self._drop(too_many, "the outbox is larger than outbox.max-bytes")
        self._remove(too_many)

    def _too_old(self, now_ms: int) -> set[int]:
        """Samples beyond the age, which is counted from one to the next: a clock that was set makes none older."""
        longest_ms = max((reader.interval_s for reader in self._readers.values()), default=0) * 1000
        gap_ms = max(_GAP_MS, 2 * longest_ms)
        found, age_ms, later_ms = set(), 0, now_ms
        for number in sorted(self._samples, reverse=True):
            time_ms = self._samples[number][0].time_ms
            age_ms += min(max(later_ms - time_ms, 0), gap_ms)
            later_ms = time_ms
            if age_ms > self._bounds.max_age_ms:
                found.add(number)
        return found

    def _is_wanted(self, number: int) -> bool:
        return any(
            number >= reader.done and self._is_for(reader.interval_s, number)
            for reader in self._readers.values()
        )

    def _drop(self, numbers: Iterable[int], reason: str) -> None:
        """Count the samples for the sinks that did not have them."""
        lost: Counter[str] = Counter()
        for number in numbers:
            for sink, reader in self._readers.items():
                if number > reader.done and self._is_for(reader.interval_s, number):
                    reader.dropped += 1
                    lost[sink] += 1
        for sink, samples in lost.items():
            log.warning("samples dropped", sink=sink, samples=samples, reason=reason)

    def _remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            name, _ = self._samples.pop(number)
            try:
                (self.directory / str(name)).unlink(missing_ok=True)
            except OSError as error:
                # it is listed again with the next sample, and tried again
                log.warning("a sample cannot be removed", name=str(name), error=str(error))
