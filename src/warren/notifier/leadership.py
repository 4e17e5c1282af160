"""Which of several instances sends: the one that holds the lock `<root-path>/notifier` in ZooKeeper."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import structlog
from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    AuthFailedError,
    CancelledError,
    KazooException,
    NoAuthError,
    NoNodeError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.recipe.lock import Lock
from kazoo.retry import KazooRetry

from warren.config.sections import ZooKeeper
from warren.errors import WarrenError
from warren.notifier.record import Leadership
from warren.zookeeper import LoginWatch, login_options

log = structlog.get_logger("warren.notifier")

_GRANTED: Final = re.compile(r"negotiated session timeout: (\d+)")
# an attempt with less time than this is not started
_LEAST_S: Final = 0.2
# seconds that closing the ZooKeeper session may take
_STOP_S: Final = 2.0
# seconds between retries after an error, and after a refused login, which somebody has to fix
_AGAIN_S: Final = 1.0
_REFUSED_S: Final = 15.0


class SessionLog(logging.Logger):
    """The log of kazoo's connection: silenced, but read for the negotiated session time-out.

    A server grants less time than requested where its own limit is lower, and kazoo only logs that. If the log line
    changes in a later version, the requested time counts, as it would without this.
    """

    def __init__(self) -> None:
        super().__init__("warren.notifier.kazoo", level=logging.CRITICAL + 1)
        # seconds; None: not known yet
        self.granted_s: float | None = None

    def log(self, level: int, msg: object, *args: object, **named: Any) -> None:
        found = _GRANTED.search(str(msg) % args) if "negotiated" in str(msg) else None
        if found is not None:
            self.granted_s = int(found[1]) / 1000


class NotLeadingError(WarrenError):
    """This instance does not hold the lock, or cannot be certain of it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Permission to send, verified just now."""

    # changes whenever another instance may have written to the store
    term: int
    # on the monotonic clock: until then no other instance can hold the lock
    until_s: float

    def left_s(self) -> float:
        return self.until_s - time.monotonic()


class Leader(Protocol):
    """Whether this instance may send."""

    def start(self) -> None:
        """Returns at once, whether or not ZooKeeper responds."""

    def stop(self, *, at_once: bool = True) -> None:
        """Release the lock, so that the next instance need not wait for a time-out.

        Not at once while an attempt to send is still running: the next leader would repeat it.
        """

    def lease(self) -> Lease | None:
        """Permission to send now; None: another instance may be sending. Queries ZooKeeper and so may block."""

    def invalidate_term(self) -> None:
        """A write failed, and the contents of the store are not known: the next lease is of a new term."""

    def leadership(self) -> Leadership:
        """For readers; never blocks."""


class SingleInstance:
    """Without [zookeeper]: always the leader."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self) -> None: ...

    def stop(self, *, at_once: bool = True) -> None: ...

    def lease(self) -> Lease | None:
        return Lease(1, float("inf"))

    def invalidate_term(self) -> None: ...

    def leadership(self) -> Leadership:
        return Leadership("alone", self._name)


class NotifierLock(Lock):  # type: ignore[misc]
    """Kazoo's lock with nodes named as Burrow's ZooKeeper library names them: `ID-lock-0000000007`.

    Burrow parses what follows the last "-" of every child as its sequence number, and fails on a child without one,
    as with kazoo's default `ID__lock__0000000007`; kazoo ignores children with another middle part. With the same
    names, a Burrow and a Warren on the same path share one queue. So nothing but locks may be under this path.
    """

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES: Final = ["-lock-"]


def instance_name() -> str:
    """The name under which this instance holds the lock."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Election:
    """One of several instances. The lock is an ephemeral node of our session; two checks stop a former leader:

    - every write to the store is a transaction that also checks that our lock node exists, so a former leader cannot
      store a decision, and what is not stored is not sent;
    - before each attempt to send, the same check is made, and the attempt may take no longer than the session certainly
      lasts after it: ZooKeeper waits for the time-out after our last heartbeat before it releases the lock.

    A process that is suspended after the check and resumes during its attempt is not covered; only the receiver can
    detect that, by the message's id.
    """

    def __init__(self, settings: ZooKeeper, name: str) -> None:
        self._name = name
        self._session_s = float(settings.timeout)
        self._path = f"{settings.root_path.rstrip('/')}/notifier"
        self._session_log = SessionLog()
        self.client = KazooClient(
            ",".join(settings.servers),
            timeout=self._session_s,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=_AGAIN_S),
            logger=self._session_log,
            **login_options(settings),
        )
        self.client.add_listener(self._on_state)
        self._login = LoginWatch(self.client)
        self._changed = threading.Condition()
        self._connected = False
        # our node under the lock path while we hold the lock
        self._node: str | None = None
        self._term = 0
        self._leader = ""
        self._lock: NotifierLock | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="notifier-election", daemon=True)

    def start(self) -> None:
        self.client.start_async()
        self._thread.start()

    def stop(self, *, at_once: bool = True) -> None:
        with self._changed:
            self._stopping = True
            self._node = None
            self._changed.notify_all()
            lock = self._lock
        if lock is not None:
            lock.cancel()
        # closing the session releases the lock; when ZooKeeper does not respond, the time-out does
        closing = threading.Timer(0 if at_once else self._session_s, self._close)
        closing.daemon = True
        closing.start()
        if at_once:
            closing.join(_STOP_S)

    def lease(self) -> Lease | None:
        try:
            return self.fenced(lambda _: None)
        except NotLeadingError:
            return None

    @property
    def term(self) -> int:
        """Changes whenever the store may differ from what this instance wrote last."""
        with self._changed:
            return self._term

    def fenced(self, fill: Callable[[TransactionRequest], None], in_term: int | None = None) -> Lease:
        """Commit a transaction that succeeds only while we hold the lock; NotLeadingError when it is not certain.

        `in_term`: the term in which the store was read.
        """
        with self._changed:
            node, term, connected = self._node, self._term, self._connected
        if node is None or not connected or (in_term is not None and in_term != term):
            raise NotLeadingError("another instance may be sending")
        begun_s = time.monotonic()
        transaction = self.client.transaction()
        transaction.check(node, -1)
        fill(transaction)
        try:
            results = transaction.commit_async().get(timeout=self._session_s)
        except (KazooException, KazooTimeoutError) as error:
            self.invalidate_term()
            raise NotLeadingError(f"ZooKeeper does not respond: {type(error).__name__}") from None
        if isinstance(results[0], NoNodeError):
            self._lost(node)
            raise NotLeadingError("another instance has the lock")
        faults = [each for each in results if isinstance(each, Exception)]
        if faults:
            self.invalidate_term()
            raise NotLeadingError(f"ZooKeeper refused: {', '.join(type(each).__name__ for each in faults)}")
        # the term from before: when it has changed meanwhile, the caller's data is out of date
        return Lease(term, begun_s + self.session_s - _LEAST_S)

    @property
    def session_s(self) -> float:
        """How long ZooKeeper keeps our lock after our last heartbeat: it may grant less than requested."""
        granted_s = self._session_log.granted_s
        return self._session_s if granted_s is None else min(self._session_s, granted_s)

    def awaited(self, answer: Any) -> Any:
        """The result of one of kazoo's `…_async` calls, within the session time-out."""
        try:
            return answer.get(timeout=self._session_s)
        except NoNodeError:
            raise
        except (KazooException, KazooTimeoutError) as error:
            raise NotLeadingError(f"ZooKeeper does not respond: {type(error).__name__}") from None

    def invalidate_term(self) -> None:
        with self._changed:
            self._term += 1

    def leadership(self) -> Leadership:
        with self._changed:
            if not self._connected:
                return Leadership("disconnected", "")
            if self._node is not None:
                return Leadership("leading", self._name)
            return Leadership("following", self._leader)

    def find_leader(self) -> None:
        """Read who holds the lock; programs other than Warren store no name."""
        with self._changed:
            if not self._connected or self._node is not None:
                return
        try:
            nodes = self.awaited(self.client.get_children_async(self._path))
            first = min(nodes, key=lambda each: each.rpartition("-")[2], default=None)
            held = self.awaited(self.client.get_async(f"{self._path}/{first}")) if first else (b"",)
        except (NoNodeError, NotLeadingError):
            return
        with self._changed:
            self._leader = held[0].decode(errors="replace")

    def _run(self) -> None:
        log.info("waiting for the notifier's lock", path=self._path)
        if not self._await_answer(0):
            log.warning("ZooKeeper does not respond: nothing is sent until it does", path=self._path)
        while not self._stopping:
            try:
                self._candidacy()
            except Exception:
                # a thread that ended would never lead again
                log.exception("error while waiting for the notifier's lock")
                self._await(lambda: False, _AGAIN_S)

    def _candidacy(self) -> None:
        """Wait for the lock, and lead until it is lost."""
        lock = NotifierLock(self.client, self._path, self._name)
        self._lock = lock
        try:
            if lock.acquire():
                self._lead(f"{self._path}/{lock.node}")
        except CancelledError:
            return
        except (KazooException, KazooTimeoutError) as error:
            self._await(lambda: False, self._told(self._login.cause(error)))
            self._connect_again()

    def _told(self, error: Exception) -> float:
        """Say why the lock was not acquired; seconds until the next attempt."""
        if isinstance(error, NoAuthError | AuthFailedError):
            log.error(
                "ZooKeeper refused access: check username and password of [zookeeper] and the ACLs of the path",
                error=type(error).__name__,
                path=self._path,
            )
            return _REFUSED_S
        log.warning("cannot acquire the notifier's lock", error=type(error).__name__)
        return _AGAIN_S

    def _connect_again(self) -> None:
        """kazoo does not retry after a refused login; the password may be corrected on the server."""
        given_up = self.client.client_state in {KeeperState.AUTH_FAILED, KeeperState.CLOSED}
        if given_up and not self._stopping:
            before = self.term
            self.client.start_async()
            # until then every request fails: "Connection has been closed"
            self._await_answer(before)

    def _await_answer(self, before: int) -> bool:
        """Wait for a change of the connection's state after this term: it may be up for a moment only."""
        return self._await(lambda: self._term != before, self._session_s)

    def _lead(self, node: str) -> None:
        with self._changed:
            if self._stopping:
                return
            self._node = node
            self._term += 1
        log.info("this instance sends notifications", lock=node)
        self._await(lambda: self._node is None, None)
        if not self._stopping:
            log.warning("this instance sends no more notifications", lock=node)

    def _await(self, arrived: Callable[[], bool], timeout_s: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping or arrived(), timeout_s)

    def _lost(self, node: str) -> None:
        with self._changed:
            if self._node == node:
                self._node = None
            self._changed.notify_all()

    def _on_state(self, state: KazooState) -> None:
        # called by kazoo's own thread, which must not block
        with self._changed:
            self._connected = state == KazooState.CONNECTED
            # writes in flight when the connection was lost may or may not have succeeded
            self._term += 1
            if state == KazooState.LOST:
                self._node = None
            self._changed.notify_all()
        if state == KazooState.SUSPENDED:
            log.warning("connection to ZooKeeper lost: nothing is sent until it is back")

    def _close(self) -> None:
        self.client.remove_listener(self._on_state)
        self.client.stop()
        self.client.close()
