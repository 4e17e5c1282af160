"""Warren as a whole: the engine and the servers round it, started and stopped together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import structlog

from warren.config.unserved import unserved
from warren.httpserver import Server
from warren.pipeline.engine import Engine

if TYPE_CHECKING:
    from types import TracebackType

    from warren.config import Settings

log = structlog.get_logger("warren")


class Service:
    """A context manager: inside it Warren runs. The servers come first, so that they can say that it is starting."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.engine = Engine(settings)
        self._server = Server(settings, self.engine)

    @property
    def urls(self) -> dict[str, str]:
        """Listener: its address."""
        return self._server.urls

    def __enter__(self) -> Self:
        for sentence in unserved(self._settings):
            log.warning("not served yet", module=sentence)
        self._server.start()
        try:
            self.engine.start()
        except BaseException:
            self._server.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()
        self.engine.stop()
