"""All listeners, in a thread of their own beside the pipeline."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Final

import prometheus_client
import structlog
import uvloop
from prometheus_client import CollectorRegistry

from warren import logs
from warren.config import Settings
from warren.httpserver.app import App, AsgiApp
from warren.httpserver.listener import Listener
from warren.httpserver.state import Answers, LogLevel

_STOP_SECONDS: Final = 8.0

_log = structlog.get_logger(__name__)


class Server:
    """The HTTP server: opened by `start`, closed by `stop`; after `start` returns every port answers."""

    def __init__(
        self,
        settings: Settings,
        answers: Answers,
        log_level: LogLevel = logs,
        *,
        registry: CollectorRegistry = prometheus_client.REGISTRY,
        beyond: AsgiApp | None = None,
    ) -> None:
        self._settings = settings
        self._app = App(settings, answers, log_level, registry, host=socket.gethostname(), beyond=beyond)
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None

    @property
    def urls(self) -> dict[str, str]:
        """Listener: where it can be reached from this machine."""
        return {listener.name: listener.url for listener in self._listeners}

    def start(self) -> None:
        """Raises ListenError, with no port left open, when a listener cannot be had."""
        try:
            for name in self._settings.httpserver:
                self._listeners.append(Listener(name, self._settings, self._app))
        except BaseException:
            self._close()
            raise
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="httpserver", daemon=True)
        self._thread.start()
        started.wait()
        for listener in self._listeners:
            _log.info("listening", listener=listener.name, url=listener.url)

    def stop(self) -> None:
        """Lets answers under way finish, for a few seconds."""
        for listener in self._listeners:
            listener.stop()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
            self._thread = None
        self._close()

    def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def _run(self, started: threading.Event) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve(started))
        finally:
            started.set()

    async def _serve(self, started: threading.Event) -> None:
        serving = [asyncio.ensure_future(listener.serve()) for listener in self._listeners]
        while not all(listener.started for listener in self._listeners):
            await asyncio.sleep(0)
        started.set()
        await asyncio.gather(*serving)
