"""Warren as a whole: the engine, the servers and the notifier round it, started and stopped together."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

import structlog

from warren import descriptors
from warren.config.limitations import limitations
from warren.httpserver import Server
from warren.pipeline.engine import Engine

if TYPE_CHECKING:
    from types import TracebackType

    from warren.config import Settings
    from warren.notifier.coordinator import Coordinator

log = structlog.get_logger("warren")

# how long one thread may keep the interpreter while another waits for it. A trigger lets go of it some hundred times:
# with Python's 5 ms each, requests by the thousand made triggers two and a half times as long
_SWITCH_S: Final = 0.0002


class Service:
    """A context manager: inside it Warren runs. The servers come first, so that they can say that it is starting."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.engine = Engine(settings)
        self._notifier = self._made_notifier()
        self._server = Server(settings, self.engine, notifying=self._notifier)

    @property
    def urls(self) -> dict[str, str]:
        """Listener: its address."""
        return self._server.urls

    def __enter__(self) -> Self:
        for sentence in limitations(self._settings):
            log.warning("not supported yet", module=sentence)
        sys.setswitchinterval(_SWITCH_S)
        descriptors.raise_limit()
        with ExitStack() as undoing:
            self._server.start()
            undoing.callback(self._server.stop)
            self.engine.start()
            undoing.callback(self.engine.stop)
            if self._notifier is not None:
                self._notifier.start()
                log.info("notifying", modules=_described(self._settings))
            undoing.pop_all()
        return self

    def _made_notifier(self) -> Coordinator | None:
        """None when nobody is to be told anything; ConfigError with every mistake of the templates."""
        settings = self._settings
        if not settings.notifier:
            return None
        # whoever notifies nobody does not wait for the templates' engines and the senders' clients
        from warren.notifier.coordinator import Coordinator  # noqa: PLC0415

        return Coordinator(settings, self.engine, self._page)

    def _page(self, cluster: str, group: str) -> str:
        """Where people find a group; the port is known once the listener has one."""
        from warren.notifier.links import pages  # noqa: PLC0415

        first = next(iter(self.urls.values()), "")
        return pages(self._settings, urlsplit(first).port)(cluster, group)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # each is stopped though another fails; the last one named is the first
        with ExitStack() as stopping:
            stopping.callback(self.engine.stop)
            stopping.callback(self._server.stop)
            if self._notifier is not None:
                stopping.callback(self._notifier.stop)


def _described(settings: Settings) -> list[str]:
    return [f"{name} ({module.class_name})" for name, module in settings.notifier.items()]
