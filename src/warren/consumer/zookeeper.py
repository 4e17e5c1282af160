"""Commits in ZooKeeper: a session with watches, read at a bounded rate; runs in Spark's planning process.

Every node is read with a watch, which ZooKeeper triggers once. So a node is read again only after it has changed, and
however often it changes in the meantime, once: where commits are rare there are few requests, and where they are
frequent it is a poll at the configured rate. ZooKeeper never sends more events than we send requests.

A round begins with a moment: a request, whose answer comes after the events of all changes before it. When the nodes of
these events have been read, everything that was committed before the moment has been found.

Every connection is a session of its own: with the connection kazoo loses the watches anyway, and an ensemble that was
set up anew refuses clients that remember the old one.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, KazooException, NoAuthError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import Callback, KazooState, WatchedEvent
from kazoo.retry import KazooRetry

from warren.clock import back_off_s, now_ms
from warren.common.group_filter import GroupFilter
from warren.common.owner import Holder
from warren.consumer.polling import Findings, Key, Poll
from warren.consumer.znodes import (
    Commit,
    KafkaLayout,
    Kind,
    Layout,
    Owner,
    Path,
    StormLayout,
    Tree,
    UnusableError,
)
from warren.errors import WarrenError
from warren.zookeeper import LoginWatch, reason

# time from the beginning of a round to that of the next one
ROUND_S: Final = 1.0
# limit of connecting, and of an answer
ANSWER_S: Final = 10.0
# requests are sent in bursts, so many a second
_BURSTS: Final = 20
# seconds until the next attempt after a lost or refused session
AGAIN_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
# nodes that may not be read are tried again after so long
_REFUSED_AGAIN_S: Final = 60.0
# nobody reads kazoo's own log in this process
_SILENT: Final = logging.Logger("warren.consumer.kazoo", level=logging.CRITICAL + 1)

LAYOUTS: Final[Mapping[str, type[KafkaLayout] | type[StormLayout]]] = {
    "kafka_zk": KafkaLayout,
    "storm": StormLayout,
}


@dataclass(frozen=True, slots=True)
class ZooKeeperSettings:
    """How to read one ensemble; implements `PolledSettings`."""

    name: str
    class_name: str
    # as kazoo takes them: host:port,host:port/path
    hosts: str
    path: str
    timeout_s: float
    requests_per_second: int
    login: Mapping[str, Any]
    groups: GroupFilter
    intervals: int
    min_distance_ms: int
    timed: bool = True

    def __repr__(self) -> str:
        return f"ZooKeeperSettings({self.name}: {self.hosts}{self.path})"

    def poller(self) -> ZooKeeperPoller:
        return ZooKeeperPoller(self)


class ReadError(WarrenError):
    """Nothing can be read."""


class ZooKeeperPoller:
    """Implements `warren.consumer.polling.Poller`."""

    def __init__(self, settings: ZooKeeperSettings) -> None:
        self._settings = settings
        self._layout: Layout = LAYOUTS[settings.class_name]()
        self._base = f"{settings.path.rstrip('/')}{self._layout.base}" or "/"
        self._tree = Tree(self._layout, settings.groups.accepts)
        self._findings = Findings()
        # path: the key of its commit
        self._keys: dict[Path, Key] = {}
        # group: topic, partition: owner
        self._owners: dict[str, dict[tuple[str, int], str]] = {}
        # groups whose owners have changed in this round
        self._changed: set[str] = set()
        # nodes that may not be read, and when to try them again by the monotonic clock
        self._refused: dict[Path, Kind] = {}
        self._refused_until = 0.0
        # groups with offsets that may not be read: the moment of the last round that could read them
        self._unanswered: dict[str, int] = {}
        # the moment of the last round
        self._last_ms = 0
        # groups whose owners may not be read
        self._unseen: set[str] = set()
        # requests since the start
        self.requests = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"zookeeper-{settings.name}", daemon=True)
        self._thread.start()

    def poll(self) -> Poll:
        return self._findings.take()

    def stop(self) -> None:
        """End the session. Else it ends with the process."""
        self._stopping.set()
        self._thread.join(ANSWER_S)

    def _run(self) -> None:
        attempt = 0
        while not self._stopping.is_set():
            session = Session(self._settings)
            try:
                session.open()
                for _ in self._rounds(session):
                    attempt = 0
            except WarrenError as error:
                self._findings.fail(str(error))
            except (KazooException, KazooTimeoutError) as error:
                self._findings.fail(f"ZooKeeper {self._settings.hosts}: {reason(session.login.cause(error))}")
            except Exception as error:  # noqa: BLE001 - a thread that ended would leave its groups blind for ever
                self._findings.fail(f"ZooKeeper {self._settings.hosts} cannot be read: {error!r}")
            finally:
                # kazoo cannot end what it could not start, without a descriptor for example
                with contextlib.suppress(Exception):
                    session.close()
            attempt += 1
            self._stopping.wait(back_off_s(AGAIN_S, attempt))

    def _rounds(self, session: Session) -> Iterator[None]:
        """Rounds in one session, until it is lost."""
        due = self._tree.everything()
        self._refused.clear()
        while not self._stopping.is_set():
            begun_s, begun_ms = time.monotonic(), now_ms()
            events = session.events(self._base)
            self.requests += 1
            due += self._tree.known(self._relative(path) for path in events)
            if begun_s > self._refused_until and self._refused:
                due += self._refused.items()
                self._refused.clear()
            self._read(session, deque(due))
            unseen = {path[0] for path in self._refused if path[1:2] != ("offsets",)}
            # also that there is no owner is news of a group that can be seen again
            self._changed |= self._unseen - unseen
            self._unseen = unseen
            self._findings.cannot_see_owners(unseen)
            for group in self._changed:
                owners = self._owners.get(group, {})
                self._findings.own(group, {place: Holder(owner) for place, owner in owners.items()})
            self._changed.clear()
            refused = {path[0] for path in self._refused if not self._is_owner(path)}
            self._unanswered = {group: self._unanswered.get(group, self._last_ms) for group in refused}
            self._last_ms = begun_ms
            self._findings.done(
                begun_ms, self._refusal(), whole=not self._refused, unanswered=self._unanswered
            )
            yield
            due = []
            session.wait(ROUND_S - (time.monotonic() - begun_s), self._stopping)

    def _read(self, session: Session, due: deque[tuple[Path, Kind]]) -> None:
        """Read these nodes and what is found below them, in bursts."""
        rate = self._settings.requests_per_second
        burst = max(rate // _BURSTS, 1)
        while due:
            begun_s = time.monotonic()
            chosen = [due.popleft() for _ in range(min(burst, len(due)))]
            self.requests += len(chosen)
            asked = [(path, kind, session.ask(self._absolute(path), kind)) for path, kind in chosen]
            for path, kind, answer in asked:
                due += self._take(path, kind, answer)
            left_s = len(chosen) / rate - (time.monotonic() - begun_s)
            session.wait(left_s, self._stopping)
            if self._stopping.is_set():
                return

    def _take(self, path: Path, kind: Kind, answer: Any) -> list[tuple[Path, Kind]]:
        """One answer; returns what has to be read because of it."""
        try:
            found = answer.get(timeout=ANSWER_S)
        except NoNodeError:
            self._missing(path)
        except NoAuthError:
            self._refuse(path, kind)
        else:
            if kind is Kind.LIST:
                return self._list(path, found)
            if self._tree.is_known(path):
                self._value(path, *found)
        return []

    def _list(self, path: Path, names: list[str]) -> list[tuple[Path, Kind]]:
        listing = self._tree.list(path, names)
        for gone in listing.gone:
            self._gone(gone)
        for each in listing.unusable:
            self._findings.skip(each)
        for _ in range(listing.denied):
            self._findings.deny()
        return listing.added

    def _missing(self, path: Path) -> None:
        if not path:
            raise ReadError(
                f"{self._base} does not exist in ZooKeeper {self._settings.hosts} (yet): nobody has committed there, "
                "or `zookeeper-path` is wrong"
            )
        for each in self._tree.forget(path).gone:
            self._gone(each)

    def _value(self, path: Path, value: bytes, stat: Any) -> None:
        try:
            found = self._layout.parsed(path, value)
        except UnusableError as error:
            self._findings.skip(str(error))
            return
        before = self._keys.get(path)
        if before is not None and before != found.key:
            self._gone(path)
        self._keys[path] = found.key
        match found:
            case Commit(key, offset):
                self._findings.commit(key, offset, stat.mtime)
            case Owner((group, topic, partition), owner):
                self._owners.setdefault(group, {})[topic, partition] = owner
                self._changed.add(group)

    def _gone(self, path: Path) -> None:
        key = self._keys.pop(path, None)
        if key is None:
            return
        group, topic, partition = key
        if self._is_owner(path):
            owners = self._owners.get(group, {})
            owners.pop((topic, partition), None)
            if not owners:
                self._owners.pop(group, None)
            self._changed.add(group)
        else:
            self._findings.delete(key)

    def _is_owner(self, path: Path) -> bool:
        return isinstance(self._layout, KafkaLayout) and path[1:2] == ("owners",)

    def _refuse(self, path: Path, kind: Kind) -> None:
        if not path:
            raise ReadError(
                f"{self._base} in ZooKeeper {self._settings.hosts} may not be read: give "
                f"{(self._settings.login and 'the configured user') or 'everybody, or a user and configure it,'} the "
                "permission READ on it and on all nodes below"
            )
        self._refused[path] = kind
        self._refused_until = time.monotonic() + _REFUSED_AGAIN_S

    def _refusal(self) -> str:
        if not self._refused:
            return ""
        return (
            f"{len(self._refused)} nodes in ZooKeeper {self._settings.hosts} may not be read, for example "
            f"{self._absolute(next(iter(self._refused)))}: they need the permission READ"
        )

    def _absolute(self, path: Path) -> str:
        return "/".join((self._base.rstrip("/"), *path)) or "/"

    def _relative(self, path: str) -> Path:
        return tuple(part for part in path.removeprefix(self._base).split("/") if part)


class Session:
    """One connection: what it asks, and the events that come."""

    def __init__(self, settings: ZooKeeperSettings) -> None:
        self._hosts = settings.hosts
        self._path = settings.path
        self._lost = threading.Event()
        self._lock = threading.Lock()
        # absolute paths of nodes that have changed
        self._events: set[str] = set()
        self._client = KazooClient(
            settings.hosts,
            timeout=settings.timeout_s,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=1.0),
            logger=_SILENT,
            **settings.login,
        )
        self._client.add_listener(self._on_state)
        self.login = LoginWatch(self._client)

    def open(self) -> None:
        connected, until_s = self._client.start_async(), time.monotonic() + ANSWER_S
        while not connected.wait(0.05):
            if self.login.refused:
                raise AuthFailedError
            if time.monotonic() > until_s:
                raise ReadError(
                    f"ZooKeeper {self._hosts} does not respond: are the servers up, and is the address right?"
                )
        # a server may lag behind the one that we were connected to before
        self._client.sync_async(self._path or "/").get(timeout=ANSWER_S)

    def close(self) -> None:
        self._client.stop()
        self._client.close()

    def ask(self, path: str, kind: Kind) -> Any:
        """A request with a watch; its answer is awaited later."""
        if kind is Kind.LIST:
            return self._client.get_children_async(path, watch=self._on_event)
        return self._client.get_async(path, watch=self._on_event)

    def events(self, base: str) -> list[str]:
        """The paths of the nodes that were changed before this call, as far as they were watched; each once."""
        with contextlib.suppress(NoAuthError):
            # an answer, whatever it says
            self._client.exists_async(base).get(timeout=ANSWER_S)
        # kazoo calls watchers in a thread of their own, one after the other: ours is the last
        called = threading.Event()
        self._client.handler.dispatch_callback(Callback("watch", called.set, ()))
        if not called.wait(ANSWER_S):
            raise KazooTimeoutError("events are not handled")
        with self._lock:
            events, self._events = self._events, set()
        return list(events)

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        """Wait; raises when the session is lost."""
        if seconds > 0:
            stopping.wait(seconds)
        if self._lost.is_set():
            raise ReadError(f"The connection to ZooKeeper {self._hosts} was lost")

    def _on_event(self, event: WatchedEvent) -> None:
        # without a path: the connection was lost
        if event.path is not None:
            with self._lock:
                self._events.add(event.path)

    def _on_state(self, state: str) -> None:
        if state != KazooState.CONNECTED:
            self._lost.set()
