"""Memory and processor time of a process and its descendants."""

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

# roles of Warren's processes
DRIVER: Final = "driver"
JAVA: Final = "java"
PLANNERS: Final = "planners"
WORKERS: Final = "workers"
# argument of Spark's Python workers; all its other Python processes are planners
_WORKER_MODULE: Final = "warren.pipeline.daemon"


@dataclass(frozen=True, slots=True)
class Sample:
    """A process tree at one moment."""

    # seconds since the epoch
    at: float
    # role: bytes. Shared pages are counted in parts (PSS), so that the sum is the memory in use
    memory: Mapping[str, int]
    # role: processor seconds so far, those of processes that have ended included
    cpu_s: Mapping[str, float]
    processes: int

    @property
    def total(self) -> int:
        return sum(self.memory.values())


class Sampler:
    """A context manager that samples a process tree periodically, in its own thread."""

    def __init__(self, pid: int, every_s: float = 1.0) -> None:
        self._root = psutil.Process(pid)
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._samples: list[Sample] = []
        # pid and start time: role, and its processor seconds at the last sample
        self._used: dict[tuple[int, float], tuple[str, float]] = {}

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
        """A sample of now; None when the process has ended."""
        try:
            processes = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return None
        memory: Counter[str] = Counter()
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    role = self._role(process)
                    self._used[process.pid, process.create_time()] = role, times.user + times.system
                    memory[role] += _memory(process.pid)
            except (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError, FileNotFoundError):
                continue
        used: Counter[str] = Counter()
        for role, seconds in self._used.values():
            used[role] += seconds  # type: ignore[assignment] # a counter of seconds
        return Sample(time.time(), dict(memory), dict(used), len(processes))

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
        return WORKERS if _WORKER_MODULE in process.cmdline() else PLANNERS


def cores_used(samples: Sequence[Sample]) -> dict[str, float]:
    """Role: processor seconds per second."""
    if len(samples) < 2:
        return {}
    first, last = samples[0], samples[-1]
    seconds = max(last.at - first.at, 1e-9)
    return {role: (last.cpu_s[role] - first.cpu_s.get(role, 0.0)) / seconds for role in sorted(last.cpu_s)}


def peak(samples: Sequence[Sample]) -> int:
    """The peak memory of all processes together."""
    return max((each.total for each in samples), default=0)


def typical(samples: Sequence[Sample]) -> dict[str, int]:
    """Role: the median of its memory."""
    roles = {role for each in samples for role in each.memory}
    return {role: int(np.median([each.memory.get(role, 0) for each in samples])) for role in sorted(roles)}


def thread_count(pid: int) -> int:
    """Threads of a process and its descendants."""
    root = psutil.Process(pid)
    count = 0
    for process in (root, *root.children(recursive=True)):
        try:
            count += process.num_threads()
        except psutil.NoSuchProcess:
            continue
    return count


def _memory(pid: int) -> int:
    """Bytes, with the process's part of what it shares (PSS); RSS where the system has no PSS."""
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    if not rollup.exists():
        return int(psutil.Process(pid).memory_info().rss)
    for line in rollup.read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    # a process that has just ended has no pages any more
    return 0
