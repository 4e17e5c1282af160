"""`/v4/incidents`, and the notifier's part of the health page."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Notifying
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import INCIDENTS
from warren.httpserver.v4.parameters import ParameterError, values
from warren.notifier.record import Incident, MessageRecord


class IncidentPages:
    """Answers from the notifier's records; without notifiers there are none."""

    def __init__(self, notifying: Notifying | None) -> None:
        self._notifying = notifying

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {("GET", INCIDENTS.route): self.incidents}

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
