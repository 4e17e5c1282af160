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
from kazoo.security import CREATOR_ALL_ACL

from warren.config.sections import ZooKeeper
from warren.errors import WarrenError
from warren.notifier.record import Leadership

log = structlog.get_logger("warren.notifier")

_GRANTED: Final = re.compile(r"negotiated session timeout: (\d+)")
# an attempt that cannot have at least so long is not begun
_LEAST_S: Final = 0.2
# seconds that saying goodbye to ZooKeeper may take
_STOP_S: Final = 2.0
# seconds between tries after an error, and after a refusal, which a person has to do something about
_AGAIN_S: Final = 1.0
_REFUSED_S: Final = 15.0


class SessionLog(logging.Logger):
    """What kazoo says of its connection: every attempt, which nobody needs to read, and the time that a session has.

    A server grants less time than was asked for where its own limit is lower, and kazoo tells only its log. Should it
    one day use other words, the time that was asked for counts, as it would without this.
    """

    def __init__(self) -> None:
        super().__init__("warren.notifier.kazoo", level=logging.CRITICAL + 1)
        # seconds; None: not known yet
        self.granted_s: float | None = None

    def log(self, level: int, msg: object, *args: object, **named: Any) -> None:
        found = _GRANTED.search(str(msg) % args) if "negotiated" in str(msg) else None
        if found is not None:
            self.granted_s = int(found[1]) / 1000


def logged_in(settings: ZooKeeper) -> dict[str, Any]:
    """Options of kazoo's client for the configured login."""
    if not settings.username:
        return {}
    # what is made is for whoever has the same login, however that was checked
    options: dict[str, Any] = {"default_acl": CREATOR_ALL_ACL}
    password = settings.password.get_secret_value()
    if settings.auth_type == "digest":
        return options | {"auth_data": [("digest", f"{settings.username}:{password}")]}
    login = {"mechanism": "DIGEST-MD5", "username": settings.username, "password": password}
    return options | {"sasl_options": login}


class NotLeadingError(WarrenError):
    """This instance does not hold the lock, or cannot be certain of it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Leave to send, proven just now."""

    # changes whenever the book may have been written by another instance
    term: int
    # on the monotonic clock: until then no other instance can hold the lock
    until_s: float

    def left_s(self) -> float:
        return self.until_s - time.monotonic()


class Leader(Protocol):
    """Whether this instance may send."""

    def start(self) -> None:
        """Returns at once, whether or not ZooKeeper answers."""

    def stop(self, *, at_once: bool = True) -> None:
        """Give the lock back, so that the next one need not wait for a time-out.

        Not at once while an attempt to send is still under way: the next one would make the same.
        """

    def lease(self) -> Lease | None:
        """Leave to send now; None: another one may be sending. Asks ZooKeeper and so may take a while."""

    def doubt(self) -> None:
        """A write went wrong, and it is not known what is in the book now: the next lease is of a new term."""

    def standing(self) -> Leadership:
        """For readers; never waits."""


class Alone:
    """Without [zookeeper]: always the one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self) -> None: ...

    def stop(self, *, at_once: bool = True) -> None: ...

    def lease(self) -> Lease | None:
        return Lease(1, float("inf"))

    def doubt(self) -> None: ...

    def standing(self) -> Leadership:
        return Leadership("alone", self._name)


class NotifierLock(Lock):  # type: ignore[misc]
    """Kazoo's lock with nodes named as Burrow's ZooKeeper library names them: `ID-lock-0000000007`.

    Burrow takes what follows the last "-" of every child for its place in the queue, and fails on a child without one,
    as kazoo's usual `ID__lock__0000000007` is; kazoo overlooks children whose middle part it does not know. Named
    alike, a Burrow and a Warren on the same path queue up behind each other. So nothing but locks may be in there.
    """

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES: Final = ["-lock-"]


def instance_name() -> str:
    """Who holds the lock, in words."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Election:
    """One of several instances. The lock is an ephemeral node of our session; two things keep an old leader silent:

    - every change of the book is a transaction that also checks that our lock node is there, so what an old leader
      decides cannot be written, and what is not written is not sent;
    - before each attempt to send, the same check is made, and the attempt may take no longer than the session surely
      lasts after it: ZooKeeper waits for the time-out since it last heard from us before it gives the lock away.

    A process that is frozen after the check and thaws in the middle of its attempt is not covered; nobody but the
    receiver could see that, by the message's id.
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
            **logged_in(settings),
        )
        self.client.add_listener(self._on_state)
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
        # ending the session gives the lock back; when ZooKeeper does not answer, the time-out does
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
        """Changes whenever the book may hold something else than this instance wrote last."""
        with self._changed:
            return self._term

    def fenced(self, fill: Callable[[TransactionRequest], None], in_term: int | None = None) -> Lease:
        """Commit a transaction that counts only while we hold the lock; NotLeadingError when it is not certain.

        `in_term`: the term of the knowledge that it is made from.
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
            self.doubt()
            raise NotLeadingError(f"ZooKeeper does not answer: {type(error).__name__}") from None
        if isinstance(results[0], NoNodeError):
            self._lost(node)
            raise NotLeadingError("another instance has the lock")
        faults = [each for each in results if isinstance(each, Exception)]
        if faults:
            self.doubt()
            raise NotLeadingError(f"ZooKeeper refused: {', '.join(type(each).__name__ for each in faults)}")
        # the term of before: when it has changed meanwhile, the caller's knowledge is old
        return Lease(term, begun_s + self.session_s - _LEAST_S)

    @property
    def session_s(self) -> float:
        """How long ZooKeeper keeps our lock after it last heard from us: it may grant less than was asked for."""
        granted_s = self._session_log.granted_s
        return self._session_s if granted_s is None else min(self._session_s, granted_s)

    def answered(self, answer: Any) -> Any:
        """What ZooKeeper says to one of kazoo's `…_async` calls, within the session's time."""
        try:
            return answer.get(timeout=self._session_s)
        except NoNodeError:
            raise
        except (KazooException, KazooTimeoutError) as error:
            raise NotLeadingError(f"ZooKeeper does not answer: {type(error).__name__}") from None

    def doubt(self) -> None:
        with self._changed:
            self._term += 1

    def standing(self) -> Leadership:
        with self._changed:
            if not self._connected:
                return Leadership("disconnected", "")
            if self._node is not None:
                return Leadership("leading", self._name)
            return Leadership("following", self._leader)

    def find_leader(self) -> None:
        """See who holds the lock; a program other than Warren leaves no name."""
        with self._changed:
            if not self._connected or self._node is not None:
                return
        try:
            nodes = self.answered(self.client.get_children_async(self._path))
            first = min(nodes, key=lambda each: each.rpartition("-")[2], default=None)
            held = self.answered(self.client.get_async(f"{self._path}/{first}")) if first else (b"",)
        except (NoNodeError, NotLeadingError):
            return
        with self._changed:
            self._leader = held[0].decode(errors="replace")

    def _run(self) -> None:
        log.info("waiting for the notifier's lock", path=self._path)
        if not self.client.connected and not self._await(lambda: self._connected, self._session_s):
            log.warning("ZooKeeper does not answer: nothing is sent until it does", path=self._path)
        while not self._stopping:
            lock = NotifierLock(self.client, self._path, self._name)
            self._lock = lock
            try:
                if lock.acquire():
                    self._lead(f"{self._path}/{lock.node}")
            except CancelledError:
                continue
            except (NoAuthError, AuthFailedError) as error:
                log.error(  # noqa: TRY400 - the name says it all
                    "ZooKeeper refuses: check username and password of [zookeeper] and the rights on the path",
                    error=type(error).__name__,
                    path=self._path,
                )
                self._await(lambda: False, _REFUSED_S)
                self._connect_again()
            except (KazooException, KazooTimeoutError) as error:
                log.warning("cannot take the notifier's lock", error=type(error).__name__)
                self._await(lambda: False, _AGAIN_S)
                self._connect_again()

    def _connect_again(self) -> None:
        """kazoo gives up for good when a login is refused; the password may be corrected over there."""
        given_up = self.client.client_state in {KeeperState.AUTH_FAILED, KeeperState.CLOSED}
        if given_up and not self._stopping:
            self.client.start_async()

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
        # called by kazoo's own thread, which must not wait
        with self._changed:
            self._connected = state == KazooState.CONNECTED
            # whatever was under way when contact was lost may or may not have been written
            self._term += 1
            if state == KazooState.LOST:
                self._node = None
            self._changed.notify_all()
        if state == KazooState.SUSPENDED:
            log.warning("lost contact with ZooKeeper: nothing is sent until it is back")

    def _close(self) -> None:
        self.client.remove_listener(self._on_state)
        self.client.stop()
        self.client.close()
