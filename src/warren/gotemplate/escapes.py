"""Escaping of text for HTML, JavaScript, a URL's query and JSON."""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import quote_plus

from warren.gotemplate.floats import formatted
from warren.gotemplate.types import Kind, Type, Value, as_bytes

_HTML: Final = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_SCRIPT: Final = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "<": "\\u003C",
    ">": "\\u003E",
    "&": "\\u0026",
    "=": "\\u003D",
}
# as Go does, so that JSON can be embedded in HTML and JavaScript
_JSON: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


# surrogates: bytes that are not UTF-8, or incomplete characters
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def html(text: str) -> str:
    return text.translate(_HTML)


def script(text: str) -> str:
    return "".join(_SCRIPT.get(char) or _script(char) for char in text)


def _script(char: str) -> str:
    if char < " ":
        return f"\\u{ord(char):04X}"
    return (
        char
        if char.isprintable() or char == "\x7f" or 0xDC80 <= ord(char) <= 0xDCFF
        else f"\\u{ord(char):04X}"
    )


def query(text: str) -> str:
    return quote_plus(as_bytes(text), safe="")


def json_text(value: Value | None) -> str:
    """As Go's encoding/json writes it: compact, struct fields in their order, map keys sorted."""
    return "null" if value is None else _json(value.type, value.data)


def _json(of: Type, data: Any) -> str:  # noqa: PLR0911 - one kind each
    if of.json is not None:
        return of.json(data)
    if of.kind is Kind.STRING:
        return json_string(data)
    if of.kind is Kind.FLOAT:
        return formatted(data, of.bits, "f", -1)
    if of.kind is Kind.STRUCT:
        inside = (
            f"{json_string(field.json or field.name)}:{_json(field.type, field.get(data))}"
            for field in of.fields.values()
            if field.json != "-"
        )
        return "{" + ",".join(inside) + "}"
    if data is None:
        return "null"
    if of.element is None:
        return json.dumps(data)
    if of.kind is Kind.POINTER:
        return _json(of.element, data)
    if of.kind is Kind.MAP:
        items = sorted(((str(key), item) for key, item in data.items()), key=lambda item: as_bytes(item[0]))
        return "{" + ",".join(f"{json_string(key)}:{_json(of.element, item)}" for key, item in items) + "}"
    return "[" + ",".join(_json(of.element, one) for one in data) + "]"


def json_string(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False).translate(_JSON)
    return written if written.isascii() else _SURROGATES.sub(r"\\ufffd", written)
