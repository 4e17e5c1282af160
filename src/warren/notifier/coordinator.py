"""The notifier as a whole: looks at every group at a fixed pace, decides, writes down and hands over."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import structlog

from warren.clock import now_ms
from warren.common.status import Status
from warren.config import Settings
from warren.config.settings import AnyNotifier
from warren.errors import ConfigError
from warren.notifier.book import Book, BookError, Case
from warren.notifier.deliveries import Deliveries, Outlet, Waiting
from warren.notifier.incidents import (
    News,
    Outcome,
    looked_at,
    nothing_to_do,
    seen_again,
    unseen,
    vanished,
)
from warren.notifier.leadership import Alone, Election, Leader, instance_name
from warren.notifier.ledger import Ledger
from warren.notifier.local_book import LocalBook
from warren.notifier.message import Message
from warren.notifier.record import Ending, Incident, Leadership, ModuleCounts
from warren.notifier.retries import wait_ms
from warren.notifier.rules import Module, Moment
from warren.notifier.senders import sender
from warren.notifier.shared_book import SharedBook
from warren.notifier.templates import examine
from warren.notifier.watch import Watch
from warren.snapshot.group_table import group_table
from warren.snapshot.model import ClusterSnapshot

log = structlog.get_logger("warren.notifier")

# decisions that are written down together
_TOGETHER: Final = 200
# seconds that an attempt may take where the module does not say
_TIMEOUT_S: Final = 10.0
# a longer round is not waited for when stopping
_STOP_S: Final = 3.0
# groups whose modules are remembered
_MOST_REMEMBERED: Final = 100_000

# in place of a group's name: the cluster itself. Kafka's groups may have no name either; those are not told of
CLUSTER: Final = ""

MakeSender = Callable[[str, AnyNotifier, Callable[[str, str], str]], Outlet]


class Progress(Protocol):
    """How far the reading of a cluster's commits is."""

    @property
    def caught_up(self) -> bool: ...

    @property
    def blind(self) -> bool:
        """Whether the cluster cannot be seen, or our clock not be relied upon."""

    @property
    def error(self) -> str:
        """Why."""


class Snapshots(Protocol):
    """What is looked at; `warren.httpserver.state.Answers` has it all."""

    def clusters(self) -> list[str]: ...

    def snapshot(self, cluster: str) -> ClusterSnapshot | None: ...

    def progress(self, cluster: str) -> Progress: ...


class Coordinator:
    """Implements `warren.httpserver.state.Notifying` for readers and `warren.notifier.deliveries.Accounts`.

    As in Burrow, one pace holds for all modules: the least of their intervals. A module's own interval is only what
    its send-interval is when that is not given.
    """

    def __init__(
        self,
        settings: Settings,
        answers: Snapshots,
        page: Callable[[str, str], str],
        *,
        make_sender: MakeSender | None = None,
        name: str | None = None,
    ) -> None:
        problems = examine(settings)
        if any(each.severity == "error" for each in problems):
            raise ConfigError([str(each) for each in problems if each.severity == "error"])
        for each in problems:
            log.warning("template", problem=str(each))
        self._settings = settings
        self._answers = answers
        self._modules = tuple(Module(name, module) for name, module in settings.notifier.items())
        self._pace_s = float(min((each.settings.interval for each in self._modules), default=60))
        own_name = name or instance_name()
        zookeeper = settings.zookeeper
        self._election = Election(zookeeper, own_name) if zookeeper else None
        self._leader: Leader = self._election or Alone(own_name)
        make = make_sender or partial(sender, located=settings.path)
        self._deliveries = Deliveries(
            {each: make(each, module, page) for each, module in settings.notifier.items()},
            {
                each: float(getattr(module, "timeout", _TIMEOUT_S))
                for each, module in settings.notifier.items()
            },
            self._leader,
            self,
        )
        self._ledger: Ledger | None = None
        # the term that the ledger was loaded in
        self._term: int | None = None
        # cluster: since when it cannot be seen, on the monotonic clock
        self._unseen_since_s: dict[str, float] = {}
        self._watch = Watch(settings)
        # cluster and group: the modules that tell of it
        self._accepting: dict[tuple[str, str], tuple[Module, ...]] = {}
        self._started_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)

    def start(self) -> None:
        """Begin; returns at once, also when ZooKeeper does not answer. BookError when there is no place for a file."""
        self._started_s = time.monotonic()
        self._ledger = Ledger(self._book(), needs_book=self._election is not None)
        self._leader.start()
        self._deliveries.start()
        self._thread.start()

    def stop(self) -> None:
        """Ends within seconds; what is owed is sent after the next start, or by the next leader."""
        self._stopping.set()
        if self._ledger is None:
            return
        self._thread.join(_STOP_S)
        # only now may another instance send
        self._leader.stop(at_once=self._deliveries.stop())
        self._ledger.close()

    def incidents(self) -> list[Incident]:
        """Open ones first, each kind with the newest first."""
        return self._ledger.incidents() if self._ledger else []

    def leadership(self) -> Leadership:
        return self._leader.standing()

    def counts(self) -> dict[str, ModuleCounts]:
        """By module."""
        owed = self._ledger.owed() if self._ledger else {}
        return {
            name: ModuleCounts(each.sent, each.failed, each.retried, owed.get(name, 0))
            for name, each in self._deliveries.counts().items()
        }

    def is_owed(self, message: Message) -> bool:
        """For the deliveries."""
        return self._ledger is not None and self._ledger.is_owed(message)

    def report(self, news: News) -> None:
        """For the deliveries: how an attempt went."""
        if self._ledger is None:
            return
        try:
            self._ledger.note([news])
        except BookError as error:
            log.warning("cannot write down how a message went", message=news.message.id, error=str(error))
            self._leader.doubt()

    def _book(self) -> Book:
        if self._election is not None and self._settings.zookeeper is not None:
            return SharedBook(self._election, self._settings.zookeeper.root_path)
        folder = Path(self._settings.spark.checkpoint_dir).absolute() / "notifier"
        return LocalBook(folder, now_ms())

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._stopping.wait(max(0.0, due_s - time.monotonic())):
            # a look that comes late counts as if on time: repeats keep their pace
            late_ms = round((time.monotonic() - due_s) * 1000)
            try:
                running_ms = round((due_s - self._started_s) * 1000)
                self._round(Moment(now_ms() - late_ms, running_ms))
            except Exception:
                # the next round may do better
                log.exception("fault in the notifier")
            missed = max(0.0, time.monotonic() - due_s) // self._pace_s
            due_s += (missed + 1) * self._pace_s

    def _round(self, moment: Moment) -> None:
        assert self._ledger is not None  # noqa: S101 - there is one once started
        ledger, lease = self._ledger, self._leader.lease()
        try:
            if lease is None:
                self._look_on(ledger)
                return
            if lease.term != self._term:
                self._take_over(ledger, lease.term, moment.now_ms)
            for cluster in self._answers.clusters():
                self._look(ledger, cluster, moment)
            for cluster in ledger.clusters() - set(self._answers.clusters()):
                ended = self._ended(ledger.open_cases(cluster), moment, "unwatched")
                self._decide(ledger, ended, moment)
        except BookError as error:
            # what was decided is not sent; the next round reads the book and decides anew
            log.warning("the notifier's book is out of reach", error=str(error))
            self._leader.doubt()

    def _look_on(self, ledger: Ledger) -> None:
        """Another instance may be sending: keep still, and see what it does."""
        if self._term is not None:
            self._term = None
            self._deliveries.begin(0, ())
        if self._election is not None and self._leader.standing().state == "following":
            self._election.find_leader()
            ledger.glance()

    def _take_over(self, ledger: Ledger, term: int, now: int) -> None:
        """Go on where the book ends, whoever wrote it."""
        known = set(self._settings.notifier)
        messages = ledger.load()
        orphans = [each for each in messages if each.module not in known]
        ledger.note(
            News(each, "abandoned", 0, now, "its module is not configured any more") for each in orphans
        )
        owed = [self._waiting(ledger, each, now) for each in messages if each.module in known]
        self._deliveries.begin(term, owed)
        self._term = term
        if owed:
            log.info("messages are still owed", count=len(owed))

    def _waiting(self, ledger: Ledger, message: Message, now: int) -> Waiting:
        record = ledger.record_of(message)
        if record is None or not record.attempts:
            return Waiting(message)
        left_s = wait_ms(record.attempts, record.at_ms, now) / 1000
        return Waiting(message, record.attempts, time.monotonic() + left_s)

    def _look(self, ledger: Ledger, cluster: str, moment: Moment) -> None:
        """One cluster.

        Nothing is decided about its groups while its windows are being filled or while it cannot be seen: an open or a
        close would be false.
        """
        progress, snapshot = self._answers.progress(cluster), self._answers.snapshot(cluster)
        cases = ledger.open_cases(cluster)
        itself = cases.pop(CLUSTER, None) or Case(cluster, CLUSTER)
        if progress.blind:
            since_s = self._unseen_since_s.setdefault(cluster, time.monotonic())
            self._decide(ledger, self._unseen(itself, progress.error, since_s, moment), moment)
            return
        self._unseen_since_s.pop(cluster, None)
        if not progress.caught_up or snapshot is None:
            return
        if not itself.is_empty:
            self._decide(ledger, iter([seen_again(itself, self._modules, moment, _new_id)]), moment)
        self._decide(ledger, self._outcomes(cases, snapshot, moment), moment)

    def _unseen(self, case: Case, reason: str, since_s: float, moment: Moment) -> Iterator[Outcome]:
        """The cluster cannot be seen: those who asked for it are told, after a while."""
        seconds = time.monotonic() - since_s
        modules = [
            module
            for module in self._modules
            if module.settings.covers_cluster(case.cluster)
            and (seconds >= module.settings.cluster_incident_after or module.name in case.told)
        ]
        if modules:
            outcome = unseen(case, reason, modules, moment, _new_id)
            if outcome.case != case or outcome.messages:
                yield outcome

    def _outcomes(
        self, cases: dict[str, Case], snapshot: ClusterSnapshot, moment: Moment
    ) -> Iterator[Outcome]:
        table = group_table(snapshot)
        troubled = np.flatnonzero(np.asarray(table.status) != Status.OK).tolist()
        everyone = any(module.hears_of_ok for module in self._modules)
        # a group that the lists leave out by now is not told of, though its windows may be there for a while
        place = {name: at for at, name in enumerate(table.names) if name != CLUSTER}
        # a partition without a leader, or a topic that was hidden from us, says nothing: neither open nor close
        unseen = snapshot.unseen()
        # most groups are OK and were before: nobody looks at them one by one
        looks = range(len(table.names)) if everyone else {*troubled, *(place[g] for g in cases if g in place)}
        for at in sorted(looks):
            group, status = table.names[at], Status(int(table.status[at]))
            if group == CLUSTER or group in unseen or not self._watch.includes(snapshot.name, group):
                continue
            outcome = self._outcome(cases.get(group) or Case(snapshot.name, group), status, snapshot, moment)
            if outcome is not None:
                yield outcome
        for group, case in cases.items():
            if not self._watch.includes(snapshot.name, group):
                yield from self._ended({group: case}, moment, "unwatched")
            elif group not in place:
                yield from self._ended({group: case}, moment, "gone")

    def _outcome(
        self, case: Case, status: Status, snapshot: ClusterSnapshot, moment: Moment
    ) -> Outcome | None:
        modules = self._accepted(case)
        try:
            if nothing_to_do(case, status, modules, moment.now_ms):
                return None
            result = snapshot.group(case.group)
            if result is None:
                return vanished(case, modules, moment, _new_id)
            outcome = looked_at(case, result, modules, moment, _new_id)
        except Exception:
            # the other groups must be looked at all the same
            log.exception("fault at a group", cluster=case.cluster, group=case.group)
            return None
        return outcome if outcome.case != case or outcome.messages or outcome.ended else None

    def _ended(self, cases: Mapping[str, Case], moment: Moment, ending: Ending) -> Iterator[Outcome]:
        """The groups are not there any more."""
        for case in cases.values():
            modules = self._modules if case.group == CLUSTER else self._accepted(case)
            yield vanished(case, modules, moment, _new_id, ending)

    def _decide(self, ledger: Ledger, outcomes: Iterator[Outcome], moment: Moment) -> None:
        batch: list[Outcome] = []
        for outcome in outcomes:
            batch.append(outcome)
            if len(batch) >= _TOGETHER:
                self._settle(ledger, batch, moment)
                batch = []
        if batch:
            self._settle(ledger, batch, moment)

    def _settle(self, ledger: Ledger, outcomes: Sequence[Outcome], moment: Moment) -> None:
        messages = ledger.decide(outcomes, moment.now_ms)
        for outcome in outcomes:
            begun = outcome.case.incident
            if begun is not None and begun.start_ms == moment.now_ms:
                log.info("incident opened", **_about(begun), status=begun.status.name)
            if outcome.ended is not None:
                log.info("incident closed", **_about(outcome.ended), why=outcome.ended.ending)
        self._deliveries.add(messages)

    def _accepted(self, case: Case) -> tuple[Module, ...]:
        found = self._accepting.get(case.key)
        if found is None:
            if len(self._accepting) > _MOST_REMEMBERED:
                self._accepting.clear()
            found = tuple(module for module in self._modules if module.settings.covers(*case.key))
            self._accepting[case.key] = found
        return found


def _about(incident: Incident) -> dict[str, str]:
    """As the log names it."""
    return {"cluster": incident.cluster, "group": incident.group, "incident": incident.id}


def _new_id() -> str:
    return str(uuid.uuid4())
