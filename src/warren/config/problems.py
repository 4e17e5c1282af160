"""Problems of a configuration, with messages that a person can act on."""

import difflib
from collections.abc import Iterable
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


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like it, if one does."""
    found = difflib.get_close_matches(name.lower(), {one.lower(): one for one in known}, n=1, cutoff=0.6)
    return next((one for one in known if found and one.lower() == found[0]), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A question with the nearest name, or the other advice when none is near."""
    names = tuple(known)
    near = nearest(name, names)
    return f"did you mean {near}?" if near else otherwise
