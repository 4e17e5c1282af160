"""The notifier as a whole: evaluates every group at a fixed interval, decides, stores and sends."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import msgspec
import numpy as np
import structlog

from warren.clock import now_ms
from warren.common.status import Status
from warren.config import Settings
from warren.config.settings import AnyNotifier
from warren.errors import ConfigError
from warren.notifier import evidence
from warren.notifier.deliveries import Deliveries, MessageSender, QueuedMessage
from warren.notifier.incidents import (
    DeliveryResult,
    Outcome,
    cluster_reachable,
    cluster_unreachable,
    evaluated,
    group_removed,
    nothing_to_do,
)
from warren.notifier.leadership import Election, Leader, SingleInstance, instance_name
from warren.notifier.ledger import Ledger
from warren.notifier.links import Page
from warren.notifier.message import Kind, Message
from warren.notifier.outcomes import last_outcomes
from warren.notifier.record import (
    Ending,
    Incident,
    IncidentEvidence,
    Leadership,
    ModuleCounts,
    ModuleRecord,
    Trial,
)
from warren.notifier.retries import wait_ms
from warren.notifier.rules import Module, Moment
from warren.notifier.senders import sender
from warren.notifier.sqlite_store import SqliteStore
from warren.notifier.store import Case, Store, StoreError
from warren.notifier.templates import examine
from warren.notifier.trial import tried
from warren.notifier.watch import Watch
from warren.notifier.zookeeper_store import ZooKeeperStore
from warren.snapshot.model import ClusterSnapshot, GroupStatus

log = structlog.get_logger("warren.notifier")

# decisions that are stored together
_TOGETHER: Final = 200
# seconds that an attempt may take where the module does not say
_TIMEOUT_S: Final = 10.0
# how long stopping waits for a round
_STOP_S: Final = 3.0
# incidents that get evidence in one round, some half a millisecond each: when thousands of groups stop at once, that
# must delay neither their messages nor the next trigger. The others get theirs in later rounds, without their opening
MOST_EVIDENCE: Final = 1000
# groups whose modules are cached
_MOST_REMEMBERED: Final = 100_000

# in place of a group's name: the cluster itself. Kafka's groups may have no name either; those are not notified
CLUSTER: Final = ""

MakeSender = Callable[[str, AnyNotifier, Page], MessageSender]


class Progress(Protocol):
    """The progress of reading a cluster's commits."""

    @property
    def caught_up(self) -> bool: ...

    @property
    def blind(self) -> bool:
        """Whether the cluster is unreachable, or this host's clock is unreliable."""

    @property
    def error(self) -> str:
        """Why."""


class Snapshots(Protocol):
    """What is evaluated; `warren.httpserver.state.Answers` implements it."""

    def clusters(self) -> list[str]: ...

    def snapshot(self, cluster: str) -> ClusterSnapshot | None: ...

    def progress(self, cluster: str) -> Progress: ...


class Coordinator:
    """Implements `warren.httpserver.state.Notifying` for readers and `warren.notifier.deliveries.Accounts`.

    As in Burrow, all modules share one interval: the smallest of theirs. A module's own interval is only what
    its send-interval is when that is not given.
    """

    def __init__(
        self,
        settings: Settings,
        answers: Snapshots,
        page: Page,
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
        self._page = page
        self._modules = tuple(Module(name, module) for name, module in settings.notifier.items())
        self._interval_s = float(min((each.settings.interval for each in self._modules), default=60))
        own_name = name or instance_name()
        zookeeper = settings.zookeeper
        self._election = Election(zookeeper, own_name) if zookeeper else None
        self._leader: Leader = self._election or SingleInstance(own_name)
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
        # cluster: since when it is unreachable, on the monotonic clock
        self._unreachable_since_s: dict[str, float] = {}
        self._watch = Watch(settings)
        # cluster and group: the modules that notify about it
        self._accepting: dict[tuple[str, str], tuple[Module, ...]] = {}
        # how often evidence may still be taken in this round
        self._evidence_left = 0
        self._started_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)

    def start(self) -> None:
        """Returns at once, also when ZooKeeper does not respond. StoreError when the file cannot be created."""
        self._started_s = time.monotonic()
        self._ledger = Ledger(self._store(), needs_store=self._election is not None)
        self._leader.start()
        self._deliveries.start()
        self._thread.start()

    def stop(self) -> None:
        """Ends within seconds; pending messages are sent after the next start, or by the next leader."""
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

    def evidence(self, incident: Incident) -> IncidentEvidence:
        """What the incident looked like."""
        return evidence.read(incident)

    def leadership(self) -> Leadership:
        return self._leader.leadership()

    def counts(self) -> dict[str, ModuleCounts]:
        """By module."""
        owed = self._ledger.owed() if self._ledger else {}
        return {
            name: ModuleCounts(each.sent, each.failed, each.retried, owed.get(name, 0))
            for name, each in self._deliveries.counts().items()
        }

    def outcomes(self) -> Mapping[str, ModuleRecord]:
        """By module."""
        return last_outcomes(self.incidents())

    def try_module(self, module: str, status: Status, kind: Kind) -> Trial:
        """Send a sample through a configured module; may take as long as the module's timeout."""
        return tried(self._settings, module, status, kind, self._page)

    def is_owed(self, message: Message) -> bool:
        """For the deliveries."""
        return self._ledger is not None and self._ledger.is_owed(message)

    def report(self, delivery: DeliveryResult) -> None:
        """For the deliveries: the outcome of an attempt."""
        if self._ledger is None:
            return
        try:
            self._ledger.note([delivery])
        except StoreError as error:
            log.warning(
                "cannot store the outcome of a message", message=delivery.message.id, error=str(error)
            )
            self._leader.invalidate_term()

    def _store(self) -> Store:
        if self._election is not None and self._settings.zookeeper is not None:
            return ZooKeeperStore(self._election, self._settings.zookeeper.root_path)
        folder = Path(self._settings.spark.checkpoint_dir).absolute() / "notifier"
        return SqliteStore(folder, now_ms())

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._stopping.wait(max(0.0, due_s - time.monotonic())):
            # a late round counts as if on time, so that repeats keep their interval
            late_ms = round((time.monotonic() - due_s) * 1000)
            try:
                running_ms = round((due_s - self._started_s) * 1000)
                self._round(Moment(now_ms() - late_ms, running_ms))
            except Exception:
                # the next round may succeed
                log.exception("error in the notifier")
            missed = max(0.0, time.monotonic() - due_s) // self._interval_s
            due_s += (missed + 1) * self._interval_s

    def _round(self, moment: Moment) -> None:
        assert self._ledger is not None  # noqa: S101 - there is one once started
        ledger, lease = self._ledger, self._leader.lease()
        self._evidence_left = MOST_EVIDENCE
        try:
            if lease is None:
                self._follow(ledger)
                return
            if lease.term != self._term:
                self._take_over(ledger, lease.term, moment.now_ms)
            ledger.catch_up()
            for cluster in self._answers.clusters():
                self._evaluate_cluster(ledger, cluster, moment)
            for cluster in ledger.clusters() - set(self._answers.clusters()):
                ended = self._ended(ledger.open_cases(cluster), moment, "unwatched")
                self._decide(ledger, ended, moment)
        except StoreError as error:
            # what was decided is not sent; the next round reads the store and decides again
            log.warning("the notifier's store is unreachable", error=str(error))
            self._leader.invalidate_term()

    def _follow(self, ledger: Ledger) -> None:
        """Another instance may be sending: send nothing, and read what it stores."""
        if self._term is not None:
            self._term = None
            self._deliveries.begin(0, ())
        if self._election is not None and self._leader.leadership().state == "following":
            self._election.find_leader()
            ledger.refresh()

    def _take_over(self, ledger: Ledger, term: int, now: int) -> None:
        """Continue from the contents of the store, whichever instance wrote it."""
        known = set(self._settings.notifier)
        messages = ledger.load()
        orphans = [each for each in messages if each.module not in known]
        ledger.note(
            DeliveryResult(each, "abandoned", 0, now, "its module is not configured any more")
            for each in orphans
        )
        owed = [self._waiting(ledger, each, now) for each in messages if each.module in known]
        self._deliveries.begin(term, owed)
        self._term = term
        if owed:
            log.info("messages are pending", count=len(owed))

    def _waiting(self, ledger: Ledger, message: Message, now: int) -> QueuedMessage:
        record = ledger.record_of(message)
        if record is None or not record.attempts:
            return QueuedMessage(message)
        left_s = wait_ms(record.attempts, record.at_ms, now) / 1000
        return QueuedMessage(message, record.attempts, time.monotonic() + left_s)

    def _evaluate_cluster(self, ledger: Ledger, cluster: str, moment: Moment) -> None:
        """Evaluate one cluster.

        Nothing is decided about its groups while it is catching up or unreachable: an open or a close would be wrong.
        """
        progress, snapshot = self._answers.progress(cluster), self._answers.snapshot(cluster)
        cases = ledger.open_cases(cluster)
        itself = cases.pop(CLUSTER, None) or Case(cluster, CLUSTER)
        if progress.blind:
            since_s = self._unreachable_since_s.setdefault(cluster, time.monotonic())
            self._decide(ledger, self._unreachable(itself, progress.error, since_s, moment), moment)
            return
        self._unreachable_since_s.pop(cluster, None)
        if not progress.caught_up or snapshot is None:
            return
        if not itself.is_empty:
            self._decide(ledger, iter([cluster_reachable(itself, self._modules, moment, _new_id)]), moment)
        self._decide(ledger, self._outcomes(cases, snapshot, moment), moment)

    def _unreachable(self, case: Case, reason: str, since_s: float, moment: Moment) -> Iterator[Outcome]:
        """The cluster is unreachable: modules with `cluster-incidents` are notified, after their delay."""
        seconds = time.monotonic() - since_s
        modules = [
            module
            for module in self._modules
            if module.settings.covers_cluster(case.cluster)
            and (seconds >= module.settings.cluster_incident_after or module.name in case.told)
        ]
        if modules:
            outcome = cluster_unreachable(case, reason, modules, moment, _new_id)
            if outcome.case != case or outcome.messages:
                yield outcome

    def _outcomes(
        self, cases: dict[str, Case], snapshot: ClusterSnapshot, moment: Moment
    ) -> Iterator[Outcome]:
        table = snapshot.group_table()
        not_ok = np.flatnonzero(np.asarray(table.status) != Status.OK).tolist()
        include_ok = any(module.notifies_ok for module in self._modules)
        # a group that the lists exclude by now is not notified, though its windows may exist for a while
        index = {name: at for at, name in enumerate(table.names) if name != CLUSTER}
        # groups with a partition without a leader, or a topic that is not visible to us: neither open nor close
        unreachable = snapshot.unseen()
        # most groups are OK and were before: they are not evaluated one by one
        chosen = (
            range(len(table.names)) if include_ok else {*not_ok, *(index[g] for g in cases if g in index)}
        )
        for at in sorted(chosen):
            group, status = table.names[at], Status(int(table.status[at]))
            if group == CLUSTER or group in unreachable or not self._watch.includes(snapshot.name, group):
                continue
            case = cases.get(group) or Case(snapshot.name, group)
            outcome = self._outcome(case, status, int(table.totallag[at]), snapshot, moment)
            if outcome is not None:
                yield outcome
        for group, case in cases.items():
            if not self._watch.includes(snapshot.name, group):
                yield from self._ended({group: case}, moment, "unwatched")
            elif group not in index:
                yield from self._ended({group: case}, moment, "gone")

    def _outcome(
        self, case: Case, status: Status, lag: int, snapshot: ClusterSnapshot, moment: Moment
    ) -> Outcome | None:
        modules = self._accepted(case)
        try:
            worse = self._evidence_left > 0 and evidence.is_worse(case.incident, status, lag)
            if not worse and nothing_to_do(case, status, modules, moment.now_ms):
                return None
            result = snapshot.group(case.group)
            if result is None:
                return group_removed(case, modules, moment, _new_id)
            outcome = evaluated(case, result, modules, moment, _new_id)
            outcome = self._with_evidence(outcome, case, result, snapshot)
            # only now: most evaluations send nothing, and then no sentence is needed
            messages = tuple(
                msgspec.structs.replace(each, result=snapshot.explained(each.result))
                for each in outcome.messages
            )
            outcome = replace(outcome, messages=messages)
        except Exception:
            # the other groups must still be evaluated
            log.exception("error while evaluating a group", cluster=case.cluster, group=case.group)
            return None
        return outcome if outcome.case != case or outcome.messages or outcome.ended else None

    def _with_evidence(
        self, outcome: Outcome, case: Case, result: GroupStatus, snapshot: ClusterSnapshot
    ) -> Outcome:
        if self._evidence_left <= 0:
            return outcome
        found = evidence.with_evidence(outcome, case, result, snapshot)
        self._evidence_left -= found is not outcome
        return found

    def _ended(self, cases: Mapping[str, Case], moment: Moment, ending: Ending) -> Iterator[Outcome]:
        """The groups no longer exist."""
        for case in cases.values():
            modules = self._modules if case.group == CLUSTER else self._accepted(case)
            yield group_removed(case, modules, moment, _new_id, ending)

    def _decide(self, ledger: Ledger, outcomes: Iterator[Outcome], moment: Moment) -> None:
        batch: list[Outcome] = []
        for outcome in outcomes:
            batch.append(outcome)
            if len(batch) >= _TOGETHER:
                self._record(ledger, batch, moment)
                batch = []
        if batch:
            self._record(ledger, batch, moment)

    def _record(self, ledger: Ledger, outcomes: Sequence[Outcome], moment: Moment) -> None:
        messages = ledger.decide([self._with_links(each) for each in outcomes], moment.now_ms)
        for outcome in outcomes:
            begun = outcome.case.incident
            if begun is not None and begun.start_ms == moment.now_ms:
                log.info("incident opened", **_log_fields(begun), status=begun.status.name)
            if outcome.ended is not None:
                log.info("incident closed", **_log_fields(outcome.ended), why=outcome.ended.ending)
        self._deliveries.add(messages)

    def _with_links(self, outcome: Outcome) -> Outcome:
        def link(message: Message) -> str:
            return self._page(message.result.cluster, message.result.group, message.incident)

        linked = tuple(msgspec.structs.replace(each, link=link(each)) for each in outcome.messages)
        return replace(outcome, messages=linked)

    def _accepted(self, case: Case) -> tuple[Module, ...]:
        found = self._accepting.get(case.key)
        if found is None:
            if len(self._accepting) > _MOST_REMEMBERED:
                self._accepting.clear()
            found = tuple(module for module in self._modules if module.settings.covers(*case.key))
            self._accepting[case.key] = found
        return found


def _log_fields(incident: Incident) -> dict[str, str]:
    """Fields of a log line."""
    return {"cluster": incident.cluster, "group": incident.group, "incident": incident.id}


def _new_id() -> str:
    return str(uuid.uuid4())
