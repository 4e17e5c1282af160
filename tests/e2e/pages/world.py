"""Warren's server over simulated clusters: what the pages show can be changed at will, and in any time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from prometheus_client import CollectorRegistry
from tests.simulated import STEP_MS, Habit, Reader, Simulated
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemoryProgress

from warren.config import AnyNotifier, Settings
from warren.config.sections import Spark
from warren.demo.ports import free_port
from warren.httpserver import Server
from warren.notifier.coordinator import Coordinator
from warren.notifier.links import pages

# after so many steps every habit shows
SETTLED = 30

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a/b?c#d%20e&f",
    "{{7*7}} javascript:alert(1)",
)
# group: status
CAST = {
    "billing": (Habit.KEEPS_UP, "OK"),
    "warehouse": (Habit.LAGS, "OK"),
    "recommender": (Habit.FALLS_BEHIND, "WARN"),
    "fraud-check": (Habit.STOPS, "ERR"),
    "mailer": (Habit.STICKS, "ERR"),
    "replayer": (Habit.REWINDS, "ERR"),
}


def cast() -> list[Reader]:
    readers = [
        Reader(name, "payments" if habit is Habit.STICKS else "orders", habit)
        for name, (habit, _) in CAST.items()
    ]
    return readers + [Reader(name, "orders", Habit.KEEPS_UP) for name in HOSTILE]


@dataclass
class World:
    """Clusters and a server; a context manager."""

    clusters: Sequence[Simulated]
    # of the listener: tokens and the like
    listener: dict[str, Any] = field(default_factory=dict)
    # notifiers by name; with any there are incidents
    notifiers: dict[str, AnyNotifier] = field(default_factory=dict)
    # where those are kept
    folder: Path | None = None
    answers: MemoryAnswers = field(default_factory=MemoryAnswers)
    port: int = field(default_factory=lambda: free_port("127.0.0.1"))
    server: Server | None = None
    notifying: Coordinator | None = None

    def __post_init__(self) -> None:
        self.answers.names = [each.name for each in self.clusters]
        self.show()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        section = {"address": f"127.0.0.1:{self.port}", **self.listener}
        settings = Settings.model_validate({"httpserver": {"default": section}})
        if self.notifiers:
            spark = Spark(checkpoint_dir=str(self.folder))
            settings = settings.model_copy(update={"notifier": self.notifiers, "spark": spark})
            self.notifying = Coordinator(settings, self.answers, pages(settings, self.port, "127.0.0.1"))
            self.notifying.start()
        self.server = Server(
            settings,
            self.answers,
            MemoryLogLevel(),
            registry=CollectorRegistry(),
            notifying=self.notifying,
        )
        self.server.start()

    def stop(self) -> None:
        if self.notifying is not None:
            self.notifying.stop()
            self.notifying = None
        if self.server is not None:
            self.server.stop()
            self.server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def step(self, steps: int = 1) -> None:
        for _ in range(steps):
            for each in self.clusters:
                each.step()
        self.show()

    def show(self) -> None:
        """Serve what the clusters are now."""
        for each in self.clusters:
            self.answers.snapshots[each.name] = each.view
            recent = tuple((each.now_ms - ago * STEP_MS, 300 + ago * 7 % 90) for ago in range(50, 0, -1))
            self.answers.queries[each.name] = MemoryProgress(
                seen_ms=each.now_ms, triggers=each.steps, recent_triggers=recent
            )

    def reader(self, group: str) -> Reader:
        return next(each for one in self.clusters for each in one.readers if each.group == group)


def simulated(
    readers: Sequence[Reader], name: str, *, partitions: int = 2, steps: int = SETTLED
) -> Simulated:
    """A cluster whose past ends now."""
    now_ms = time.time_ns() // 1_000_000
    found = Simulated(readers, partitions, name, now_ms - steps * STEP_MS)
    for _ in range(steps - 1):
        found.step()
    return found


def ten_thousand() -> Simulated:
    """As many groups; one of fifty is stuck."""
    readers = [
        Reader(f"service-{number:05d}", "orders", Habit.KEEPS_UP if number % 50 else Habit.STICKS)
        for number in range(10_000)
    ]
    return simulated(readers, "production", partitions=1, steps=11)
