"""Problems of a configuration, with messages that a person can act on."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: where, what, and how to fix it."""

    # an error prevents the start, a warning does not
    severity: Literal["error", "warning"]
    # dotted, for example storage.default.intervals; the environment variable's name when it comes from there
    key: str
    what: str
    remedy: str
    # line in the file, from 1; None when it has none
    line: int | None = None

    def __str__(self) -> str:
        prefix = f"line {self.line}: " if self.line is not None else ""
        return (
            f"{prefix}{self.key}: {self.what}; {self.remedy}"
            if self.key
            else f"{prefix}{self.what}; {self.remedy}"
        )
