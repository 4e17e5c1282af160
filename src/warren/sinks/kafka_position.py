"""What the kafka sink notes of a sample before it commits it: after a crash it shows whether the commit was made."""

from __future__ import annotations

import uuid
from pathlib import Path

import msgspec

from warren import durable
from warren.sinks.writer import TryAgainError


class Position(msgspec.Struct, frozen=True):
    """The transaction that was made last, or was about to be."""

    # of the producer: stays the same as long as this file does, so that brokers end what a former process left open
    transactional_id: str
    # the process that has the producer: another one has to make its own
    owner: str = ""
    # where it was written, and which sample it was, with the sample's time
    servers: str = ""
    topic: str = ""
    sample: int = 0
    time_ms: int = 0
    # of one of its records
    partition: int = -1
    offset: int = -1


class PositionFile:
    """Beside the sink's plan."""

    def __init__(self, path: Path, name: str) -> None:
        """`name`: the sink's."""
        self._path = path
        self._name = name

    def read(self) -> Position:
        """A new one when there is none that can be read."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Position)
        except (OSError, msgspec.DecodeError):
            # never the same as another Warren's: those two would end each other's transactions
            return Position(f"warren-{self._name}-{uuid.uuid4().hex}")

    def write(self, position: Position) -> None:
        """On the disk when this returns."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            durable.write(self._path, msgspec.json.encode(position))
        except OSError as error:
            raise TryAgainError(
                f"The position of the sink cannot be written to {self._path} ({error.strerror}): nothing is written "
                "to Kafka until it can."
            ) from error
