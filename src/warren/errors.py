"""Every error that Warren shows to a person: one tree, each with a message that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class WarrenError(Exception):
    """Something a person has to act on; shown as its message, never as a traceback."""

    # exit code of the process: 1 failure, 2 wrong usage or configuration
    exit_code: ClassVar[int] = 1


class ConfigError(WarrenError):
    """The configuration cannot be used: all of its problems at once."""

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
