"""Sends messages: a thread for each module, so that one that hangs or fails does not delay the others."""

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
from warren.notifier.incidents import DeliveryResult
from warren.notifier.leadership import Leader
from warren.notifier.message import Message
from warren.notifier.record import ModuleCounts
from warren.notifier.retries import next_attempt_ms
from warren.notifier.senders.delivery import DeliveryError

log = structlog.get_logger("warren.notifier")

# queued messages about one group for one module
MOST_WAITING: Final = 6
# an attempt with less time than this before the lease ends is not started
_LEAST_S: Final = 0.2
# interval of checks whether this instance may send
_ASK_AGAIN_S: Final = 0.5
# seconds that stopping may take
_STOP_S: Final = 3.0


class Accounts(Protocol):
    """Keeps the state of messages; called in the modules' threads."""

    def is_owed(self, message: Message) -> bool:
        """Called before each attempt."""

    def report(self, delivery: DeliveryResult) -> None:
        """Called after each attempt, before the next begins."""


class MessageSender(Protocol):
    """The part of a sender that is used here (`warren.notifier.senders.Sender`)."""

    def send(self, message: Message, timeout_s: float) -> str: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class QueuedMessage:
    """A queued message, and its attempts."""

    message: Message
    attempts: int = 0
    # when the next attempt is due, on the monotonic clock
    due_s: float = 0.0


class Deliveries:
    """Every module's messages.

    A message is sent at least once: it is stored as owed before, and as sent after the receiver has accepted it.
    If the process ends, or ZooKeeper is lost, between the two, it is sent again with the same id.
    """

    def __init__(
        self,
        senders: Mapping[str, MessageSender],
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

    def begin(self, term: int, messages: Iterable[QueuedMessage]) -> None:
        """Replace the queues by these messages, oldest first: those that the store has as owed in this term."""
        sorted_out = defaultdict(list)
        for waiting in messages:
            sorted_out[waiting.message.module].append(waiting)
        for name, worker in self._workers.items():
            worker.begin(term, sorted_out[name])

    def add(self, messages: Iterable[Message]) -> None:
        """Messages that were just decided and stored."""
        for message in messages:
            self._workers[message.module].add(message)

    def stop(self) -> bool:
        """Ends within seconds; pending messages stay in the store. False: an attempt is still running."""
        for worker in self._workers.values():
            worker.stopping()
        until_s = time.monotonic() + _STOP_S
        ended = [worker.join(max(0.0, until_s - time.monotonic())) for worker in self._workers.values()]
        return all(ended)

    def counts(self) -> dict[str, ModuleCounts]:
        return {name: worker.counts() for name, worker in self._workers.items()}


class _Worker:
    """One module: messages about a group are sent in their order, groups do not wait for each other.

    - A repeat that comes while the previous one is still queued replaces it and keeps its number of attempts: the
      content is current, and retries stay bounded.
    - An open message that is still owed when the group is OK again stays owed: Burrow would have sent it at once, and
      a close without its open is useless to a receiver. The close is sent after it, also when the open has failed.
    - When too many are queued for a group that opens and closes while the receiver does not respond, the oldest are
      abandoned.
    """

    def __init__(
        self,
        name: str,
        sender: MessageSender,
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
        # cluster and group: its queue; an attempt at the first may be running
        self._queues: dict[tuple[str, str], deque[QueuedMessage]] = {}
        # the first of every queue: when it is due, a number (the order of arrival) and itself; some are out of date
        self._due: list[tuple[float, int, QueuedMessage]] = []
        self._numbers = itertools.count()
        self._under_way: QueuedMessage | None = None
        self._stop = False
        self._sent = self._failed = self._retried = 0
        # a daemon: a sender that hangs must not keep the process from ending
        self._thread = threading.Thread(target=self._run, name=f"notifier-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin(self, term: int, messages: Iterable[QueuedMessage]) -> None:
        with self._changed:
            self._term = term
            self._queues.clear()
            self._due.clear()
            current = self._under_way
            for waiting in messages:
                same = current is not None and current.message.id == waiting.message.id
                self._queue(current if same and current is not None else waiting)
            self._changed.notify_all()

    def add(self, message: Message) -> None:
        with self._changed:
            given_up = self._enqueue(message)
            self._changed.notify_all()
        for waiting, why in given_up:
            self._report(DeliveryResult(waiting.message, "abandoned", waiting.attempts, now_ms(), why))

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

    def _enqueue(self, message: Message) -> list[tuple[QueuedMessage, str]]:
        """Queue a message; returns the messages that are dropped for it, and why."""
        line = self._queues.get(_group_key(message), deque())
        last = line[-1] if line else None
        replaces = (
            last is not None
            and last is not self._under_way
            and message.kind == last.message.kind == "open"
            and message.incident == last.message.incident
        )
        if last is not None and replaces:
            old = QueuedMessage(last.message, last.attempts)
            last.message = message
            return [(old, "replaced by a newer message before it could be sent")]
        self._queue(QueuedMessage(message))
        line = self._queues[_group_key(message)]
        if len(line) <= MOST_WAITING:
            return []
        oldest = line[1] if line[0] is self._under_way else line[0]
        line.remove(oldest)
        self._schedule(line[0])
        return [(oldest, "too many messages about this group were waiting")]

    def _queue(self, waiting: QueuedMessage) -> None:
        line = self._queues.setdefault(_group_key(waiting.message), deque())
        line.append(waiting)
        if len(line) == 1:
            self._schedule(waiting)

    def _schedule(self, waiting: QueuedMessage) -> None:
        if waiting is not self._under_way:
            heapq.heappush(self._due, (waiting.due_s, next(self._numbers), waiting))

    def _run(self) -> None:
        while (waiting := self._next()) is not None:
            try:
                self._attempt(waiting)
            except Exception:
                # whatever it is, the next messages must be sent; this one is retried after a restart
                log.exception("error in a notifier", module=self._name)
                self._done(waiting, None)
        self._sender.close()

    def _next(self) -> QueuedMessage | None:
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

    def _is_first(self, waiting: QueuedMessage) -> bool:
        line = self._queues.get(_group_key(waiting.message))
        return line is not None and line[0] is waiting

    def _attempt(self, waiting: QueuedMessage) -> None:
        if not self._accounts.is_owed(waiting.message):
            # it was sent while the store was being read for a new term
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
        delivery, again_s = self._send(waiting, timeout_s)
        self._report(delivery)
        self._done(waiting, again_s)

    def _send(self, waiting: QueuedMessage, timeout_s: float) -> tuple[DeliveryResult, float | None]:
        """The result of the attempt, and the seconds until the next one."""
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
                log_about.warning("message not delivered, will be retried", error=str(error))
                return DeliveryResult(message, "owed", attempts, now_ms(), str(error)), again_ms / 1000
            log_about.error("message failed", error=str(error))  # noqa: TRY400 - expected
            why = str(error)
        except Exception as error:
            log_about.exception("message failed")
            why = str(error) or type(error).__name__
        else:
            self._sent += 1
            log_about.info("message sent", status=message.result.status.name, answer=answer)
            return DeliveryResult(message, "sent", attempts, now_ms(), answer), None
        self._failed += 1
        return DeliveryResult(message, "failed", attempts, now_ms(), why), None

    def _done(self, waiting: QueuedMessage, again_s: float | None) -> None:
        """The attempt is over: retry later, or continue with the next in the queue."""
        with self._changed:
            self._under_way = None
            if not self._is_first(waiting):
                # a new term has begun without it
                return
            line = self._queues[_group_key(waiting.message)]
            if again_s is not None:
                waiting.due_s = time.monotonic() + again_s
            else:
                line.popleft()
            if line:
                self._schedule(line[0])
            else:
                del self._queues[_group_key(waiting.message)]

    def _report(self, delivery: DeliveryResult) -> None:
        try:
            self._accounts.report(delivery)
        except Exception:
            # an error of the store does not fail the message
            log.exception("error in the notifier's store", module=self._name)


def _group_key(message: Message) -> tuple[str, str]:
    return message.result.cluster, message.result.group
