"""A notifier in a process of its own, without Spark: `python -m tests.integration.notifier.child SETTINGS SCENE NAME`.

SETTINGS is a configuration file. SCENE is a JSON file of group: status that is read anew at every look.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from tests.unit.httpserver.memory import MemorySnapshot
from tests.unit.notifier.scenes import Progress, snapshot_of

from warren.common.status import Status
from warren.config import load
from warren.notifier.coordinator import Coordinator


class SceneFile:
    """Implements `warren.notifier.coordinator.Snapshots`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def clusters(self) -> list[str]:
        return ["local"]

    def snapshot(self, cluster: str) -> MemorySnapshot:
        statuses = json.loads(self._path.read_text())
        return snapshot_of(**{name: Status[status] for name, status in statuses.items()})

    def progress(self, cluster: str) -> Progress:
        return Progress(caught_up=True)


def main(settings: str, scene: str, name: str) -> None:
    coordinator = Coordinator(load(Path(settings), {}), SceneFile(Path(scene)), lambda *_: "", name=name)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    coordinator.start()
    try:
        signal.pause()
    finally:
        coordinator.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
