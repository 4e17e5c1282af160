"""`/burrow/admin` and `/v3/admin`: liveness, readiness and log level."""

from __future__ import annotations

from collections.abc import Mapping

from warren.httpserver import gojson
from warren.httpserver.envelope import Envelope
from warren.httpserver.reply import Reply, text
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Answers, LogLevel
from warren.logs import UnknownLevelError


class AdminPages:
    """Burrow's pages for operators."""

    def __init__(self, answers: Answers, log_level: LogLevel, envelope: Envelope) -> None:
        self._answers = answers
        self._log_level = log_level
        self._envelope = envelope

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {
            ("GET", "/burrow/admin"): self.alive,
            ("GET", "/burrow/admin/ready"): self.ready,
            ("GET", "/v3/admin/loglevel"): self.level,
            ("POST", "/v3/admin/loglevel"): self.set_level,
        }

    def alive(self, _: Request) -> Reply:
        return text("GOOD")

    def ready(self, _: Request) -> Reply:
        return text("READY") if self._answers.ready() else text("STARTING", 503)

    def level(self, request: Request) -> Reply:
        return self._envelope.answer(request, "log level returned", {"level": self._log_level.get_level()})

    def set_level(self, request: Request) -> Reply:
        try:
            requested = _level_of(request.body)
        except gojson.DecodeError:
            return self._envelope.error(request, 400, "could not decode message body")
        try:
            self._log_level.set_level(requested)
        except UnknownLevelError:
            return self._envelope.error(request, 404, "unknown log level")
        return self._envelope.answer(request, "set log level")


def _level_of(body: bytes) -> str:
    """The `level` of a JSON object; Go matches keys in any case and treats a missing or null one as empty."""
    message = gojson.decode_first(body)
    if message is None:
        return ""
    if not isinstance(message, dict):
        raise gojson.DecodeError("not an object")
    levels = [value for key, value in message.items() if key.lower() == "level" and value is not None]
    if not all(isinstance(level, str) for level in levels):
        raise gojson.DecodeError("level is not text")
    return levels[-1] if levels else ""
