"""Telegraf's patterns for names (`*`, `?`, `[a-z]`, `{a,b}`), which people have in their configurations."""

import re
from dataclasses import dataclass, field
from typing import Final

from warren.config.patterns import PatternError

_TOKEN: Final = re.compile(r"\\.|\*+|\[[!^]?[^\]]+\]|.", re.DOTALL)
# sign: the same in a regular expression
_SIGNS: Final = {"*": ".*", "**": ".*", "?": ".", "{": "(?:", "}": ")", ",": "|"}


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern that a whole name has to fit."""

    # as it stands in the configuration
    source: str
    regex: re.Pattern[str] = field(compare=False, repr=False)

    def matches(self, name: str) -> bool:
        """Whether the whole name fits."""
        return self.regex.fullmatch(name) is not None

    def __str__(self) -> str:
        return self.source


def compiled(source: str) -> Glob:
    """The pattern ready for use; PatternError says what is wrong with it."""
    try:
        return Glob(source, re.compile(_translated(source), re.DOTALL))
    except re.error as error:
        raise PatternError(str(error.msg), "correct the pattern") from None


def _translated(source: str) -> str:
    """The same pattern as a regular expression."""
    out, depth = "", 0
    for sign in _TOKEN.findall(source):
        if sign == "[":
            raise PatternError("a [ is never closed", r"add ], or write \[ when it is meant literally")
        if sign == "{":
            depth += 1
        elif sign in {"}", ","} and not depth:
            # outside of braces they stand for themselves
            out += re.escape(sign)
            continue
        elif sign == "}":
            depth -= 1
        out += _SIGNS.get(sign) or _name(sign)
    if depth:
        raise PatternError("a { is never closed", r"add }, or write \{ when it is meant literally")
    return out


def _name(sign: str) -> str:
    """A character, an escaped one, or a set of them in brackets, where only the dash keeps its meaning."""
    if sign.startswith("["):
        within = sign[1:-1]
        negated = within[:1] in {"!", "^"}
        characters = (each if each == "-" else re.escape(each) for each in within[negated:])
        return f"[{'^' if negated else ''}{''.join(characters)}]"
    return re.escape(sign[1:] or sign if sign.startswith("\\") else sign)
