"""Replies, and the constant ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from warren.httpserver import gojson

Headers = tuple[tuple[bytes, bytes], ...]

JSON: Final[Headers] = ((b"content-type", b"application/json"),)
TEXT: Final[Headers] = ((b"content-type", b"text/plain; charset=utf-8"),)
HTML: Final[Headers] = ((b"content-type", b"text/html; charset=utf-8"),)
# Go's http.Error: plain text that no browser may interpret as anything else
ERROR: Final[Headers] = (*TEXT, (b"x-content-type-options", b"nosniff"))


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, headers without the length, and the body in pieces."""

    status: int
    headers: Headers = ()
    body: tuple[bytes, ...] = ()

    @property
    def length(self) -> int:
        return sum(map(len, self.body))


@dataclass(frozen=True, slots=True)
class Stream:
    """A reply that is sent until one side ends it."""

    headers: Headers
    pieces: AsyncIterator[bytes]


def text(body: str, status: int = 200) -> Reply:
    return Reply(status, TEXT, (body.encode(),))


def as_json(value: object, status: int = 200) -> Reply:
    return Reply(status, JSON, (gojson.encode(value),))


def refused(status: int, message: str, *headers: tuple[bytes, bytes]) -> Reply:
    """A refusal in Burrow's error shape."""
    return Reply(
        status, (*JSON, *headers), (gojson.encode({"error": True, "message": message, "result": {}}),)
    )


NOT_FOUND: Final = Reply(404, ERROR, (b'{"error":true,"message":"invalid request type","result":{}}\n',))


def options(allow: str) -> Reply:
    """The methods of a path, for OPTIONS and for a browser's preflight."""
    methods = allow.encode()
    return Reply(
        200,
        (
            (b"allow", methods),
            (b"access-control-allow-methods", methods),
            (b"access-control-allow-headers", b"Authorization, Content-Type"),
        ),
    )


def method_not_allowed(allow: str) -> Reply:
    return Reply(405, ((b"allow", allow.encode()), *ERROR), (b"Method Not Allowed\n",))


def moved(location: str, *, same_method: bool) -> Reply:
    """To the path as it should have been written; `location` is percent-escaped."""
    where = ((b"location", location.encode("ascii")),)
    if same_method:
        return Reply(307, where)
    return Reply(301, (*HTML, *where), (f'<a href="{location}">Moved Permanently</a>.\n\n'.encode(),))
