"""Go's fmt: values as text, with verbs, flags, widths and its own way to say that a verb does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from warren.gotemplate.floats import formatted
from warren.gotemplate.literals import can_backquote, quoted, quoted_character
from warren.gotemplate.types import (
    UINT8,
    UINT64,
    GoError,
    Kind,
    Type,
    Value,
    as_bytes,
    as_text,
)

# a text longer than this is a mistake, and would fill the memory
MAX_TEXT: Final = 8 * 1024 * 1024
# as Go's: a width or precision beyond is not one
_MAX_WIDTH: Final = 1_000_000
# where a pointer points to is different in every run of Go
_ADDRESS: Final = 0xC000010000
_BASES: Final = {"b": 2, "o": 8, "O": 8, "d": 10, "v": 10, "x": 16, "X": 16}
_FLOAT_VERBS: Final = {"v": ("g", -1), "F": ("f", 6), "f": ("f", 6), "e": ("e", 6), "E": ("E", 6)}
_MAX_CODE: Final = 0x10FFFF


@dataclass(slots=True)
class _Directive:
    """One % and what stands up to its verb."""

    verb: str = "v"
    width: int | None = None
    precision: int | None = None
    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    # %+v and %#v
    plus_v: bool = False
    sharp_v: bool = False
    # saying that a verb does not fit: String() is not asked
    faulty: bool = False

    def padded(self, text: str, *, zero: bool | None = None) -> str:
        if self.width is None or len(text) >= self.width:
            return text
        # bytes that are not UTF-8 count as one character each, as surrogates do here
        gap = self.width - len(text)
        if self.minus:
            return text + " " * gap
        return ("0" if (self.zero if zero is None else zero) else " ") * gap + text


def sprint(values: list[Value | None]) -> str:
    """One after the other, with a space between two that are not strings."""
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
        # what nearly all actions print
        if value.type.kind is Kind.STRING:
            return str(value.data)
        if value.type.kind in {Kind.INT, Kind.UINT}:
            return f"{value.data:d}"
    return _argument(value, _Directive())


def sprintf(form: str, values: list[Value | None]) -> str:
    return _Form(form, values).text()


def _limited(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise GoError(f"the text is longer than {MAX_TEXT} characters")
    return text


class _Form:
    """A format string at work."""

    def __init__(self, form: str, values: list[Value | None]) -> None:
        self._form = form
        self._values = values
        self._at = 0
        self._argument = 0
        self._reordered = False
        self._good = True
        self._after_index = False
        self._parts: list[str] = []

    def text(self) -> str:
        size = 0
        while self._at < len(self._form):
            begin = self._form.find("%", self._at)
            end = begin if begin >= 0 else len(self._form)
            self._parts.append(self._form[self._at : end])
            self._at = end + 1
            if begin < 0:
                break
            counted = len(self._parts)
            self._directive()
            size += sum(len(part) for part in self._parts[counted:])
            if size > MAX_TEXT:
                raise GoError(f"the text is longer than {MAX_TEXT} characters")
        if not self._reordered and self._argument < len(self._values):
            self._parts.append(
                "%!(EXTRA " + ", ".join(_extra(v) for v in self._values[self._argument :]) + ")"
            )
        return _limited("".join(self._parts))

    def _peek(self) -> str:
        return self._form[self._at : self._at + 1]

    def _directive(self) -> None:
        directive = _Directive()
        self._good = True
        self._after_index = False
        self._flags(directive)
        self._index()
        self._width(directive)
        self._precision(directive)
        if not self._after_index:
            self._index()
        verb = self._peek()
        if not verb:
            self._parts.append("%!(NOVERB)")
            return
        self._at += 1
        if verb == "%":
            self._parts.append("%")
        elif not self._good:
            self._parts.append(f"%!{verb}(BADINDEX)")
        elif self._argument >= len(self._values):
            self._parts.append(f"%!{verb}(MISSING)")
        else:
            directive.verb = verb
            if verb in {"v", "w"}:
                directive.sharp_v, directive.sharp = directive.sharp, False
                directive.plus_v, directive.plus = directive.plus, False
            self._parts.append(_argument(self._values[self._argument], directive))
            self._argument += 1

    def _flags(self, directive: _Directive) -> None:
        while True:
            match self._peek():
                case "#":
                    directive.sharp = True
                case "0":
                    directive.zero = True
                case "+":
                    directive.plus = True
                case "-":
                    directive.minus = True
                case " ":
                    directive.space = True
                case _:
                    return
            self._at += 1

    def _index(self) -> None:
        """[n]: which argument is next."""
        if self._peek() != "[":
            self._after_index = False
            return
        self._reordered = True
        close = self._form.find("]", self._at)
        number = self._form[self._at + 1 : close] if close >= 0 else ""
        self._at = close + 1 if close >= 0 else self._at + 1
        valid = number.isascii() and number.isdigit() and len(number) <= 7
        self._after_index = valid
        if valid and 1 <= int(number) <= len(self._values):
            self._argument = int(number) - 1
        else:
            self._good = False

    def _number(self) -> int | None:
        begin = self._at
        while self._peek() in set("0123456789"):
            self._at += 1
        digits = self._form[begin : self._at]
        if not digits:
            return None
        if len(digits) > 7 and int(digits) > 10 * _MAX_WIDTH:
            self._at = len(self._form)
            return None
        return int(digits)

    def _star(self) -> int | None:
        self._at += 1
        self._after_index = False
        if self._argument >= len(self._values):
            return None
        value = self._values[self._argument]
        self._argument += 1
        if value is None or value.type.kind not in {Kind.INT, Kind.UINT} or abs(value.data) > _MAX_WIDTH:
            return None
        return int(value.data)

    def _width(self, directive: _Directive) -> None:
        if self._peek() == "*":
            directive.width = self._star()
            if directive.width is None:
                self._parts.append("%!(BADWIDTH)")
            elif directive.width < 0:
                directive.width = -directive.width
                directive.minus, directive.zero = True, False
            return
        directive.width = self._number()
        if self._after_index and directive.width is not None:
            self._good = False

    def _precision(self, directive: _Directive) -> None:
        if self._peek() != "." or self._at + 1 >= len(self._form):
            return
        self._at += 1
        if self._after_index:
            self._good = False
        self._index()
        if self._peek() == "*":
            directive.precision = self._star()
            if directive.precision is not None and directive.precision < 0:
                directive.precision = None
            if directive.precision is None:
                self._parts.append("%!(BADPREC)")
            return
        found = self._number()
        directive.precision = found if found is not None else 0


def _extra(value: Value | None) -> str:
    return "<nil>" if value is None else f"{value.type.name}={shown(value)}"


def _argument(value: Value | None, how: _Directive) -> str:
    """One argument under one directive."""
    if value is None:
        return how.padded("<nil>") if how.verb in {"v", "T"} else f"%!{how.verb}(<nil>)"
    if how.verb == "T":
        return _text(value.type.name, how)
    if how.verb == "p":
        if value.type.kind not in {Kind.POINTER, Kind.MAP, Kind.SLICE}:
            return _misfit(value, how)
        return _integer(
            _ADDRESS if value.data is not None else 0, UINT64, _with(how, "x", sharp=not how.sharp)
        )
    return _value(value, how, 0)


def _with(how: _Directive, verb: str, *, sharp: bool) -> _Directive:
    return _Directive(verb, how.width, how.precision, how.minus, how.plus, sharp, how.space, how.zero)


def _misfit(value: Value, how: _Directive) -> str:
    """The verb does not fit the type."""
    plain = _Directive(
        "v", how.width, how.precision, how.minus, how.plus, how.sharp, how.space, how.zero, faulty=True
    )
    return f"%!{how.verb}({value.type.name}={_value(value, plain, 0)})"


def _method(value: Value, how: _Directive) -> str | None:
    """What the value says of itself; None when it is not asked or has nothing to say."""
    if how.faulty:
        return None
    if how.verb == "w" and value.type.element is not UINT8:
        return _misfit(value, how)
    target = value.type.element if value.type.kind is Kind.POINTER else value.type
    if target is None:
        return None
    if how.sharp_v:
        return None if target.source is None or value.data is None else how.padded(target.source(value.data))
    if how.verb in "vsxXq" and target.text is not None:
        return "<nil>" if value.data is None else _text(target.text(value.data), how)
    return None


def _value(value: Value | None, how: _Directive, depth: int) -> str:  # noqa: C901, PLR0911 - one kind each
    if value is None:
        return "<nil>" if how.verb == "v" else f"%!{how.verb}(<nil>)"
    said = _method(value, how)
    if said is not None:
        return said
    of, data = value
    match of.kind:
        case Kind.BOOL:
            return how.padded("true" if data else "false") if how.verb in "tv" else _misfit(value, how)
        case Kind.INT | Kind.UINT:
            return _integer(data, of, how)
        case Kind.FLOAT:
            return _float(value, how)
        case Kind.COMPLEX:
            return _complex(value, how)
        case Kind.STRING:
            return _text(data, how) if how.verb in "vsxXq" else _misfit(value, how)
        case Kind.MAP:
            return _map(of, data, how, depth)
        case Kind.STRUCT:
            return _struct(of, data, how, depth)
        case Kind.SLICE:
            return _slice(of, data, how, depth)
        case _:
            return _pointer(value, how, depth)


def _integer(number: int, of: Type, how: _Directive) -> str:
    match how.verb:
        case "c":
            return how.padded(chr(_code(number)))
        case "q":
            return how.padded(quoted_character(_code(number), ascii_only=how.plus))
        case "U":
            return _unicode(number, how)
    return _digits(number, of, how) if how.verb in _BASES else _misfit(Value(of, number), how)


def _digits(number: int, of: Type, how: _Directive) -> str:
    negative, size = number < 0, abs(number)
    sharp = how.sharp
    base = _BASES[how.verb]
    if how.verb == "v" and how.sharp_v and of.kind is Kind.UINT:
        base, sharp = 16, True
    least = 0
    if how.precision is not None:
        least = how.precision
        if least == 0 and number == 0:
            return " " * (how.width or 0)
    elif how.zero and not how.minus and how.width is not None:
        least = how.width - (negative or how.plus or how.space)
    digits = {2: f"{size:b}", 8: f"{size:o}", 10: f"{size:d}", 16: f"{size:x}"}[base].rjust(least, "0")
    if how.verb == "X":
        digits = digits.upper()
    if sharp:
        prefix = {2: "0b", 8: "" if digits[0] == "0" else "0", 16: "0X" if how.verb == "X" else "0x"}
        digits = prefix.get(base, "") + digits
    if how.verb == "O":
        digits = "0o" + digits
    sign = "-" if negative else "+" if how.plus else " " if how.space else ""
    return how.padded(sign + digits, zero=False)


def _code(number: int) -> int:
    return number if 0 <= number <= _MAX_CODE and not 0xD800 <= number <= 0xDFFF else 0xFFFD


def _unicode(number: int, how: _Directive) -> str:
    number &= 0xFFFFFFFFFFFFFFFF
    least = max(how.precision if how.precision is not None else 4, 4)
    text = f"U+{number:0{least}X}"
    if how.sharp and number <= _MAX_CODE and chr(number).isprintable():
        text += f" '{chr(number)}'"
    return how.padded(text, zero=False)


def _float(value: Value, how: _Directive) -> str:
    verb, precision = _FLOAT_VERBS.get(how.verb, (how.verb, -1))
    if verb not in "bgGxXfeE":
        return _misfit(value, how)
    return _float_text(value.data, value.type.bits, verb, precision, how)


def _float_text(number: float, bits: int, verb: str, precision: int, how: _Directive) -> str:
    if how.precision is not None:
        precision = how.precision
    text = formatted(number, bits, verb, precision)
    sign, body = (text[0], text[1:]) if text[0] in "+-" else ("+", text)
    if how.space and sign == "+" and not how.plus:
        sign = " "
    if body[0] in "IN":
        bare = body == "NaN" and not how.space and not how.plus
        wanted = (
            body
            if bare or (body == "Inf" and sign == "+" and not how.plus and not how.space)
            else sign + body
        )
        # +Inf keeps its sign
        return how.padded(sign + body if body == "Inf" else wanted, zero=False)
    if how.sharp and verb != "b":
        body = _with_point(body, verb, precision)
    if how.plus or sign != "+":
        if how.zero and not how.minus and how.width is not None and how.width > len(body) + 1:
            return sign + body.rjust(how.width - 1, "0")
        return how.padded(sign + body)
    return how.padded(body)


def _with_point(body: str, verb: str, precision: int) -> str:
    """The # flag: always a point, and the zeros at the end that %g leaves out."""
    wanted = (precision if precision >= 0 else 6) if verb in "gGx" else 0
    marks = "pP" if verb in "xX" else "pPeE"
    split = next((at for at, char in enumerate(body) if char in marks), len(body))
    number, tail = body[:split], body[split:]
    # Go counts the x of 0x too
    significant = len(number.replace(".", "").lstrip("0"))
    if "." not in number:
        if number == "0":
            wanted -= 1
        number += "."
    return number + "0" * max(wanted - significant, 0) + tail


def _complex(value: Value, how: _Directive) -> str:
    verb, precision = _FLOAT_VERBS.get(how.verb, (how.verb, -1))
    if verb not in "bgGxXfeE":
        return _misfit(value, how)
    signed = _with(how, how.verb, sharp=how.sharp)
    signed.plus = True
    real = _float_text(value.data.real, 64, verb, precision, how)
    return f"({real}{_float_text(value.data.imag, 64, verb, precision, signed)}i)"


def _text(text: str, how: _Directive) -> str:
    verb = how.verb
    if verb in {"x", "X"}:
        return _hexadecimal(as_bytes(text), how)
    if how.precision is not None:
        text = text[: how.precision]
    if verb == "q" or how.sharp_v:
        if how.sharp and can_backquote(text):
            return how.padded(f"`{text}`")
        return how.padded(quoted(text, ascii_only=how.plus))
    return how.padded(text)


def _hexadecimal(data: bytes, how: _Directive) -> str:
    if how.precision is not None:
        data = data[: how.precision]
    pairs = [f"{byte:02x}" for byte in data]
    if not pairs:
        return how.padded("")
    prefix = "0x" if how.sharp else ""
    text = " ".join(prefix + pair for pair in pairs) if how.space else prefix + "".join(pairs)
    return how.padded(text.upper() if how.verb == "X" else text)


def _sorted_items(data: dict[Any, Any] | None) -> list[tuple[Any, Any]]:
    return sorted(
        (data or {}).items(), key=lambda item: as_bytes(item[0]) if isinstance(item[0], str) else item[0]
    )


def _map(of: Type, data: dict[Any, Any] | None, how: _Directive, depth: int) -> str:
    if of.key is None or of.element is None:
        return "map[]"
    if how.sharp_v and data is None:
        return f"{of.name}(nil)"
    items = [
        f"{_value(Value(of.key, key), how, depth + 1)}:{_value(Value(of.element, item), how, depth + 1)}"
        for key, item in _sorted_items(data)
    ]
    return f"{of.name}{{{', '.join(items)}}}" if how.sharp_v else f"map[{' '.join(items)}]"


def _struct(of: Type, data: Any, how: _Directive, depth: int) -> str:
    items = []
    for field in of.fields.values():
        name = f"{field.name}:" if how.plus_v or how.sharp_v else ""
        items.append(name + _value(Value(field.type, field.get(data)), how, depth + 1))
    return f"{of.name}{{{', '.join(items)}}}" if how.sharp_v else "{" + " ".join(items) + "}"


def _slice(of: Type, data: list[Any] | bytes | None, how: _Directive, depth: int) -> str:
    if of.element is None:
        return "[]"
    if of.element is UINT8 and how.verb in "sqxX":
        content = bytes(data or b"")
        return _hexadecimal(content, how) if how.verb in "xX" else _text(as_text(content), how)
    name = "[]byte" if of.element is UINT8 and depth == 0 else of.name
    if how.sharp_v:
        if data is None:
            return f"{name}(nil)"
        return name + "{" + ", ".join(_value(Value(of.element, one), how, depth + 1) for one in data) + "}"
    return "[" + " ".join(_value(Value(of.element, one), how, depth + 1) for one in data or ()) + "]"


def _pointer(value: Value, how: _Directive, depth: int) -> str:
    target = value.type.element
    if target is not None and depth == 0 and value.data is not None and target.kind is Kind.STRUCT:
        return "&" + _value(Value(target, value.data), how, depth + 1)
    address = 0 if value.data is None else _ADDRESS
    match how.verb:
        case "v" if how.sharp_v:
            return f"({value.type.name})({'nil' if not address else f'{address:#x}'})"
        case "v":
            return (
                how.padded("<nil>")
                if not address
                else _integer(address, UINT64, _with(how, "x", sharp=not how.sharp))
            )
        case "b" | "o" | "d" | "x" | "X":
            return _integer(address, UINT64, how)
    return _misfit(value, how)
