"""Requests to an ASGI application without a network between."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warren.httpserver.access import ROLE, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from warren.httpserver.asgi import AsgiApp


@dataclass(frozen=True)
class Answered:
    """What came back; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(app: AsgiApp, path: str, **how: Any) -> Answered:
    """`requested` in a loop of its own."""
    return asyncio.run(requested(app, path, **how))


async def requested(
    app: AsgiApp,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    role: Role | None = Role.ADMIN,
    client: str = "127.0.0.1",
) -> Answered:
    """One request; `path` as it stands in the request line, `role` as a listener's door would have set it."""
    raw_path, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "client": (client, 12345),
        "method": method,
        "raw_path": raw_path.encode(),
        "path": raw_path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    if role is not None:
        scope[ROLE] = role
    sent: list[MutableMapping[str, Any]] = []

    received = False

    async def receive() -> MutableMapping[str, Any]:
        nonlocal received
        if received:
            # the client stays
            await asyncio.Event().wait()
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *pieces = sent
    return Answered(
        status=start["status"],
        headers={name.decode(): value.decode() for name, value in start["headers"]},
        # a server keeps the body of an answer to HEAD back
        body=b"" if method == "HEAD" else b"".join(piece["body"] for piece in pieces),
    )
