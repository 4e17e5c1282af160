"""A template's text as tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple


class Mark(Enum):
    """The type of a token."""

    TEXT = auto()
    LEFT = auto()
    RIGHT = auto()
    SPACE = auto()
    OPEN = auto()
    CLOSE = auto()
    PIPE = auto()
    DECLARE = auto()
    ASSIGN = auto()
    CHARACTER = auto()  # a comma and the like
    DOT = auto()
    FIELD = auto()
    VARIABLE = auto()
    NAME = auto()
    KEYWORD = auto()
    BOOL = auto()
    NUMBER = auto()
    STRING = auto()
    FAULT = auto()  # its text is the error message; nothing follows
    END = auto()


class Token(NamedTuple):
    mark: Mark
    text: str
    line: int


KEYWORDS: Final = frozenset(
    {
        "block",
        "break",
        "continue",
        "define",
        "else",
        "end",
        "if",
        "nil",
        "range",
        "template",
        "with",
    }
)
_SPACES: Final = " \t\r\n"
_SINGLE: Final = {"=": Mark.ASSIGN, "|": Mark.PIPE, "(": Mark.OPEN, ")": Mark.CLOSE}
_NUMBER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*|0[oO][0-7_]*|0[bB][01_]*|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)"
)
_QUOTED: Final = {
    '"': (re.compile(r'"(?:[^"\\\n]|\\[^\n])*"'), "unterminated quoted string"),
    "'": (re.compile(r"'(?:[^'\\\n]|\\[^\n])*'"), "unterminated character constant"),
    "`": (re.compile(r"`[^`]*`"), "unterminated raw quoted string"),
}
_RUN_OF_SPACE: Final = re.compile(r"[ \t\r\n]+")


def tokens(text: str) -> Iterator[Token]:
    """All tokens; the last one is END or FAULT."""
    return _Scanner(text).run()


def _is_word(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._depth = 0
        # the action before ended with a trim marker: leading spaces of the text are removed
        self._trim = False

    def run(self) -> Iterator[Token]:
        while True:
            yield from self._plain_text()
            if self._at >= len(self._text):
                yield Token(Mark.END, "end of the template", self._line)
                return
            start = self._line
            marked = self._left_marked(self._at + 2)
            begin = self._at + (4 if marked else 2)
            if self._text.startswith("/*", begin):
                fault = self._comment(begin)
                if fault:
                    yield Token(Mark.FAULT, fault, start)
                    return
                continue
            self._advance(begin)
            yield Token(Mark.LEFT, "{{", start)
            for token in self._action():
                yield token
                if token.mark is Mark.FAULT:
                    return

    def _advance(self, to: int) -> str:
        piece = self._text[self._at : to]
        self._line += piece.count("\n")
        self._at = to
        return piece

    def _left_marked(self, at: int) -> bool:
        return self._text.startswith("-", at) and self._text[at + 1 : at + 2] in set(_SPACES)

    def _right(self, at: int) -> int:
        """The length of the action's end at this position: 4 with a trim marker, 2 without, 0 when there is none."""
        if self._text.startswith("-}}", at + 1) and self._text[at] in _SPACES:
            return 4
        return 2 if self._text.startswith("}}", at) else 0

    def _plain_text(self) -> Iterator[Token]:
        end = self._text.find("{{", self._at)
        trim_right = end >= 0 and self._left_marked(end + 2)
        start = self._line
        piece = self._advance(end if end >= 0 else len(self._text))
        if self._trim:
            piece = piece.lstrip(_SPACES)
            self._trim = False
        if trim_right:
            piece = piece.rstrip(_SPACES)
        if piece:
            yield Token(Mark.TEXT, piece, start)

    def _comment(self, at: int) -> str:
        end = self._text.find("*/", at + 2)
        if end < 0:
            return "unclosed comment"
        size = self._right(end + 2) if end + 2 < len(self._text) else 0
        if not size:
            return "comment ends before closing delimiter"
        self._advance(end + 2 + size)
        self._trim = size == 4
        return ""

    def _action(self) -> Iterator[Token]:
        self._depth = 0
        while True:
            if self._at >= len(self._text):
                yield Token(Mark.FAULT, "unclosed action", self._line)
                return
            size = self._right(self._at)
            if size:
                if self._depth:
                    yield Token(Mark.FAULT, "unclosed left paren", self._line)
                    return
                yield Token(Mark.RIGHT, "}}", self._line)
                self._advance(self._at + size)
                self._trim = size == 4
                return
            yield self._inside()

    def _inside(self) -> Token:  # noqa: C901, PLR0911 - one kind of token each
        start, char = self._line, self._text[self._at]
        if char in _SPACES:
            return self._space()
        if char in _SINGLE:
            self._depth += {"(": 1, ")": -1}.get(char, 0)
            if self._depth < 0:
                return Token(Mark.FAULT, "unexpected right paren", start)
            return Token(_SINGLE[char], self._advance(self._at + 1), start)
        if char == ":":
            if not self._text.startswith(":=", self._at):
                return Token(Mark.FAULT, "expected :=", start)
            return Token(Mark.DECLARE, self._advance(self._at + 2), start)
        if char in _QUOTED:
            pattern, fault = _QUOTED[char]
            found = pattern.match(self._text, self._at)
            if not found:
                return Token(Mark.FAULT, fault, start)
            mark = Mark.NUMBER if char == "'" else Mark.STRING
            return Token(mark, self._advance(found.end()), start)
        follows = self._text[self._at + 1 : self._at + 2]
        if char in "+-0123456789" or (char == "." and follows in set("0123456789")):
            return self._number()
        if char in ".$" or _is_word(char):
            return self._word()
        if char.isascii() and char.isprintable():
            return Token(Mark.CHARACTER, self._advance(self._at + 1), start)
        return Token(Mark.FAULT, f"unrecognized character in action: U+{ord(char):04X}", start)

    def _run(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self._text, at)
        return found.end() if found else at

    def _space(self) -> Token:
        start = self._line
        end = self._run(_RUN_OF_SPACE, self._at)
        if self._right(end - 1) == 4:
            end -= 1  # the last one belongs to the trim marker
        return Token(Mark.SPACE, self._advance(end), start)

    def _number(self) -> Token:
        start, begin = self._line, self._at
        end = self._run(_NUMBER, begin)
        if end < len(self._text) and _is_word(self._text[end]):
            return Token(Mark.FAULT, f'bad number syntax: "{self._text[begin : end + 1]}"', start)
        return Token(Mark.NUMBER, self._advance(end), start)

    def _word(self) -> Token:
        start, begin, size = self._line, self._at, len(self._text)
        end = begin + 1
        if self._text[begin] not in ".$" or not self._ends(end):
            while end < size and _is_word(self._text[end]):
                end += 1
        if not self._ends(end):
            return Token(Mark.FAULT, f"bad character U+{ord(self._text[end]):04X}", start)
        word = self._advance(end)
        if word == ".":
            return Token(Mark.DOT, word, start)
        if word[0] in ".$":
            return Token(Mark.FIELD if word[0] == "." else Mark.VARIABLE, word, start)
        if word in KEYWORDS:
            return Token(Mark.KEYWORD, word, start)
        return Token(Mark.BOOL if word in {"true", "false"} else Mark.NAME, word, start)

    def _ends(self, at: int) -> bool:
        """Whether a name may end here."""
        if at >= len(self._text):
            return True
        return self._text[at] in " \t\r\n.,|:)(" or self._text.startswith("}}", at)
