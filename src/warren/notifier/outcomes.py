"""The last message of each module that was sent, and the last that was not, out of the incidents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warren.notifier.record import DeliveryRecord, Incident, MessageRecord, ModuleRecord


def last_outcomes(incidents: Iterable[Incident]) -> Mapping[str, ModuleRecord]:
    """Module: its last outcomes. An attempt that failed counts, also if another will follow."""
    sent: dict[str, tuple[Incident, MessageRecord]] = {}
    failed: dict[str, tuple[Incident, MessageRecord]] = {}
    for incident in incidents:
        for message in incident.messages:
            if message.state == "sent":
                last = sent
            elif message.state == "failed" or (message.state == "owed" and message.attempts):
                last = failed
            else:
                continue
            if message.module not in last or last[message.module][1].at_ms < message.at_ms:
                last[message.module] = incident, message
    return {
        module: ModuleRecord(_record(sent.get(module)), _record(failed.get(module)))
        for module in sorted({*sent, *failed})
    }


def _record(found: tuple[Incident, MessageRecord] | None) -> DeliveryRecord | None:
    if found is None:
        return None
    incident, message = found
    return DeliveryRecord(
        message.id,
        incident.id,
        incident.cluster,
        incident.group,
        message.kind,
        message.status,
        message.state,
        message.attempts,
        message.at_ms,
        message.answer,
    )
