"""JSON as Go writes it, so that bodies are Burrow's byte for byte."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final, NoReturn

import msgspec
import numpy as np

_ENCODER: Final = msgspec.json.Encoder()

# Go escapes these inside strings, so that JSON may be embedded in HTML and JavaScript
_ESCAPES: Final = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
_WIDE_ESCAPES: Final = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def encode(value: object) -> bytes:
    """Compact, keys in their own order, no newline at the end."""
    body = _ENCODER.encode(value)
    for plain, escaped in _ESCAPES if body.isascii() else _ESCAPES + _WIDE_ESCAPES:
        # the characters cannot occur outside of a string, so the whole body may be searched
        body = body.replace(plain, escaped)
    return body


# one number per possible count of filled slots or complete partitions
@lru_cache(maxsize=4096)
def float32(value: float) -> msgspec.Raw:
    """The shortest digits that name the nearest single-precision number: 1, 0.7, 0.33333334."""
    return msgspec.Raw(np.format_float_positional(np.float32(value), trim="-").encode())


class DecodeError(ValueError):
    """The bytes do not start with a JSON value."""


def _refuse(constant: str) -> NoReturn:
    raise DecodeError(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def decode_first(body: bytes) -> object:
    """The first value of a stream, whatever follows it."""
    try:
        value, _ = _DECODER.raw_decode(body.decode(errors="replace").lstrip(" \t\r\n"))
    except (ValueError, RecursionError) as error:
        raise DecodeError(str(error)) from error
    return value
