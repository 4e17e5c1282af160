"""Topic partitions with windows that lists of topics lack: passed from the driver to the planner."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

# topic and partition
TopicPartition = tuple[str, int]


class MissingPartitions:
    """A file that the driver writes and the planner reads. A lost file is written again."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "missing.json"
        self._told: Sequence[TopicPartition] | None = None

    def write(self, tps: Sequence[TopicPartition]) -> None:
        """Have the next polls check these."""
        if tps == self._told or not (tps or self._path.exists()):
            return
        draft = self._path.with_suffix(".draft")
        # a full disk: tried again in the next trigger
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(tps))
            draft.rename(self._path)
            self._told = tps

    def read(self) -> tuple[TopicPartition, ...]:
        """Those that the next poll checks."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=tuple[TopicPartition, ...])
        except (OSError, msgspec.DecodeError):
            return ()
