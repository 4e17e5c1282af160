"""Routes paths to handlers: segments are split before they are unescaped, so that names may contain slashes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes

from warren.httpserver import reply
from warren.httpserver.reply import Reply, Stream

# characters that Go leaves unescaped in a path
_SAFE_IN_SEGMENT: Final = "$&+:=@~"


async def _never() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Request:
    """The request as handlers get it."""

    method: str
    # unescaped, as Burrow shows it in its answers
    path: str
    # the unescaped names in the path, from left to right
    names: tuple[str, ...] = ()
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    # as in the request line, after the question mark
    query: bytes = b""
    # whether the client is an administrator
    admin: bool = False
    # returns when the client has disconnected: for handlers that wait
    gone: Callable[[], Coroutine[Any, Any, None]] = _never


Answer = Reply | Stream
Handler = Callable[[Request], Answer | Awaitable[Answer]]


@dataclass(slots=True)
class _Node:
    """One segment of a path."""

    # the segments that may follow, by their text
    literals: dict[str, _Node] = field(default_factory=dict)
    # the node for any name
    name: _Node | None = None
    # method: handler; empty where no page is
    handlers: dict[str, Handler] = field(default_factory=dict)
    ends_in_name: bool = False

    @property
    def allow(self) -> str:
        methods = {*self.handlers, "OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))

    def handler(self, method: str) -> Handler | None:
        return self.handlers.get("GET" if method == "HEAD" else method)


@dataclass(frozen=True, slots=True)
class Match:
    """A page, and the names in the path that led to it."""

    handler: Handler
    names: tuple[str, ...]


class Router:
    """A tree of paths; `{}` stands for a name."""

    def __init__(self, routes: Mapping[tuple[str, str], Handler]) -> None:
        """`routes`: (method, path pattern): handler."""
        self._root = _Node()
        for (method, pattern), handler in routes.items():
            node = self._root
            for segment in pattern.split("/")[1:]:
                if segment == "{}":
                    node.name = node.name or _Node(ends_in_name=True)
                    node = node.name
                else:
                    node = node.literals.setdefault(segment, _Node())
            node.handlers[method] = handler

    def find(self, method: str, raw_path: bytes, query: bytes = b"") -> Match | Reply | None:
        """The page, a redirect, or 405; None where there is none."""
        if not raw_path.startswith(b"/"):
            return None
        segments = [unescape(segment) for segment in raw_path.split(b"/")][1:]
        node, names = self._walk(segments)
        if node is not None and node.handlers:
            if handler := node.handler(method):
                return Match(handler, tuple(names))
            return reply.options(node.allow) if method == "OPTIONS" else reply.method_not_allowed(node.allow)
        return self._redirect(method, segments, query)

    def _walk(self, segments: list[str]) -> tuple[_Node | None, list[str]]:
        node, names = self._root, []
        for segment in segments:
            following = node.literals.get(segment)
            if following is None:
                following = node.name
                if following is None or not segment:
                    return None, []
                names.append(segment)
            node = following
        return node, names

    def _redirect(self, method: str, segments: list[str], query: bytes) -> Reply | None:
        """A redirect for a path with doubled slashes, one at the end, or the wrong case.

        A slash after a name is not found, as in Burrow.
        """
        node, fixed = self._root, []
        for segment in filter(None, segments):
            lower = segment.lower()
            if lower in node.literals:
                node = node.literals[lower]
                fixed.append(lower)
            elif node.name is not None:
                node = node.name
                fixed.append(quote(segment, safe=_SAFE_IN_SEGMENT))
            else:
                return None
        slash_after_name = node.ends_in_name and not segments[-1]
        if node.handler(method) is None or slash_after_name:
            return None
        location = "/" + "/".join(fixed)
        if query:
            location += "?" + quote(query, safe="=&%/?:@!$'()*+,;~")
        return reply.moved(location, same_method=method not in {"GET", "HEAD"})


def unescape(segment: bytes) -> str:
    """One segment of a raw path as text; bytes that are not UTF-8 become the replacement character."""
    plain = unquote_to_bytes(segment) if b"%" in segment else segment
    return plain.decode(errors="replace")
