"""The notifier's records for readers: incidents, messages, leadership and counts."""

from __future__ import annotations

from typing import Literal

import msgspec

from warren.common.status import Status
from warren.notifier.message import Kind
from warren.snapshot.model import PartitionWindow

# owed: decided and not sent yet; failed: the last attempt failed; abandoned: replaced by a newer one before it was
# sent, or its module is not configured any more
State = Literal["owed", "sent", "failed", "abandoned"]
# ok: the group is OK again, or the cluster is reachable again; gone: the group was deleted or has expired;
# unwatched: it is not monitored any more, because of a list or because its cluster is not configured any more
Ending = Literal["", "ok", "gone", "unwatched"]
# alone: no [zookeeper]; disconnected: ZooKeeper does not respond, so this instance sends nothing
Role = Literal["alone", "leading", "following", "disconnected"]


class MessageRecord(msgspec.Struct, frozen=True):
    """One message of one module, and its outcome."""

    id: str
    module: str
    kind: Kind
    # the group's status in the message
    status: Status
    state: State
    # when it was decided to send it
    decided_ms: int
    # attempts so far
    attempts: int
    # when the state was reached, or the last attempt ended; the decision's time before the first attempt
    at_ms: int
    # sent: the receiver's response; else why the last attempt failed; "" before the first
    answer: str


class EvidenceAt(msgspec.Struct, frozen=True):
    """A group at one moment of its incident."""

    # as of which it was evaluated
    at_ms: int
    status: Status
    totallag: int
    complete: float
    partition_count: int
    # how many of them were not OK
    not_ok: int
    # the worst of those, explained; at the end those of which there is evidence, whatever their status
    partitions: tuple[PartitionWindow, ...]


class Evidence(msgspec.Struct, frozen=True):
    """The three moments of an incident, each packed: they are read seldom, and there are thousands of incidents."""

    opening: bytes = b""
    # empty while nothing was worse than the opening
    worst: bytes = b""
    # of the worst moment
    worst_status: Status = Status.OK
    worst_lag: int = 0
    # empty while it is open
    end: bytes = b""


class IncidentEvidence(msgspec.Struct, frozen=True):
    """The same for a reader; None: there is none."""

    opening: EvidenceAt | None
    worst: EvidenceAt | None
    end: EvidenceAt | None


class Incident(msgspec.Struct, frozen=True):
    """One group from the moment it was not OK until it was again; or a cluster that is unreachable."""

    id: str
    cluster: str
    # "": the cluster itself
    group: str
    start_ms: int
    # None while it is open
    end_ms: int | None
    ending: Ending
    # the group's last status, and the worst one of the incident
    status: Status
    worst: Status
    # oldest first; of a long incident the first one and the newest ones
    messages: tuple[MessageRecord, ...] = ()
    # of a cluster: why it is unreachable
    reason: str = ""
    # None: of a cluster, or stored by a version that kept none
    evidence: Evidence | None = None

    @property
    def is_open(self) -> bool:
        return self.end_ms is None


class Leadership(msgspec.Struct, frozen=True):
    """Whether this instance sends."""

    state: Role
    # the instance that sends: host and process id; "" when not known
    leader: str


class ModuleCounts(msgspec.Struct, frozen=True):
    """Messages of one module: the first three since this process started, `owed` now."""

    sent: int = 0
    # each counted once
    failed: int = 0
    # attempts beyond the first
    retried: int = 0
    # decided and not sent yet
    owed: int = 0


class DeliveryRecord(msgspec.Struct, frozen=True):
    """The last message of a module that was sent, or that was not."""

    message: str
    incident: str
    cluster: str
    group: str
    kind: Kind
    status: Status
    state: State
    attempts: int
    at_ms: int
    # the receiver's response, or why the attempt failed
    answer: str


class ModuleRecord(msgspec.Struct, frozen=True):
    """The last outcomes of one module; None: there is none among the incidents that are kept."""

    sent: DeliveryRecord | None = None
    failed: DeliveryRecord | None = None


class Trial(msgspec.Struct, frozen=True):
    """A sample that was sent to try a module."""

    sent: bool
    # the receiver's response, or why it was not sent
    answer: str
    # whether the same message could succeed later without a change of configuration
    retriable: bool
    took_ms: int
    # what was sent: where to and headers, a line each, without secrets
    head: tuple[str, ...]
    body: str
