"""Go's literals: parsing and quoting of numbers, characters and strings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from warren.gotemplate.types import as_bytes, as_text

_SHORT: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_SHORT_BACK: Final = {number: letter for letter, number in _SHORT.items()}
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)"
)


class LiteralError(ValueError):
    """Not a valid Go literal."""


@dataclass(frozen=True, slots=True)
class Number:
    """The possible values of a number literal; None: not of that type."""

    text: str
    integer: int | None = None
    unsigned: int | None = None
    float: float | None = None


def number(text: str) -> Number:
    """A number literal of a template; characters are numbers too."""
    if text.startswith("'"):
        code = character(text)
        return Number(text, code, code, float(code))
    if _INTEGER.fullmatch(text):
        return _whole(text, _integer(text))
    if not set(text) & set(".eE"):
        raise LiteralError(f"integer overflow: {text}")
    real = _float(text)
    if real.is_integer() and -(2**63) <= real < 2**63:
        whole = int(real)
        return Number(text, whole, whole if whole >= 0 else None, real)
    return Number(text, float=real)


def _whole(text: str, value: int) -> Number:
    integer = value if -(2**63) <= value < 2**63 else None
    unsigned = value if 0 <= value < 2**64 and text[0] not in "+-" else None
    if integer is None and unsigned is None:
        raise LiteralError(f"integer overflow: {text}")
    if integer == 0:
        unsigned = 0
    return Number(text, integer, unsigned, float(value))


def _integer(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").replace("_", "").lower()
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise LiteralError(f"bad number syntax: {quoted(text)}") from None
    if value in {float("inf"), float("-inf")}:
        raise LiteralError(f"number too large: {text}")
    return value


def character(text: str) -> int:
    """The code of 'x'."""
    body = text[1:-1]
    if not text.endswith("'") or len(text) < 3:
        raise LiteralError(f"malformed character constant: {text}")
    data, end = _unescaped(body, 0, "'")
    if end != len(body) or body == "'":
        raise LiteralError(f"malformed character constant: {text}")
    if isinstance(data, bytes):
        return data[0]
    return data


def unquote(text: str) -> str:
    """The value of a "quoted" or `raw` string literal."""
    body = text[1:-1]
    if text[0] == "`":
        return body.replace("\r", "")
    if "\\" not in body:
        return body
    parts = bytearray()
    at = 0
    while at < len(body):
        data, at = _unescaped(body, at, '"')
        parts += data if isinstance(data, bytes) else as_bytes(chr(data))
    return as_text(bytes(parts))


def _unescaped(body: str, at: int, quote: str) -> tuple[int | bytes, int]:
    """The next character as its code, or as a single byte, and the position after it."""
    if body[at] != "\\":
        return ord(body[at]), at + 1
    letter = body[at + 1 : at + 2]
    at += 2
    if letter in _SHORT and letter:
        return _SHORT[letter], at
    if letter == quote:
        return ord(quote), at
    if letter in {"x", "u", "U"}:
        return _by_number(letter, body, at)
    if letter and letter in "01234567":
        octal = body[at - 1 : at + 2]
        if not re.fullmatch("[0-7]{3}", octal) or int(octal, 8) > 255:
            raise LiteralError("invalid syntax")
        return bytes([int(octal, 8)]), at + 2
    raise LiteralError("invalid syntax")


def _by_number(letter: str, body: str, at: int) -> tuple[int | bytes, int]:
    size = {"x": 2, "u": 4, "U": 8}[letter]
    digits = body[at : at + size]
    if not re.fullmatch(f"[0-9a-fA-F]{{{size}}}", digits):
        raise LiteralError("invalid syntax")
    code = int(digits, 16)
    if letter == "x":
        return bytes([code]), at + size
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid syntax")
    return code, at + size


def quoted(text: str) -> str:
    """In double quotes, with escapes."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    code = ord(char)
    if char in {'"', "\\"}:
        return "\\" + char
    if char.isprintable():
        return char
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code in _SHORT_BACK:
        return "\\" + _SHORT_BACK[code]
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code <= 0xDFFF:
        code = 0xFFFD
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
