"""The common fields of Burrow's JSON answers."""

from __future__ import annotations

from dataclasses import dataclass

from warren.httpserver.reply import Reply, as_json
from warren.httpserver.router import Request


@dataclass(frozen=True, slots=True)
class Envelope:
    """`error`, `message`, the content, and `request` with the name of the answering machine."""

    host: str

    def request(self, request: Request) -> dict[str, str]:
        return {"url": request.path, "host": self.host}

    def answer(
        self, request: Request, message: str, content: dict[str, object] | None = None, *, status: int = 200
    ) -> Reply:
        body = {"error": False, "message": message, **(content or {}), "request": self.request(request)}
        return as_json(body, status)

    def answer_request_first(self, request: Request, message: str, content: dict[str, object]) -> Reply:
        """The order of fields on the configuration pages that list modules."""
        return as_json({"error": False, "message": message, "request": self.request(request), **content})

    def error(self, request: Request, status: int, message: str) -> Reply:
        return as_json({"error": True, "message": message, "request": self.request(request)}, status)
