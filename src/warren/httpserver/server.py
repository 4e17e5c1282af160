"""All listeners, in a thread of their own."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path
from typing import Final

import prometheus_client
import structlog
import uvloop
from prometheus_client import CollectorRegistry

from warren import logs
from warren.config import Settings
from warren.httpserver.app import App
from warren.httpserver.asgi import AsgiApp
from warren.httpserver.connections import within_descriptors
from warren.httpserver.guard import Guard
from warren.httpserver.listener import Listener
from warren.httpserver.state import Answers, LogLevel, Notifying, SinkStates

_STOP_SECONDS: Final = 8.0
_STORE_S: Final = 300.0

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
        notifying: Notifying | None = None,
        sinks: SinkStates | None = None,
        beyond: AsgiApp | None = None,
        recent: Path | None = None,
    ) -> None:
        """`recent`: a file for what is known of the last hours."""
        self._settings = settings
        self._app = App(
            settings,
            answers,
            log_level,
            registry,
            host=socket.gethostname(),
            notifying=notifying,
            sinks=sinks,
            beyond=beyond,
            recent=recent,
        )
        origin = settings.general.access_control_allow_origin
        # by listener
        self._guards = {
            name: Guard(section, self._app, origin) for name, section in settings.httpserver.items()
        }
        self._app.own_metrics.guards = self._guards
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None

    @property
    def urls(self) -> dict[str, str]:
        """Listener: where it can be reached from this machine."""
        return {listener.name: listener.url for listener in self._listeners}

    def start(self) -> None:
        """Raises ListenError, with no port left open, when a listener cannot be opened."""
        try:
            for name in self._settings.httpserver:
                self._listeners.append(self._listener(name))
        except BaseException:
            self._close()
            raise
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="httpserver", daemon=True)
        self._thread.start()
        started.wait()
        for listener in self._listeners:
            access = self._guards[listener.name].access
            _log.info(
                "listening",
                listener=listener.name,
                url=listener.url,
                may_read=access.readers,
                may_administer=access.admins,
            )

    def stop(self) -> None:
        """Lets running requests finish, for a few seconds; waiting requests and streams end."""
        self._app.feed.close()
        for listener in self._listeners:
            listener.stop()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
            self._thread = None
            self._app.history.store()
        self._close()

    def _listener(self, name: str) -> Listener:
        guard = self._guards[name]
        wanted = self._settings.httpserver[name].max_connections
        guard.connections.most = within_descriptors(wanted, len(self._guards))
        if guard.connections.most < wanted:
            _log.warning(
                "fewer connections than max-connections: raise the limit of open files (ulimit -n)",
                listener=name,
                connections=guard.connections.most,
            )
        return Listener(name, self._settings, guard, guard.connections)

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
        watching = asyncio.ensure_future(self._watch())
        await asyncio.gather(*serving)
        watching.cancel()

    async def _watch(self) -> None:
        """Follow the snapshots; first comes what is known of the time before a restart."""
        await self._app.history.load()
        storing = asyncio.ensure_future(self._store_recent())
        try:
            await self._app.feed.watch()
        finally:
            storing.cancel()

    async def _store_recent(self) -> None:
        """Now and then, for the case that this process is killed."""
        while True:
            await asyncio.sleep(_STORE_S)
            await asyncio.to_thread(self._app.history.store)
