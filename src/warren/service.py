"""Warren as a whole: HTTP server, engine, sinks and notifier, started in this order and stopped in its reverse."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self
from urllib.parse import urlsplit

import structlog

from warren import descriptors
from warren.httpserver import Server
from warren.pipeline.engine import Engine

if TYPE_CHECKING:
    from types import TracebackType

    from warren.config import Settings
    from warren.notifier.coordinator import Coordinator
    from warren.sinks.coordinator import Sinks

log = structlog.get_logger("warren")

# how long one thread may hold the GIL while another waits for it. A trigger releases it some hundred times: with
# Python's default of 5 ms, thousands of requests made triggers two and a half times as long
_SWITCH_S: Final = 0.0002


class Part(Protocol):
    """One part of Warren; `stop` is called only after a successful `start`."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Service:
    """A context manager: inside it Warren runs.

    The server starts first, so that health checks are answered during the start, and stops last.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.engine = Engine(settings)
        self._notifier = self._made_notifier()
        self.sinks = self._made_sinks()
        self._server = Server(
            settings,
            self.engine,
            notifying=self._notifier,
            sinks=self.sinks,
            recent=Path(settings.spark.checkpoint_dir).absolute() / "recent.samples",
        )
        # in the order of their start
        self._parts: tuple[Part, ...] = (self._server, self.engine)
        if self.sinks is not None:
            self._parts += (self.sinks,)
        if self._notifier is not None:
            self._parts += (self._notifier,)
        self._started = ExitStack()

    @property
    def urls(self) -> dict[str, str]:
        """Listener: its address."""
        return self._server.urls

    def __enter__(self) -> Self:
        sys.setswitchinterval(_SWITCH_S)
        descriptors.raise_limit()
        # a part that fails to start, or to stop, does not keep the others from being stopped
        with ExitStack() as started:
            for part in self._parts:
                part.start()
                started.callback(part.stop)
            self._started = started.pop_all()
        if self._notifier is not None:
            log.info("notifying", modules=_described(self._settings))
        return self

    def _made_notifier(self) -> Coordinator | None:
        """None without notifiers; ConfigError with all errors of the templates."""
        settings = self._settings
        if not settings.notifier:
            return None
        # slow imports, needed with notifiers only
        from warren.notifier.coordinator import Coordinator  # noqa: PLC0415

        return Coordinator(settings, self.engine, self._page)

    def _made_sinks(self) -> Sinks | None:
        """None when nothing is to be written anywhere."""
        if not self._settings.sink:
            return None
        from warren.sinks.coordinator import Sinks  # noqa: PLC0415 - only those who have sinks wait for it

        return Sinks(self._settings, self.engine, lambda: self.engine.session)

    def _page(self, cluster: str, group: str, incident: str = "") -> str:
        """The URL of the page of an incident or a group; the port is known once the listener has one."""
        from warren.notifier.links import pages  # noqa: PLC0415

        first = next(iter(self.urls.values()), "")
        return pages(self._settings, urlsplit(first).port)(cluster, group, incident)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # a signal to all processes ends Spark's workers while the notifier is still sending
        self.engine.expect_stop()
        if self.sinks is not None:
            self.sinks.expect_stop()
        self._started.close()


def _described(settings: Settings) -> list[str]:
    return [f"{name} ({module.class_name})" for name, module in settings.notifier.items()]
