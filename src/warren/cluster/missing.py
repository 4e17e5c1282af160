"""Topic partitions that windows are kept for and lists of topics lack, on their way to whoever asks the brokers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

# topic and partition
Place = tuple[str, int]


class MissingPlaces:
    """A file between the driver, which hears of them, and the planner. One that is lost is written again."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "missing.json"
        self._told: Sequence[Place] | None = None

    def tell(self, places: Sequence[Place]) -> None:
        """Have the next looks ask for these."""
        if places == self._told or not (places or self._path.exists()):
            return
        draft = self._path.with_suffix(".draft")
        # a full disk: they stay where they are until there is room
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(places))
            draft.rename(self._path)
            self._told = places

    def asked(self) -> tuple[Place, ...]:
        """Those that the next look asks for."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=tuple[Place, ...])
        except (OSError, msgspec.DecodeError):
            return ()
