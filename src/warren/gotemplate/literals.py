"""Go's literals: numbers, characters and strings, out of source text and back into it."""

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
_DECIMAL_FLOAT: Final = re.compile(
    r"[+-]?(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
)
_HEX_FLOAT: Final = re.compile(r"[+-]?0[xX]_?[0-9a-fA-F_]*\.?[0-9a-fA-F_]*[pP][+-]?[0-9_]+")


class LiteralError(ValueError):
    """Not a literal of Go."""


@dataclass(frozen=True, slots=True)
class Number:
    """Everything that one number may stand for; None: not that."""

    text: str
    integer: int | None = None
    unsigned: int | None = None
    float: float | None = None
    complex: complex | None = None


def number(text: str) -> Number:
    """A number as it stands in a template; characters are numbers too."""
    if text.startswith("'"):
        code = character(text)
        return Number(text, code, code, float(code))
    if text.endswith("i"):
        return _imaginary(text)
    if _INTEGER.fullmatch(text):
        return _whole(text, _integer(text))
    if not set(text) & set(".eEpP"):
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
    if _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text.replace("_", ""))
        except (ValueError, OverflowError):
            raise LiteralError(f"bad number syntax: {quoted(text)}") from None
    if not _DECIMAL_FLOAT.fullmatch(text):
        raise LiteralError(f"bad number syntax: {quoted(text)}")
    value = float(text.replace("_", ""))
    if value in {float("inf"), float("-inf")}:
        raise LiteralError(f"number too large: {text}")
    return value


def _imaginary(text: str) -> Number:
    body = text[:-1]
    # the sign between the two parts, not that of an exponent
    split = max(
        (at for at in range(1, len(body)) if body[at] in "+-" and body[at - 1] not in "eEpP"), default=0
    )
    imaginary = _part(body[split:])
    if split:
        return Number(text, complex=complex(_part(body[:split]), imaginary))
    return Number(text, complex=complex(0.0, imaginary))


def _part(text: str) -> float:
    if _INTEGER.fullmatch(text):
        return float(_integer(text))
    return _float(text)


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
    """The string that "a literal" or `a raw one` stands for."""
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
    """The next character as its code, or as a byte of its own, and where the one after it begins."""
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


def quoted(text: str, *, ascii_only: bool = False) -> str:
    """In double quotes, with escapes."""
    return '"' + "".join(_escaped(char, '"', ascii_only=ascii_only) for char in text) + '"'


def quoted_character(code: int, *, ascii_only: bool = False) -> str:
    """In single quotes, with escapes."""
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF or code < 0:
        code = 0xFFFD
    return "'" + _escaped(chr(code), "'", ascii_only=ascii_only) + "'"


def _escaped(char: str, quote: str, *, ascii_only: bool) -> str:
    code = ord(char)
    if char in {quote, "\\"}:
        return "\\" + char
    if char.isprintable() and (code < 0x80 or not ascii_only):
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


def can_backquote(text: str) -> bool:
    """Whether it may stand between `back quotes` as it is."""
    return not any(
        (ord(char) < 0x20 and char != "\t") or char in "`\x7f\ufeff" or 0xD800 <= ord(char) <= 0xDFFF
        for char in text
    )
