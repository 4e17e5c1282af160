"""Memory and processor time of a process and all that descend from it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import psutil

# who a process of Warren is
DRIVER: Final = "driver"
JAVA: Final = "java"
PLANNERS: Final = "planners"
WORKERS: Final = "workers"
# what Spark's processes that run tasks are started with; all its other Python processes plan
_WORKS: Final = "warren.pipeline.daemon"


@dataclass(frozen=True, slots=True)
class Sample:
    """A process tree at one moment."""

    # seconds since the epoch
    at: float
    # role: bytes. Shared pages are counted in parts, so that the sum is what the machine has less of
    memory: Mapping[str, int]
    # seconds of all processes so far, those that have ended included
    cpu_s: float
    processes: int

    @property
    def total(self) -> int:
        return sum(self.memory.values())


class Sampler:
    """A context manager that looks at a process tree again and again, in a thread of its own."""

    def __init__(self, pid: int, every_s: float = 1.0) -> None:
        self._root = psutil.Process(pid)
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._samples: list[Sample] = []
        # pid and time of birth: seconds that it had used when last seen
        self._used: dict[tuple[int, float], float] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def between(self, first: float, last: float) -> list[Sample]:
        """The samples of that time."""
        return [each for each in self._samples if first <= each.at <= last]

    def look(self) -> Sample | None:
        """A sample of just now; None when the process has ended."""
        try:
            processes = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return None
        memory: Counter[str] = Counter()
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    self._used[process.pid, process.create_time()] = times.user + times.system
                    memory[self._role(process)] += _memory(process.pid)
            except (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError, FileNotFoundError):
                continue
        return Sample(time.time(), dict(memory), sum(self._used.values()), len(processes))

    def _run(self) -> None:
        while (sample := self.look()) is not None:
            self._samples.append(sample)
            if self._ended.wait(self._every_s):
                return

    def _role(self, process: psutil.Process) -> str:
        if process.pid == self._root.pid:
            return DRIVER
        if process.name() == "java":
            return JAVA
        return WORKERS if _WORKS in process.cmdline() else PLANNERS


def cores_used(samples: Sequence[Sample]) -> float:
    """Processor seconds per second."""
    if len(samples) < 2:
        return 0.0
    first, last = samples[0], samples[-1]
    return (last.cpu_s - first.cpu_s) / max(last.at - first.at, 1e-9)


def peak(samples: Sequence[Sample]) -> int:
    """The most memory that all processes had together."""
    return max((each.total for each in samples), default=0)


def typical(samples: Sequence[Sample]) -> dict[str, int]:
    """Role: the median of its memory."""
    roles = {role for each in samples for role in each.memory}
    return {role: int(np.median([each.memory.get(role, 0) for each in samples])) for role in sorted(roles)}


def _memory(pid: int) -> int:
    """Bytes, with the process's part of what it shares (PSS); all of it where the system does not tell."""
    told = Path(f"/proc/{pid}/smaps_rollup")
    if not told.exists():
        return int(psutil.Process(pid).memory_info().rss)
    for line in told.read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    # a process that has just ended has no pages any more
    return 0
