"""A notifier in memory, for tests of whatever shows what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warren.common.status import Status
from warren.notifier.record import Incident, Leadership, MessageRecord, ModuleCounts

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


LEADING = Leadership("leading", "here:7")


@dataclass
class MemoryNotifying:
    """What a test wants the notifier to have done."""

    known: Sequence[Incident] = INCIDENTS
    who: Leadership = LEADING
    by_module: Mapping[str, ModuleCounts] = field(
        default_factory=lambda: {"ops": ModuleCounts(3, 0, 1, 1), "mail": ModuleCounts(0, 1, 5, 0)}
    )

    def incidents(self) -> Sequence[Incident]:
        return self.known

    def leadership(self) -> Leadership:
        return self.who

    def counts(self) -> Mapping[str, ModuleCounts]:
        return self.by_module
