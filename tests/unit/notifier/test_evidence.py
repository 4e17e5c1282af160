"""What is kept of an incident: the windows at its opening, at its worst and at its end."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from tests.unit.httpserver.memory import MemorySnapshot
from tests.unit.notifier.scenes import NOW, group_of, module, partition

from warren.common.status import Status
from warren.notifier import evidence
from warren.notifier.evidence import MOST_BYTES, MOST_ENTRIES, MOST_PARTITIONS, is_worse, with_evidence
from warren.notifier.incidents import Outcome, evaluated, group_removed
from warren.notifier.record import EvidenceAt, Incident, IncidentEvidence
from warren.notifier.rules import Moment
from warren.notifier.store import Case, packed, unpacked
from warren.snapshot.model import Entry, PartitionDetail, PartitionStatus

STOP, WARN, OK = Status.STOP, Status.WARN, Status.OK


def window(offsets: list[int]) -> PartitionDetail:
    entries = tuple(Entry(offset, NOW + at, NOW + at, 5) for at, offset in enumerate(offsets))
    return PartitionDetail(entries, "", "", 5, (0,) * len(offsets))


@dataclass
class Watched:
    """One group from round to round, as the coordinator evaluates it."""

    case: Case = field(default_factory=lambda: Case("local", "g"))
    ended: Incident | None = None
    offsets: list[int] = field(default_factory=lambda: [1, 2, 3])
    seconds: int = 0

    def look(self, *partitions: PartitionStatus) -> Outcome | None:
        """None: there was nothing worth a look."""
        self.seconds += 10
        result = group_of("g", *partitions)
        details = {"orders": tuple(window(self.offsets) for _ in range(100))}
        snapshot = MemorySnapshot(
            as_of_ms=NOW + self.seconds * 1000, statuses={"g": result}, details={"g": details}
        )
        moment = Moment(NOW + self.seconds * 1000, self.seconds * 1000)
        outcome = evaluated(self.case, result, [module()], moment, lambda: "i")
        outcome = with_evidence(outcome, self.case, result, snapshot)
        self.case, self.ended = outcome.case, outcome.ended
        return outcome

    @property
    def kept(self) -> IncidentEvidence:
        incident = self.ended or self.case.incident
        assert incident is not None
        # as another process reads it
        return evidence.read(unpacked(packed(incident), Incident))


def lags(found: EvidenceAt | None) -> list[tuple[int, int]]:
    assert found is not None
    return [(each.partition.partition, each.partition.current_lag) for each in found.partitions]


def test_the_windows_at_opening_worst_and_end_are_kept() -> None:
    watched = Watched()
    watched.look(partition("orders", 0, WARN, 50), partition("orders", 1))
    watched.look(partition("orders", 0, STOP, 70), partition("orders", 1, STOP, 900))
    watched.look(partition("orders", 0, WARN, 20), partition("orders", 1))
    watched.look(partition("orders", 0), partition("orders", 1), partition("orders", 2))
    opening, worst, end = watched.kept.opening, watched.kept.worst, watched.kept.end
    assert opening is not None
    assert worst is not None
    assert end is not None
    assert (opening.at_ms, opening.status, opening.totallag, opening.not_ok) == (NOW + 10_000, WARN, 50, 1)
    assert lags(opening) == [(0, 50)]
    assert (worst.at_ms, worst.status, worst.totallag, worst.partition_count) == (
        NOW + 20_000,
        Status.ERR,
        970,
        2,
    )
    assert lags(worst) == [(1, 900), (0, 70)]
    # those that were in trouble, not all
    assert (end.at_ms, end.status, lags(end)) == (NOW + 40_000, OK, [(0, 0), (1, 0)])
    assert [entry.offset for entry in worst.partitions[0].window] == [1, 2, 3]
    assert worst.partitions[0].partition.would_change == "One commit."


def test_while_nothing_was_worse_the_opening_is_the_worst() -> None:
    watched = Watched()
    watched.look(partition("orders", 0, STOP, 50))
    watched.look(partition("orders", 0, WARN, 5000))
    assert watched.kept.worst == watched.kept.opening
    assert watched.kept.end is None


def test_a_lag_that_grows_is_stored_now_and_then_not_each_time() -> None:
    watched, lag, stored, seen = Watched(), 1000, 0, b""
    while lag < 100_000:
        watched.look(partition("orders", 0, STOP, lag))
        assert watched.case.incident is not None
        assert watched.case.incident.evidence is not None
        stored += watched.case.incident.evidence.worst != seen
        seen = watched.case.incident.evidence.worst
        assert (watched.kept.worst or watched.kept.opening) is not None
        assert lag <= lags(watched.kept.worst)[0][1] * 1.1
        lag += 100
    assert stored < 60


def test_a_group_that_is_gone_has_no_end() -> None:
    watched = Watched()
    watched.look(partition("orders", 0, STOP, 50))
    outcome = group_removed(watched.case, [module()], Moment(NOW + 60_000, 60_000), lambda: "j")
    assert outcome.ended is not None
    kept = evidence.read(outcome.ended)
    assert kept.opening is not None
    assert kept.end is None


def test_an_incident_of_a_version_that_kept_nothing_is_read_and_gets_its_worst_from_now_on() -> None:
    watched = Watched()
    watched.look(partition("orders", 0, STOP, 50))
    stored = msgspec.to_builtins(watched.case, builtin_types=(bytes,))
    del stored["incident"]["evidence"]
    watched.case = unpacked(packed(stored), Case)
    assert watched.kept == IncidentEvidence(None, None, None)
    watched.look(partition("orders", 0, STOP, 60))
    assert watched.kept.opening is None
    assert lags(watched.kept.worst) == [(0, 60)]


@pytest.mark.parametrize(
    ("status", "lag", "worse"),
    [(WARN, 10**9, False), (Status.ERR, 110, False), (Status.ERR, 111, True), (OK, 10**9, False)],
)
def test_what_is_worse(status: Status, lag: int, worse: bool) -> None:
    watched = Watched()
    watched.look(partition("orders", 0, STOP, 100))
    assert is_worse(watched.case.incident, status, lag) is worse
    assert not is_worse(None, status, lag)


def test_what_is_kept_is_bounded_whatever_the_group() -> None:
    dice = random.Random(7)
    long = "".join(chr(dice.randrange(0x100, 0x2000)) for _ in range(30_000))
    many = [
        replace_part(partition("orders", number, STOP, number), client_id=long, owner=long)
        for number in range(100)
    ]
    watched = Watched(offsets=[dice.randrange(10**15) for _ in range(1000)])
    watched.look(*many)
    assert watched.case.incident is not None
    assert watched.case.incident.evidence is not None
    assert len(watched.case.incident.evidence.opening) <= MOST_BYTES
    opening = watched.kept.opening
    assert opening is not None
    assert 1 <= len(opening.partitions) <= MOST_PARTITIONS
    assert sum(len(each.window) for each in opening.partitions) <= MOST_ENTRIES
    assert opening.partitions[0].partition.partition == 99
    assert opening.not_ok == 100
    # the newest entries of a long window, and none that is not there decided
    assert opening.partitions[0].window[-1].offset == watched.offsets[-1]
    assert all(at < len(each.window) for each in opening.partitions for at in each.partition.decided_by)


def test_evidence_that_cannot_be_read_does_not_hide_the_incident() -> None:
    watched = Watched()
    watched.look(partition("orders", 0, STOP, 50))
    incident = watched.case.incident
    assert incident is not None
    assert incident.evidence is not None
    damaged = msgspec.structs.replace(incident.evidence, opening=b"no")
    assert evidence.read(msgspec.structs.replace(incident, evidence=damaged)).opening is None


def replace_part(part: PartitionStatus, **changes: Any) -> PartitionStatus:
    return msgspec.structs.replace(part, **changes)
