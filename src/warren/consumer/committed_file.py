"""What groups have committed, from one process of a poller to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from warren import durable
from warren.kafka.group_admin import TopicPartition


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """What is known of one group."""

    # topic partitions that it has committed
    places: frozenset[TopicPartition]
    # the hour of its last answer
    answered_ms: int


class CommittedFile:
    """A file that a poller writes, and reads at its start: so it can ask for what nobody lists any more. If it is lost,
    what is hidden at the next start is taken for deleted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: Mapping[str, Remembered] = {}

    def read(self) -> dict[str, Remembered]:
        try:
            return msgspec.msgpack.decode(self._path.read_bytes(), type=dict[str, Remembered])
        except (OSError, msgspec.MsgspecError):
            return {}

    def write(self, groups: Mapping[str, Remembered]) -> None:
        if groups == self._written:
            return
        # a full disk: tried again in the next round
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            durable.write(self._path, msgspec.msgpack.encode(groups))
            self._written = dict(groups)
