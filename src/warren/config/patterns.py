"""Regular expressions as Burrow's users write them (Go's RE2 syntax), understood by Python's `re`."""

import re
from dataclasses import dataclass, field
from typing import Final

# POSIX class: the characters it stands for inside brackets
POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# Go's classes know ASCII only, Python's know all of Unicode: letter: the same characters spelled out
ASCII_CLASSES: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
# what Go has and Python's `re` has not: start of the construct: what it is, what to write instead
UNSUPPORTED: Final = {
    r"\p": ("Unicode classes are not supported", "list the characters, for example [A-Za-z]"),
    r"\P": ("Unicode classes are not supported", "list the characters, for example [^A-Za-z]"),
    r"\C": ("\\C (any byte) is not supported", "write . instead"),
}
# how Python's complaint begins: what to do about it
REMEDIES: Final = {
    "missing )": "add the missing )",
    "unbalanced parenthesis": r"remove the ), or write \) when it is meant literally",
    "nothing to repeat": "put something before it that can repeat, for example .*",
    "multiple repeat": "keep one of the two signs",
    "bad escape": "remove the backslash",
    "bad character range": "put the smaller character first",
}

_POSIX: Final = re.compile(r"\[:(\^?)(\w+):\]")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_CODE_POINT: Final = re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}")


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
    regex: re.Pattern[str] = field(compare=False, repr=False)

    def matches(self, name: str) -> bool:
        """Whether the expression occurs in the name."""
        return self.regex.search(name) is not None

    def __str__(self) -> str:
        return self.source


def compiled(source: str) -> Pattern:
    """The expression ready for use; PatternError says what is wrong with it."""
    try:
        return Pattern(source, re.compile(translated(source)))
    except re.error as error:
        # the place holds for the translation, which may be longer than what was written
        same = error.pos is not None and translated(source)[: error.pos + 1] == source[: error.pos + 1]
        place = f" at character {(error.pos or 0) + 1}" if same else ""
        remedies = (remedy for start, remedy in REMEDIES.items() if error.msg.startswith(start))
        raise PatternError(f"{error.msg}{place}", next(remedies, "correct the expression")) from None


def translated(source: str) -> str:
    """The same expression in Python's syntax."""
    return _Translation(source).run()


class _Translation:
    """One left-to-right pass over an expression."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.out: list[str] = []
        # per open group, how many scoped flag groups to close at its end; the first is the whole expression
        self.scopes: list[int] = [0]
        # with (?m), $ means the end of a line, as in Python
        self.multiline = any("m" in flags for flags in re.findall(r"\(\?([imsU]+)", source))

    def run(self) -> str:
        while self.at < len(self.source):
            rest = self.source[self.at :]
            if rest.startswith("\\"):
                self.escape(rest)
            elif rest.startswith("["):
                self.bracket()
            elif rest.startswith("("):
                self.open_group(rest)
            elif rest.startswith(")"):
                closing = self.scopes.pop() if len(self.scopes) > 1 else 0
                self.take(1, ")" * closing + ")")
            elif rest.startswith("$") and not self.multiline:
                self.take(1, r"\Z")  # Python's $ would also match before a last line break
            else:
                self.take(1, rest[0])
        return "".join(self.out) + ")" * self.scopes[0]

    def take(self, length: int, text: str) -> None:
        self.at += length
        self.out.append(text)

    def escape(self, rest: str) -> None:
        letter = rest[1:2]
        if rest[:2] in UNSUPPORTED:
            raise PatternError(*UNSUPPORTED[rest[:2]])
        if letter == "Q":
            end = rest.find(r"\E")
            literal = rest[2:] if end < 0 else rest[2:end]
            self.take(len(rest) if end < 0 else end + 2, re.escape(literal))
        elif letter == "z":
            self.take(2, r"\Z")
        elif letter in ASCII_CLASSES:
            self.take(2, f"[{ASCII_CLASSES[letter]}]")
        elif letter.lower() in ASCII_CLASSES and letter:
            self.take(2, f"[^{ASCII_CLASSES[letter.lower()]}]")
        elif letter in {"b", "B"}:
            self.take(2, rf"(?a:\{letter})")
        elif code := _CODE_POINT.match(rest):
            self.take(len(code[0]), re.escape(chr(int(code[1], 16))))
        else:
            self.take(2, rest[:2])

    def bracket(self) -> None:
        """A bracket expression: POSIX names and ASCII classes spelled out, the rest as it is."""
        start = self.at
        self.take(1, "[")
        if self.source.startswith("^", self.at):
            self.take(1, "^")
        if self.source.startswith("]", self.at):
            self.take(1, r"\]")
        while self.at < len(self.source) and self.source[self.at] != "]":
            rest = self.source[self.at :]
            if posix := _POSIX.match(rest):
                self.posix(posix)
            elif rest.startswith("\\"):
                self.escape_in_bracket(rest)
            else:
                self.take(1, r"\[" if rest[0] == "[" else rest[0])
        if self.at >= len(self.source):
            raise PatternError(f"the bracket opened at character {start + 1} is never closed", "add ]")
        self.take(1, "]")

    def posix(self, match: re.Match[str]) -> None:
        if match[2] not in POSIX_CLASSES:
            known = ", ".join(sorted(POSIX_CLASSES))
            raise PatternError(f"[:{match[2]}:] is not a class", f"use one of {known}")
        if match[1]:
            raise PatternError(f"[:^{match[2]}:] is not supported", f"write [^[:{match[2]}:]]")
        self.take(len(match[0]), POSIX_CLASSES[match[2]])

    def escape_in_bracket(self, rest: str) -> None:
        letter = rest[1:2]
        if rest[:2] in UNSUPPORTED:
            raise PatternError(*UNSUPPORTED[rest[:2]])
        if letter in ASCII_CLASSES:
            self.take(2, ASCII_CLASSES[letter])
        elif code := _CODE_POINT.match(rest):
            self.take(len(code[0]), re.escape(chr(int(code[1], 16))))
        else:
            self.take(2, rest[:2])

    def open_group(self, rest: str) -> None:
        flags = _FLAGS.match(rest)
        if flags and "U" in flags[0]:
            raise PatternError("the flag U (lazy by default) is not supported", "write *? and +? instead")
        if flags and flags[3] == ")":
            # Go's flags hold until the end of the group they stand in; Python wants a group of their own
            self.take(len(flags[0]), f"(?{flags[1]}{flags[2] or ''}:" if flags[1] or flags[2] else "")
            self.scopes[-1] += 1 if flags[1] or flags[2] else 0
            return
        self.scopes.append(0)
        if re.match(r"\(\?<[A-Za-z_]", rest):
            self.take(3, "(?P<")
        else:
            self.take(1, "(")
