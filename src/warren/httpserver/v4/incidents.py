"""`/v4/incidents`, and the notifier's part of the health page."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Notifying
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import INCIDENT, INCIDENTS
from warren.httpserver.v4.parameters import ParameterError, values
from warren.httpserver.v4.partitions import partition_window
from warren.notifier.record import EvidenceAt, Incident, IncidentEvidence, MessageRecord

_NO_INCIDENT: Final = refused(404, "there is no such incident; the last 1000 of 30 days are kept")


class IncidentPages:
    """Answers from the notifier's records; without notifiers there are none."""

    def __init__(self, notifying: Notifying | None) -> None:
        self._notifying = notifying

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {("GET", INCIDENTS.route): self.incidents, ("GET", INCIDENT.route): self.incident}

    def incidents(self, request: Request) -> Reply:
        try:
            given = values(request.query, INCIDENTS.parameters)
        except ParameterError as error:
            return refused(400, str(error))
        known = self._notifying.incidents() if self._notifying else ()
        fitting = list(_fitting(known, given))
        page = fitting[given["offset"] : given["offset"] + given["limit"]]
        return as_json(
            shapes.Incidents(len(fitting), given["offset"], [_incident(incident) for incident in page])
        )

    def incident(self, request: Request) -> Reply:
        try:
            values(request.query, INCIDENT.parameters)
        except ParameterError as error:
            return refused(400, str(error))
        known = self._notifying.incidents() if self._notifying else ()
        found = next((each for each in known if each.id == request.names[0]), None)
        if found is None or self._notifying is None:
            return _NO_INCIDENT
        shown = msgspec.structs.asdict(_incident(found))
        evidence = _evidence(self._notifying.evidence(found))
        return as_json(shapes.IncidentDetail(**shown, evidence=evidence))


def notifier_health(notifying: Notifying | None) -> shapes.NotifierHealth | None:
    if notifying is None:
        return None
    leadership = notifying.leadership()
    modules = [
        shapes.ModuleHealth(module, counts.owed, counts.sent, counts.failed, counts.retried)
        for module, counts in sorted(notifying.counts().items())
    ]
    open_incidents = sum(incident.is_open for incident in notifying.incidents())
    return shapes.NotifierHealth(leadership.state, leadership.leader, open_incidents, modules)


def _fitting(known: Iterable[Incident], given: Mapping[str, Any]) -> Iterator[Incident]:
    name = re.compile(fnmatch.translate(given["group"])) if given["group"] is not None else None
    for incident in known:
        if (
            given["state"] in {None, "open" if incident.is_open else "past"}
            and given["cluster"] in {None, incident.cluster}
            and (name is None or name.match(incident.group))
            and (given["module"] is None or any(each.module == given["module"] for each in incident.messages))
        ):
            yield incident


def _incident(incident: Incident) -> shapes.Incident:
    return shapes.Incident(
        incident.id,
        incident.cluster,
        incident.group,
        incident.start_ms,
        incident.end_ms,
        incident.ending or None,
        incident.reason,
        incident.status.name,  # type: ignore[arg-type] # of a group
        incident.worst.name,  # type: ignore[arg-type]
        [_message(message) for message in incident.messages],
    )


def _evidence(found: IncidentEvidence) -> shapes.IncidentEvidence:
    return shapes.IncidentEvidence(_moment(found.opening), _moment(found.worst), _moment(found.end))


def _moment(found: EvidenceAt | None) -> shapes.Evidence | None:
    if found is None:
        return None
    return shapes.Evidence(
        found.at_ms,
        found.status.name,  # type: ignore[arg-type] # of a group
        found.totallag,
        round(found.complete, 6),
        found.partition_count,
        found.not_ok,
        [partition_window(each) for each in found.partitions],
    )


def _message(message: MessageRecord) -> shapes.Message:
    return shapes.Message(
        message.id,
        message.module,
        message.kind,
        message.status.name,  # type: ignore[arg-type] # of a group
        message.state,
        message.attempts,
        message.decided_ms,
        message.at_ms,
        message.answer if message.state == "sent" else "",
        "" if message.state == "sent" else message.answer,
    )
