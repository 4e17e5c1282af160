"""Go's fmt: values as text, with verbs, flags, widths and its output for a bad verb."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from warren.gotemplate.floats import formatted
from warren.gotemplate.literals import quoted
from warren.gotemplate.types import (
    INTEGERS,
    GoError,
    Kind,
    Type,
    Value,
    as_bytes,
)

# a longer text is a mistake, and would exhaust the memory
MAX_TEXT: Final = 8 * 1024 * 1024
# Go's limit for width and precision
_MAX_WIDTH: Final = 1_000_000
_MAX_CODE: Final = 0x10FFFF
# a % with flags, width, precision, [n] for the n-th argument, and the verb, "" at the end of the format
_DIRECTIVE: Final = re.compile(
    r"%(?P<flags>[-+ 0#]*)(?P<width>[0-9]*)(?:\.(?P<precision>[0-9]*))?(?:\[(?P<index>[0-9]+)\])?(?P<verb>.?)",
    re.DOTALL,
)
# verbs of Go that messages do not need, and widths that are arguments
_UNSUPPORTED: Final = frozenset("bopwOU*[")
_FLOAT_VERBS: Final = {"v": ("g", -1), "g": ("g", -1), "G": ("G", -1), "F": ("f", 6)} | {
    verb: (verb, 6) for verb in "feE"
}


@dataclass(frozen=True, slots=True)
class _Directive:
    """One directive: a % up to its verb."""

    verb: str = "v"
    width: int = 0
    precision: int | None = None
    minus: bool = False
    plus: bool = False
    space: bool = False
    zero: bool = False
    # %+v: structs show the names of their fields
    names: bool = False
    # output for a bad verb: String() is not called
    faulty: bool = False

    def padded(self, text: str, *, zero: bool | None = None) -> str:
        # bytes that are not UTF-8 count as one character each, as surrogates do here
        if self.minus:
            return text.ljust(self.width)
        return text.rjust(self.width, "0" if (self.zero if zero is None else zero) else " ")


_PLAIN: Final = _Directive()


def sprint(values: list[Value | None]) -> str:
    """All values, with a space between two that are not strings."""
    parts: list[str] = []
    previous_is_text = True
    for value in values:
        is_text = value is not None and value.type.kind is Kind.STRING
        if parts and not is_text and not previous_is_text:
            parts.append(" ")
        parts.append(shown(value))
        previous_is_text = is_text
    return _limited("".join(parts))


def sprintln(values: list[Value | None]) -> str:
    return _limited(" ".join(shown(value) for value in values) + "\n")


def shown(value: Value | None) -> str:
    """As %v shows it."""
    if value is not None and value.type.text is None:
        # the fast path for nearly all actions
        if value.type.kind is Kind.STRING:
            return str(value.data)
        if value.type.kind in INTEGERS:
            return f"{value.data:d}"
    return _value(value, _PLAIN)


def sprintf(form: str, values: list[Value | None]) -> str:
    parts: list[str] = []
    at = size = used = 0
    reordered = False
    for found in _DIRECTIVE.finditer(form):
        verb = found["verb"]
        if found["index"]:
            reordered, used = True, int(found["index"]) - 1
        if not verb:
            text = "%!(NOVERB)"
        elif verb == "%":
            text = "%"
        else:
            how = _directive(found)
            if 0 <= used < len(values):
                text = _argument(values[used], how)
            else:
                text = f"%!{verb}({'BADINDEX' if found['index'] else 'MISSING'})"
            used += 1
        parts += form[at : found.start()], text
        at = found.end()
        size += len(text)
        if size > MAX_TEXT:
            break
    parts.append(form[at:])
    if used < len(values) and not reordered:
        parts.append("%!(EXTRA " + ", ".join(_extra(value) for value in values[used:]) + ")")
    return _limited("".join(parts))


def _limited(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise GoError(f"the text is longer than {MAX_TEXT} characters")
    return text


def _unsupported(what: str) -> NoReturn:
    raise GoError(f"{what} is not supported: use one of the verbs v, s, q, d, x, c, t, T, e, f and g")


def _directive(found: re.Match[str]) -> _Directive:
    flags, width, verb = found["flags"], int(found["width"] or 0), found["verb"]
    precision = None if found["precision"] is None else int(found["precision"] or 0)
    if verb in _UNSUPPORTED or "#" in flags or ("+" in flags and verb == "q"):
        _unsupported(found[0])
    if max(width, precision or 0) > _MAX_WIDTH:
        raise GoError(f"{found[0]} is too wide")
    plus = "+" in flags
    names = plus and verb == "v"
    return _Directive(
        verb,
        width,
        precision,
        minus="-" in flags,
        plus=plus and not names,
        space=" " in flags,
        zero="0" in flags,
        names=names,
    )


def _extra(value: Value | None) -> str:
    return "<nil>" if value is None else f"{value.type.name}={shown(value)}"


def _argument(value: Value | None, how: _Directive) -> str:
    """One argument under one directive."""
    if value is None:
        return how.padded("<nil>") if how.verb in {"v", "T"} else f"%!{how.verb}(<nil>)"
    return _text(value.type.name, how) if how.verb == "T" else _value(value, how)


def _bad_verb(value: Value, how: _Directive) -> str:
    """The verb does not fit the type."""
    return f"%!{how.verb}({value.type.name}={_value(value, replace(how, verb='v', faulty=True))})"


def _value(value: Value | None, how: _Directive) -> str:  # noqa: PLR0911 - one kind each
    if value is None:
        return "<nil>" if how.verb == "v" else f"%!{how.verb}(<nil>)"
    of, data = value
    if of.text is not None and how.verb in "vsxXq" and (not how.faulty or of.kind is Kind.STRUCT):
        return _text(of.text(data), how)
    match of.kind:
        case Kind.BOOL:
            return how.padded("true" if data else "false") if how.verb in "tv" else _bad_verb(value, how)
        case Kind.INT | Kind.UINT:
            return _integer(value, how)
        case Kind.FLOAT:
            return _float(value, how)
        case Kind.STRING:
            return _text(data, how) if how.verb in "vsxXq" else _bad_verb(value, how)
        case Kind.MAP:
            return _map(of, data, how)
        case Kind.SLICE:
            return "[" + " ".join(_value(_typed(of.element, one), how) for one in data or ()) + "]"
        case Kind.STRUCT:
            return _struct(of, data, how) if of.text is None else _bad_verb(value, how)
        case _:
            return _pointer(value, how)


def _typed(of: Type | None, data: Any) -> Value | None:
    return None if of is None else Value(of, data)


def _integer(value: Value, how: _Directive) -> str:
    number: int = value.data
    if how.verb == "c":
        valid = 0 <= number <= _MAX_CODE and not 0xD800 <= number <= 0xDFFF
        return how.padded(chr(number) if valid else "\ufffd")
    if how.verb == "q":
        _unsupported("%q of a number")
    if how.verb not in "vdxX":
        return _bad_verb(value, how)
    negative = number < 0
    least = 0
    if how.precision is not None:
        least = how.precision
        if least == 0 and number == 0:
            return " " * how.width
    elif how.zero and not how.minus:
        least = how.width - (negative or how.plus or how.space)
    digits = format(abs(number), how.verb if how.verb in "xX" else "d").rjust(least, "0")
    sign = "-" if negative else "+" if how.plus else " " if how.space else ""
    return how.padded(sign + digits, zero=False)


def _float(value: Value, how: _Directive) -> str:
    if how.verb in "xX":
        _unsupported(f"%{how.verb} of a float")
    if how.verb not in _FLOAT_VERBS:
        return _bad_verb(value, how)
    verb, precision = _FLOAT_VERBS[how.verb]
    if how.precision is not None:
        precision = how.precision
    text = formatted(value.data, value.type.bits, verb, precision)
    sign = "-" if text[0] == "-" else "+" if how.plus else " " if how.space else ""
    body = text.removeprefix("-")
    if sign and how.zero and not how.minus:
        return sign + body.rjust(how.width - 1, "0")
    return how.padded(sign + body)


def _text(text: str, how: _Directive) -> str:
    if how.verb in {"x", "X"}:
        pairs = as_bytes(text)[: how.precision]
        written = pairs.hex(" ") if how.space else pairs.hex()
        return how.padded(written.upper() if how.verb == "X" else written)
    text = text[: how.precision]
    return how.padded(quoted(text) if how.verb == "q" else text)


def _map(of: Type, data: dict[Any, Any] | None, how: _Directive) -> str:
    items = (
        f"{_value(_typed(of.key, key), how)}:{_value(_typed(of.element, item), how)}"
        for key, item in sorted_items(data)
    )
    return f"map[{' '.join(items)}]"


def sorted_items(data: dict[Any, Any] | None) -> list[tuple[Any, Any]]:
    """A map's keys and elements in Go's order."""
    return sorted(
        (data or {}).items(), key=lambda item: as_bytes(item[0]) if isinstance(item[0], str) else item[0]
    )


def _struct(of: Type, data: Any, how: _Directive) -> str:
    items = (
        (f"{field.name}:" if how.names else "") + _value(Value(field.type, field.get(data)), how)
        for field in of.fields.values()
    )
    return "{" + " ".join(items) + "}"


def _pointer(value: Value, how: _Directive) -> str:
    """What it points to; inside lists and structs Go shows an address, which differs in every run."""
    target = value.type.element
    if target is not None and value.data is not None:
        return "&" + _value(Value(target, value.data), how)
    return how.padded("<nil>") if how.verb == "v" else _bad_verb(value, how)
