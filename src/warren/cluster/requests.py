"""Delete requests of the API to the pipeline: numbered files, so that none is lost in a restart."""

from __future__ import annotations

from pathlib import Path

import msgspec

from warren import durable
from warren.clock import now_ms
from warren.common.request import Request


class Requests:
    """A directory of requests, one file each: the API adds them, a trigger applies them.

    A request's number goes into Spark's offsets, so a trigger that is repeated repeats its requests. They are removed
    when the trigger is on the disk.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, request: Request) -> None:
        """Store a request; the next trigger applies it."""
        self._directory.mkdir(parents=True, exist_ok=True)
        number = self.newest(at_least=self._last_taken()) + 1
        durable.write(self._directory / f"{number}.json", msgspec.json.encode(request))

    def newest(self, at_least: int) -> int:
        """The number of the newest request."""
        return max([at_least, *self._numbers()])

    def between(self, after: int, upto: int) -> bytes | None:
        """The requests numbered so, as JSON; None when there are none."""
        read = [self._read(number) for number in sorted(self._numbers()) if after < number <= upto]
        found = [request for request in read if request is not None]
        return msgspec.json.encode(found) if found else None

    def forget(self, upto: int) -> None:
        """These have been applied, and need not be again: delete their files."""
        done = [number for number in self._numbers() if number <= upto]
        if done:
            # numbers must keep increasing when all files are deleted
            durable.write(self._directory / "taken", str(upto).encode())
        for number in done:
            (self._directory / f"{number}.json").unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        return [int(path.stem) for path in self._directory.glob("*.json") if path.stem.isdecimal()]

    def _read(self, number: int) -> Request | None:
        """One request; an unreadable one, as after a power cut, is removed and never stops a trigger."""
        path = self._directory / f"{number}.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Request)
        except (OSError, msgspec.DecodeError) as error:
            _warn("request cannot be read and is dropped", file=str(path), error=str(error))
            path.unlink(missing_ok=True)
            return None

    def _last_taken(self) -> int:
        taken = self._directory / "taken"
        try:
            return int(taken.read_text())
        except FileNotFoundError:
            return 0
        except (OSError, ValueError) as error:
            _warn("number of the last request cannot be read", file=str(taken), error=str(error))
            # above all earlier numbers, or the pipeline would treat the next one as applied
            return now_ms() // 1000


def _warn(event: str, **details: str) -> None:
    # Spark's planning processes load this module at each start of a query, and structlog takes 0.12 s
    import structlog  # noqa: PLC0415

    structlog.get_logger("warren.cluster").warning(event, **details)
