"""A notifier in memory, for tests of whatever shows what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warren.common.status import Status
from warren.notifier.message import Kind
from warren.notifier.outcomes import last_outcomes
from warren.notifier.record import (
    EvidenceAt,
    Incident,
    IncidentEvidence,
    Leadership,
    MessageRecord,
    ModuleCounts,
    ModuleRecord,
    Trial,
)
from warren.snapshot.model import Entry, PartitionStatus, PartitionWindow, WindowEntry

T0 = 1_700_000_000_000

INCIDENTS = (
    Incident(
        "33333333-0000-4000-8000-000000000003",
        "local",
        "payments",
        T0 + 3000,
        None,
        "",
        Status.WARN,
        Status.ERR,
        (
            MessageRecord("m5", "ops", "open", Status.ERR, "sent", T0 + 3000, 2, T0 + 3900, "HTTP 200"),
            MessageRecord("m6", "mail", "open", Status.ERR, "failed", T0 + 3000, 6, T0 + 9000, "no route"),
            MessageRecord("m7", "ops", "open", Status.WARN, "owed", T0 + 8000, 0, T0 + 8000, ""),
        ),
    ),
    Incident(
        "22222222-0000-4000-8000-000000000002",
        "other",
        "payments",
        T0 + 2000,
        None,
        "",
        Status.ERR,
        Status.ERR,
    ),
    Incident(
        "11111111-0000-4000-8000-000000000001",
        "local",
        "billing",
        T0 + 1000,
        T0 + 5000,
        "ok",
        Status.OK,
        Status.WARN,
        (
            MessageRecord("m1", "ops", "open", Status.WARN, "sent", T0 + 1000, 1, T0 + 1100, "HTTP 200"),
            MessageRecord("m2", "ops", "close", Status.OK, "sent", T0 + 5000, 1, T0 + 5100, "HTTP 204"),
        ),
    ),
    Incident(
        "00000000-0000-4000-8000-000000000000",
        "local",
        "old-job",
        T0,
        T0 + 500,
        "gone",
        Status.ERR,
        Status.ERR,
    ),
)


def _seen(at_ms: int, status: Status, lag: int) -> EvidenceAt:
    end = Entry(10, at_ms - 5000, at_ms - 5000, lag)
    partition = PartitionStatus(
        "orders",
        3,
        "/10.0.0.1",
        "app",
        Status.STOP,
        end,
        end,
        lag,
        0.1,
        10 + lag,
        0,
        "stopped",
        "Silent.",
        (0,),
        "One.",
    )
    window = (WindowEntry(10, at_ms - 5000, at_ms - 5000, lag, 0),)
    return EvidenceAt(at_ms, status, lag, 0.5, 4, 2, (PartitionWindow(partition, window),))


# of the first of them, which is open
EVIDENCE = IncidentEvidence(_seen(T0 + 3000, Status.ERR, 50), _seen(T0 + 4000, Status.ERR, 90), None)
LEADING = Leadership("leading", "here:7")


@dataclass
class MemoryNotifying:
    """What a test wants the notifier to have done."""

    known: Sequence[Incident] = INCIDENTS
    who: Leadership = LEADING
    by_module: Mapping[str, ModuleCounts] = field(
        default_factory=lambda: {"ops": ModuleCounts(3, 0, 1, 1), "mail": ModuleCounts(0, 1, 5, 0)}
    )

    # what was tried: module, status, kind
    tried: list[tuple[str, Status, str]] = field(default_factory=list)

    def outcomes(self) -> Mapping[str, ModuleRecord]:
        return last_outcomes(self.known)

    def try_module(self, module: str, status: Status, kind: Kind) -> Trial:
        self.tried.append((module, status, kind))
        return Trial(True, "HTTP 200", False, 12, ("POST https://example.com/REDACTED",), "{}")

    def incidents(self) -> Sequence[Incident]:
        return self.known

    def evidence(self, incident: Incident) -> IncidentEvidence:
        return EVIDENCE if incident == INCIDENTS[0] else IncidentEvidence(None, None, None)

    def leadership(self) -> Leadership:
        return self.who

    def counts(self) -> Mapping[str, ModuleCounts]:
        return self.by_module
