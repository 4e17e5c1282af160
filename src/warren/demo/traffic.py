"""Live traffic for a broker: producers and groups of every status, in threads of this process."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import structlog

from warren.demo.clients import Connection, passes, reach
from warren.demo.groups import CAST, Actor
from warren.demo.members import Group, Progress
from warren.demo.producers import KnownHeads, Producers
from warren.demo.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

log = structlog.get_logger("warren.demo.traffic")

DEFAULT_SEED: Final = 1
# delay before an actor is restarted after an error
_RETRY_S: Final = 1.0
# how long a stop waits for the members to leave their groups
_STOP_S: Final = 5.0


class Traffic:
    """Starts with start(), or as a context manager; ends with stop(), which may be called at any time."""

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        seed: int = DEFAULT_SEED,
        client_properties: Mapping[str, str] | None = None,
        cast: tuple[Actor, ...] = CAST,
    ) -> None:
        self.cast: Final = cast
        self._connection = Connection(bootstrap_servers, dict(client_properties or {}))
        heads = KnownHeads()
        self._producers = Producers(self._connection, TOPICS, heads, seed)
        self._groups = tuple(Group(actor, self._connection, heads, seed) for actor in cast)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Create the topics and start every actor; WarrenError when no broker responds."""
        admin = reach(self._connection)
        self._producers.prepare(admin)
        self._spawn("producers", self._producers.run)
        for group in self._groups:
            self._spawn(group.actor.name, partial(group.run, admin), group)

    def stop(self) -> None:
        """End every actor; members leave their groups."""
        self._stop.set()
        end = time.monotonic() + _STOP_S
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        left = [thread.name for thread in self._threads if thread.is_alive()]
        if left:
            log.warning("actors did not stop in time", actors=left)
        self._threads.clear()

    def progress(self) -> tuple[Progress, ...]:
        """The progress of each group, in the order of `cast`."""
        return tuple(group.progress() for group in self._groups)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, name: str, run: Callable[[threading.Event], None], group: Group | None = None) -> None:
        # daemon: a client that hangs must not keep the process alive
        thread = threading.Thread(
            target=self._guard, args=(name, run, group), name=f"traffic-{name}", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def _guard(self, name: str, run: Callable[[threading.Event], None], group: Group | None) -> None:
        """A group that fails is restarted and does not affect the others."""
        while not self._stop.is_set():
            try:
                run(self._stop)
            except Exception as error:  # noqa: BLE001 (no error may stop the others)
                if not passes(error):
                    log.warning("actor failed, restarting", actor=name, error=str(error))
                    if group is not None:
                        group.trouble = str(error)
                self._stop.wait(_RETRY_S)
            else:
                return
