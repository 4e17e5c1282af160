"""A cluster's triggers without Spark: the real source with real brokers, the real operator and read model."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unit.pipeline_double import Pipeline

from warren.clock import now_ms
from warren.cluster.missing_partitions import MissingPartitions
from warren.cluster.source import HeadsSettings
from warren.common.group_filter import GroupFilter
from warren.common.look import LookTaken
from warren.consumer.polling import PolledSettings, label
from warren.consumer.source import OffsetsSettings
from warren.kafka.login import Property
from warren.pipeline.source import ClusterReader, SourceSettings
from warren.snapshot.view import ClusterView
from warren.storage.bucket import WindowSettings

INTERVALS = 5


class Triggers:
    """Reads a cluster step by step: a source, a pipeline, and the last view."""

    def __init__(
        self, client: dict[str, Property], directory: Path, polled: PolledSettings | None = None
    ) -> None:
        """Commits come from the offsets topic, or from a consumer that is polled."""
        offsets = OffsetsSettings(
            "own", client, "__consumer_offsets", False, False, 1_000_000, 1, INTERVALS, 0, GroupFilter()
        )
        heads = HeadsSettings(client, 1_000, directory)
        self._settings = SourceSettings(heads, (), (polled,)) if polled else SourceSettings(heads, (offsets,))
        self._watched = {label(polled) if polled else "own": GroupFilter()}
        self._reader = ClusterReader(self._settings)
        self._position: dict[str, Any] = self._reader.initialOffset()
        self._missing = MissingPartitions(directory)
        self._pipeline = Pipeline(WindowSettings(INTERVALS, 0, 604_800_000, 1_000))
        self._pipeline.restart(self._watched)
        self.view = self._trigger()

    def restart(self) -> None:
        """Another process goes on with the positions and the windows of this one."""
        self._reader = ClusterReader(self._settings)
        self._pipeline.restart(self._watched)
        self.view = self._trigger()

    @property
    def look(self) -> LookTaken:
        return self._pipeline.model.look

    def until(self, found: Callable[[ClusterView], Any], within_s: float = 60.0) -> ClusterView:
        """The first view that fits."""
        end = time.monotonic() + within_s
        while not found(self.view):
            assert time.monotonic() < end, (
                self.error,
                {name: self.view.detail(name) for name in self.view.groups()},
            )
            self.view = self._trigger()
        return self.view

    def more(self, count: int) -> ClusterView:
        """So many triggers on."""
        for _ in range(count):
            self.view = self._trigger()
        return self.view

    @property
    def error(self) -> str:
        return self._pipeline.model.look.error

    def _trigger(self) -> ClusterView:
        end = self._reader.latestOffset(self._position, None)
        tasks = self._reader.partitions(self._position, end)
        batches = [batch for task in tasks for batch in self._reader.read(task)]
        self._position = end
        view = self._pipeline.trigger(*batches, now_ms=now_ms())
        self._missing.write(self._pipeline.model.missing)
        return view
