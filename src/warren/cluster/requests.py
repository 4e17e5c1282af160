"""Wishes of the API on their way into the pipeline: numbered files, so that none is lost in a restart."""

from __future__ import annotations

from pathlib import Path

import msgspec

from warren.storage.request import Request


class Requests:
    """A directory of requests, one file each: the API adds, the pipeline takes them in a trigger and then removes them.

    A request's number goes into Spark's offsets, so a trigger that is repeated repeats its requests.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, request: Request) -> None:
        """Write a request down; the next trigger takes it."""
        self._directory.mkdir(parents=True, exist_ok=True)
        number = self.newest(at_least=self._last_taken()) + 1
        draft = self._directory / f"{number}.draft"
        draft.write_bytes(msgspec.json.encode(request))
        draft.rename(self._directory / f"{number}.json")

    def newest(self, at_least: int) -> int:
        """The number of the newest request."""
        return max([at_least, *self._numbers()])

    def between(self, after: int, upto: int) -> bytes | None:
        """The requests numbered so, as JSON; None when there are none."""
        found = [
            msgspec.json.decode((self._directory / f"{number}.json").read_bytes(), type=Request)
            for number in sorted(self._numbers())
            if after < number <= upto
        ]
        return msgspec.json.encode(found) if found else None

    def forget(self, upto: int) -> None:
        """These have been carried out."""
        done = [number for number in self._numbers() if number <= upto]
        if done:
            # numbers go on upwards when all files are gone
            (self._directory / "taken").write_text(str(upto))
        for number in done:
            (self._directory / f"{number}.json").unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        return [int(path.stem) for path in self._directory.glob("*.json")]

    def _last_taken(self) -> int:
        taken = self._directory / "taken"
        return int(taken.read_text()) if taken.exists() else 0
