"""Getting messages out: a thread for each module, so that one that hangs or fails delays nobody else."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from warren.clock import now_ms
from warren.notifier.incidents import News
from warren.notifier.leadership import Leader
from warren.notifier.message import Message
from warren.notifier.record import ModuleCounts
from warren.notifier.retries import next_attempt_ms
from warren.notifier.senders.delivery import DeliveryError

log = structlog.get_logger("warren.notifier")

# messages about one group that may wait for one module
MOST_WAITING: Final = 6
# an attempt that has less time than this before the lease ends is not begun
_LEAST_S: Final = 0.2
# before asking again whether this instance may send
_ASK_AGAIN_S: Final = 0.5
# seconds that stopping may take
_STOP_S: Final = 3.0


class Accounts(Protocol):
    """Who keeps count of messages; called in the modules' threads."""

    def is_owed(self, message: Message) -> bool:
        """Asked before each attempt."""

    def report(self, news: News) -> None:
        """Told of each attempt before the next begins."""


class Outlet(Protocol):
    """What is asked of a sender (`warren.notifier.senders.Sender`)."""

    def send(self, message: Message, timeout_s: float) -> str: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Waiting:
    """A message on its way, and how often it was tried."""

    message: Message
    attempts: int = 0
    # when it is to be tried, on the monotonic clock
    due_s: float = 0.0


class Deliveries:
    """Every module's messages.

    A message is sent at least once: it is written down as owed before, and as sent after the other side has taken it.
    Should the process end, or ZooKeeper be lost, right between these two, it is sent again with the same id.
    """

    def __init__(
        self,
        senders: Mapping[str, Outlet],
        timeouts_s: Mapping[str, float],
        leader: Leader,
        accounts: Accounts,
    ) -> None:
        self._workers = {
            name: _Worker(name, sender, timeouts_s[name], leader, accounts)
            for name, sender in senders.items()
        }

    def start(self) -> None:
        for worker in self._workers.values():
            worker.start()

    def begin(self, term: int, messages: Iterable[Waiting]) -> None:
        """Forget what waits and go on with these, oldest first: what a book holds as owed in this term."""
        sorted_out = defaultdict(list)
        for waiting in messages:
            sorted_out[waiting.message.module].append(waiting)
        for name, worker in self._workers.items():
            worker.begin(term, sorted_out[name])

    def add(self, messages: Iterable[Message]) -> None:
        """What was just decided and written down."""
        for message in messages:
            self._workers[message.module].add(message)

    def stop(self) -> bool:
        """Ends within seconds; what is still owed stays in the book. False: an attempt is still under way."""
        for worker in self._workers.values():
            worker.stopping()
        until_s = time.monotonic() + _STOP_S
        ended = [worker.join(max(0.0, until_s - time.monotonic())) for worker in self._workers.values()]
        return all(ended)

    def counts(self) -> dict[str, ModuleCounts]:
        return {name: worker.counts() for name, worker in self._workers.items()}


class _Worker:
    """One module: messages about a group go out in their order, groups do not wait for each other.

    - A repeat that comes while the one before still waits takes its place, and its number of attempts: what is told is
      new, and retries stay bounded.
    - An open message that is still owed when the group is OK again stays owed: Burrow would have sent it at once, and
      who gets a close without its open cannot tell what is over. The close goes out behind it, also when the open was
      given up.
    - When more than a handful wait for a group that opens and closes while nobody answers, the oldest are abandoned.
    """

    def __init__(
        self,
        name: str,
        sender: Outlet,
        timeout_s: float,
        leader: Leader,
        accounts: Accounts,
    ) -> None:
        self._name = name
        self._sender = sender
        self._timeout_s = timeout_s
        self._leader = leader
        self._accounts = accounts
        self._changed = threading.Condition()
        self._term = 0
        # cluster and group: what waits, in order; the first may be under way
        self._lines: dict[tuple[str, str], deque[Waiting]] = {}
        # the first of every line: when it is due, a number (the order of arrival) and itself; some are out of date
        self._due: list[tuple[float, int, Waiting]] = []
        self._numbers = itertools.count()
        self._under_way: Waiting | None = None
        self._stop = False
        self._sent = self._failed = self._retried = 0
        # a daemon: a sender that hangs must not keep the process from ending
        self._thread = threading.Thread(target=self._run, name=f"notifier-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin(self, term: int, messages: Iterable[Waiting]) -> None:
        with self._changed:
            self._term = term
            self._lines.clear()
            self._due.clear()
            current = self._under_way
            for waiting in messages:
                same = current is not None and current.message.id == waiting.message.id
                self._queue(current if same and current is not None else waiting)
            self._changed.notify_all()

    def add(self, message: Message) -> None:
        with self._changed:
            given_up = self._enter(message)
            self._changed.notify_all()
        for waiting, why in given_up:
            self._tell(News(waiting.message, "abandoned", waiting.attempts, now_ms(), why))

    def stopping(self) -> None:
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> bool:
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def counts(self) -> ModuleCounts:
        return ModuleCounts(self._sent, self._failed, self._retried)

    def _enter(self, message: Message) -> list[tuple[Waiting, str]]:
        """Take a message in; returns what has to go for it, and why."""
        line = self._lines.get(_about(message), deque())
        last = line[-1] if line else None
        replaces = (
            last is not None
            and last is not self._under_way
            and message.kind == last.message.kind == "open"
            and message.incident == last.message.incident
        )
        if last is not None and replaces:
            old = Waiting(last.message, last.attempts)
            last.message = message
            return [(old, "a newer message took its place before it could be sent")]
        self._queue(Waiting(message))
        line = self._lines[_about(message)]
        if len(line) <= MOST_WAITING:
            return []
        oldest = line[1] if line[0] is self._under_way else line[0]
        line.remove(oldest)
        self._schedule(line[0])
        return [(oldest, "too many messages about this group were waiting")]

    def _queue(self, waiting: Waiting) -> None:
        line = self._lines.setdefault(_about(waiting.message), deque())
        line.append(waiting)
        if len(line) == 1:
            self._schedule(waiting)

    def _schedule(self, waiting: Waiting) -> None:
        if waiting is not self._under_way:
            heapq.heappush(self._due, (waiting.due_s, next(self._numbers), waiting))

    def _run(self) -> None:
        while (waiting := self._next()) is not None:
            try:
                self._attempt(waiting)
            except Exception:
                # whatever it is, the next messages must go out; this one is tried again after a restart
                log.exception("fault in a notifier", module=self._name)
                self._done(waiting, None)
        self._sender.close()

    def _next(self) -> Waiting | None:
        """The message that is due, as soon as one is; None: stop."""
        with self._changed:
            while not self._stop:
                while self._due and not self._is_first(self._due[0][2]):
                    heapq.heappop(self._due)
                left_s = self._due[0][2].due_s - time.monotonic() if self._due else None
                if left_s is not None and left_s <= 0:
                    self._under_way = heapq.heappop(self._due)[2]
                    return self._under_way
                self._changed.wait(left_s)
            return None

    def _is_first(self, waiting: Waiting) -> bool:
        line = self._lines.get(_about(waiting.message))
        return line is not None and line[0] is waiting

    def _attempt(self, waiting: Waiting) -> None:
        if not self._accounts.is_owed(waiting.message):
            # it went out while the book was being read for a new term
            self._done(waiting, None)
            return
        lease = self._leader.lease()
        with self._changed:
            allowed = lease is not None and lease.term == self._term and self._is_first(waiting)
        timeout_s = min(self._timeout_s, lease.left_s()) if lease and allowed else 0.0
        if timeout_s < _LEAST_S:
            self._done(waiting, _ASK_AGAIN_S)
            return
        waiting.attempts += 1
        self._retried += waiting.attempts > 1
        news, again_s = self._sent_or_not(waiting, timeout_s)
        self._tell(news)
        self._done(waiting, again_s)

    def _sent_or_not(self, waiting: Waiting, timeout_s: float) -> tuple[News, float | None]:
        """How the attempt went, and in how many seconds there is to be another one."""
        message, attempts = waiting.message, waiting.attempts
        log_about = log.bind(
            module=self._name,
            kind=message.kind,
            group=message.result.group,
            message=message.id,
            attempt=attempts,
        )
        try:
            answer = self._sender.send(message, timeout_s)
        except DeliveryError as error:
            again_ms = next_attempt_ms(attempts, 0, random.random(), error.wait_s)  # noqa: S311 - no secret
            if error.retriable and again_ms is not None:
                log_about.warning("message not taken", error=str(error))
                return News(message, "owed", attempts, now_ms(), str(error)), again_ms / 1000
            log_about.error("message given up", error=str(error))  # noqa: TRY400 - the error says it all
            why = str(error)
        except Exception as error:
            log_about.exception("message given up")
            why = str(error) or type(error).__name__
        else:
            self._sent += 1
            log_about.info("message sent", status=message.result.status.name, answer=answer)
            return News(message, "sent", attempts, now_ms(), answer), None
        self._failed += 1
        return News(message, "failed", attempts, now_ms(), why), None

    def _done(self, waiting: Waiting, again_s: float | None) -> None:
        """The attempt is over: once more later, or on to the next in the line."""
        with self._changed:
            self._under_way = None
            if not self._is_first(waiting):
                # another term has begun without it
                return
            line = self._lines[_about(waiting.message)]
            if again_s is not None:
                waiting.due_s = time.monotonic() + again_s
            else:
                line.popleft()
            if line:
                self._schedule(line[0])
            else:
                del self._lines[_about(waiting.message)]

    def _tell(self, news: News) -> None:
        try:
            self._accounts.report(news)
        except Exception:
            # a fault of the book is no fault of the message
            log.exception("fault in the notifier's book", module=self._name)


def _about(message: Message) -> tuple[str, str]:
    return message.result.cluster, message.result.group
