"""Regular expressions as Burrow's users write them: RE2, which is what Go's regexp is too.

A search takes time in proportion to the name, whatever the expression; Python's `re` tries `(a+)+$` for hours.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import re2

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False  # RE2 would write them to the process's own standard error
_OPTIONS.never_capture = True  # whether it matches is all that is asked

_CLASSES: Final = (
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
    "word", "xdigit",
)  # fmt: skip
# how RE2's message begins, and the part of the expression that follows it: what is wrong, what to do;
# the first that fits counts
_FAULTS: Final = (
    ("missing )", "", "a ( is never closed", "add the missing )"),
    ("unexpected )", "", "there is a ) without its (", r"remove the ), or write \) when it is meant literally"),
    ("missing ]", "", "a bracket is never closed", "add ]"),
    ("no argument", "", "nothing to repeat", "put something before it that can repeat, for example .*"),
    ("bad repetition", "", "{part} repeats what repeats already", "keep one of the two signs"),
    ("invalid repetition", "", "{part} is no number of repetitions", "write at most 1000 in all, the smaller first"),
    ("invalid character class", "[:", "{part} is not a class", f"use one of {', '.join(_CLASSES)}"),
    ("invalid character class", "\\", "{part} is not a Unicode class", r"use one such as \p{L} or \p{Greek}"),
    ("invalid character class", "", "bad character range {part}", "put the smaller character first"),
    ("invalid escape", "", "{part} has no meaning", r"remove the backslash, or write \\ when it is meant literally"),
    ("trailing \\", "", "it ends with a backslash", r"remove it, or write \\ when it is meant literally"),
    ("invalid named", "", "a group has no valid name", "write (?P<name>…), with letters, digits and _ in the name"),
    ("invalid perl", "", "{part} is not supported", "use groups (…), (?:…), (?P<name>…) and the flags i, m, s and U"),
    ("pattern too large", "", "it is too large", "make its repetitions smaller"),
)  # fmt: skip


class PatternError(ValueError):
    """A regular expression that cannot be used: why, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that is looked for anywhere in a name, as Go's `MatchString` does."""

    # as it stands in the configuration
    source: str
    # RE2's object; it can be pickled, and has `search`
    regex: Any = field(compare=False, repr=False)

    def matches(self, name: str) -> bool:
        """Whether the expression occurs in the name."""
        # bytes are faster: RE2 need not say at which character the match is
        return self.regex.search(name.encode("utf-8", "surrogatepass")) is not None

    def __str__(self) -> str:
        return self.source


def compiled(source: str) -> Pattern:
    """The expression ready for use; PatternError says what is wrong with it."""
    try:
        return Pattern(source, re2.compile(source, _OPTIONS))
    except re2.error as error:
        raise _in_words(source, error.args[0].decode("utf-8", "replace")) from None


def _in_words(source: str, message: str) -> PatternError:
    _, _, part = message.partition(": ")
    position = f" at character {source.index(part) + 1}" if part != source and source.count(part) == 1 else ""
    for start, part_start, reason, remedy in _FAULTS:
        if message.startswith(start) and part.startswith(part_start):
            return PatternError(reason.replace("{part}", part) + position, remedy)
    return PatternError(message, "correct the expression")
