"""What an incident looked like: the windows of its worst partitions at its opening, at its worst and at its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from warren.common.status import Status
from warren.notifier.incidents import Outcome
from warren.notifier.record import Evidence, EvidenceAt, Incident, IncidentEvidence
from warren.notifier.store import Case, StoreError, packed, unpacked
from warren.snapshot.model import ClusterSnapshot, GroupStatus, PartitionStatus, PartitionWindow

# limits of one moment: all incidents together must fit into memory, and one into a node of ZooKeeper
MOST_PARTITIONS: Final = 12
MOST_ENTRIES: Final = 600
MOST_BYTES: Final = 24_000
_MOST_TEXT: Final = 2000
_MOST_NAME: Final = 250
# bytes of a moment when it is unpacked: it was stored, and could be anything
_MOST_UNPACKED: Final = 4 * 1024 * 1024
# a greater lag is a new worst moment when it is greater by this factor: a lag that grows for days is not stored each
# time that somebody looks
_GREATER: Final = 1.1


def is_worse(incident: Incident | None, status: Status, lag: int) -> bool:
    """Whether the group is worse than it was at any moment of which there is evidence."""
    if incident is None or status <= Status.OK:
        return False
    known = incident.evidence
    if known is None or status != known.worst_status:
        return known is None or status > known.worst_status
    return lag > known.worst_lag * _GREATER


def with_evidence(outcome: Outcome, before: Case, result: GroupStatus, snapshot: ClusterSnapshot) -> Outcome:
    """The outcome of evaluating the group, with the windows where the moment is one of the three."""
    if outcome.ended is not None:
        known = outcome.ended.evidence or Evidence()
        evidence = msgspec.structs.replace(known, end=_taken(result, snapshot, _seen(known)))
        return replace(outcome, ended=msgspec.structs.replace(outcome.ended, evidence=evidence))
    incident = outcome.case.incident
    if incident is None or not is_worse(incident, result.status, result.totallag):
        return outcome
    windows = _taken(result, snapshot)
    known = incident.evidence or Evidence()
    if before.incident is None:
        evidence = Evidence(windows, b"", result.status, result.totallag)
    else:
        evidence = msgspec.structs.replace(
            known, worst=windows, worst_status=result.status, worst_lag=result.totallag
        )
    changed = msgspec.structs.replace(incident, evidence=evidence)
    return replace(outcome, case=msgspec.structs.replace(outcome.case, incident=changed))


def read(incident: Incident) -> IncidentEvidence:
    """The evidence for a reader."""
    known = incident.evidence or Evidence()
    opening = _unpacked(known.opening)
    # while nothing was worse than the opening, that is the worst
    return IncidentEvidence(opening, _unpacked(known.worst) or opening, _unpacked(known.end))


def _seen(known: Evidence) -> frozenset[tuple[str, int]]:
    """The partitions of which there is evidence."""
    moments = (_unpacked(known.worst), _unpacked(known.opening))
    return frozenset(
        (each.partition.topic, each.partition.partition)
        for moment in moments
        if moment is not None
        for each in moment.partitions
    )


def _taken(
    result: GroupStatus, snapshot: ClusterSnapshot, also: frozenset[tuple[str, int]] = frozenset()
) -> bytes:
    """The group now: its partitions that are not OK, and `also` these, the worst of them."""
    chosen = [
        one for one in result.partitions if one.status > Status.OK or (one.topic, one.partition) in also
    ]
    chosen.sort(key=lambda one: (one.status, one.current_lag), reverse=True)
    chosen = chosen[:MOST_PARTITIONS]
    shown = tuple(_short(one) for one in chosen)
    windows = [_cut(each) for each in snapshot.windows(msgspec.structs.replace(result, partitions=shown))]
    entries = 0
    for number, each in enumerate(windows):
        entries += len(each.window)
        if number and entries > MOST_ENTRIES:
            del windows[number:]
            break
    while True:
        moment = packed(
            EvidenceAt(
                snapshot.as_of_ms,
                result.status,
                result.totallag,
                result.complete,
                result.partition_count,
                sum(one.status > Status.OK for one in result.partitions),
                tuple(windows),
            )
        )
        if len(moment) <= MOST_BYTES or not windows:
            return moment
        del windows[len(windows) // 2 :]


def _short(one: PartitionStatus) -> PartitionStatus:
    """Clients choose their ids, of any length."""
    return msgspec.structs.replace(one, owner=one.owner[:_MOST_NAME], client_id=one.client_id[:_MOST_NAME])


def _cut(one: PartitionWindow) -> PartitionWindow:
    """With the newest entries of a very long window."""
    gone = max(len(one.window) - MOST_ENTRIES, 0)
    partition = msgspec.structs.replace(
        one.partition,
        because=(one.partition.because or "")[:_MOST_TEXT],
        decided_by=tuple(at - gone for at in one.partition.decided_by if at >= gone),
    )
    return PartitionWindow(partition, one.window[gone:])


def _unpacked(moment: bytes) -> EvidenceAt | None:
    """None: there is none, or it cannot be read; the incident itself can."""
    if not moment:
        return None
    try:
        return unpacked(moment, EvidenceAt, _MOST_UNPACKED)
    except StoreError:
        return None
