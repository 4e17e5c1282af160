"""The operations of `/v4`: the table for routing and for the OpenAPI document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from warren.httpserver.v4 import parameters, shapes
from warren.httpserver.v4.parameters import Parameter


@dataclass(frozen=True, slots=True)
class Operation:
    """One page."""

    id: str
    # names in braces are path parameters
    path: str
    summary: str
    # of the answer 200; None: any object
    shape: type[Any] | None
    parameters: tuple[Parameter, ...] = ()
    # other answers with the same shape: status: description
    also: tuple[tuple[int, str], ...] = ()
    events: bool = False
    method: str = "GET"
    # of the request's JSON; None: there is none
    body: type[Any] | None = None
    # refusals of its own: status: description
    refusals: tuple[tuple[int, str], ...] = ()

    @property
    def names(self) -> list[str]:
        """The path parameters."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def route(self) -> str:
        """The path in the router's syntax."""
        return re.sub(r"{\w+}", "{}", self.path)


OPENAPI: Final = Operation("openapi", "/v4/openapi.json", "This document", None)
HEALTH: Final = Operation(
    "health",
    "/v4/health",
    "Whether Warren has caught up, its progress, and the state of every cluster's query",
    shapes.Health,
    also=((503, "The same, while a cluster is catching up or does not respond"),),
)
GROUPS: Final = Operation(
    "groups",
    "/v4/clusters/{cluster}/groups",
    "The groups of a cluster, worst first",
    shapes.Groups,
    (
        parameters.GROUP_STATUS,
        parameters.NAME,
        parameters.TOPIC,
        parameters.SORT,
        parameters.OFFSET,
        parameters.LIMIT,
    ),
)
GROUP: Final = Operation(
    "group",
    "/v4/clusters/{cluster}/groups/{group}",
    "One group with its partitions, their heads and tails",
    shapes.GroupDetail,
    (parameters.PARTITION_STATUS,),
)
GROUP_TOPIC: Final = Operation(
    "groupTopic",
    "/v4/clusters/{cluster}/groups/{group}/topics/{topic}",
    "One topic of a group with the whole window of every partition",
    shapes.GroupTopic,
)
TOPIC: Final = Operation(
    "topic",
    "/v4/clusters/{cluster}/topics/{topic}",
    "A topic: heads and tails, how fast messages come in, and the groups that read it with their lags",
    shapes.Topic,
)
GROUP_WINDOWS: Final = Operation(
    "groupWindows",
    "/v4/clusters/{cluster}/groups/{group}/windows",
    "The partitions of a group, worst first, with their windows, why they have their status and what would change it",
    shapes.GroupWindows,
    (parameters.PARTITION_STATUS, parameters.OFFSET, parameters.WINDOWS_LIMIT),
)
CHANGES: Final = Operation(
    "changes",
    "/v4/clusters/{cluster}/changes",
    "What changed since an earlier answer, at once or as soon as something does, or as a stream of events",
    shapes.Changes,
    (parameters.SINCE, parameters.WAIT, parameters.ONLY),
    events=True,
)
ALL_CHANGES: Final = Operation(
    "allChanges",
    "/v4/changes",
    "What changed in all clusters since an earlier answer, or as a stream with an event for each cluster",
    shapes.AllChanges,
    (parameters.SINCE_BY_CLUSTER,),
    events=True,
)
SESSION: Final = Operation("session", "/v4/session", "What the client of this request may do", shapes.Session)
GROUP_HISTORY: Final = Operation(
    "groupHistory",
    "/v4/clusters/{cluster}/groups/{group}/history",
    "The last hours of a group: status, lag and completeness",
    shapes.GroupHistory,
    (parameters.HISTORY_SINCE, parameters.HISTORY_STEP),
)
CLUSTER_HISTORY: Final = Operation(
    "clusterHistory",
    "/v4/clusters/{cluster}/history",
    "The lags of all groups in the last hours, in steps of equal length",
    shapes.ClusterHistory,
    (
        parameters.HISTORY_SINCE,
        parameters.HISTORY_STEP,
        parameters.HISTORY_GROUPS,
        parameters.NAME,
        parameters.OFFSET,
        parameters.LIMIT,
    ),
)
INCIDENTS: Final = Operation(
    "incidents",
    "/v4/incidents",
    "Incidents, the open ones before the past ones, each with the newest first, and what was sent to whom",
    shapes.Incidents,
    (
        parameters.INCIDENT_STATE,
        parameters.INCIDENT_CLUSTER,
        parameters.INCIDENT_GROUP,
        parameters.INCIDENT_MODULE,
        parameters.OFFSET,
        parameters.LIMIT,
    ),
)
INCIDENT: Final = Operation(
    "incident",
    "/v4/incidents/{incident}",
    "One incident with its evidence: the windows at its opening, at its worst and at its end",
    shapes.IncidentDetail,
)
ABOUT: Final = Operation(
    "about",
    "/v4/about",
    "Version, configuration without secrets, and how long the last triggers took",
    shapes.About,
)
NOTIFIERS: Final = Operation(
    "notifiers",
    "/v4/notifiers",
    "The notifiers: what they have sent, and why the last message of each failed",
    shapes.Notifiers,
)
NOTIFIER_TEST: Final = Operation(
    "notifierTest",
    "/v4/notifiers/{notifier}/test",
    "Send a sample through a notifier, as `warren notify-test` does: of no real group, one attempt. For administrators",
    shapes.NotifierTried,
    method="POST",
    body=shapes.NotifierTest,
    refusals=((403, "Only an administrator may do that"), (415, "The content type is not application/json")),
)
OPERATIONS: Final = (
    OPENAPI,
    HEALTH,
    GROUPS,
    GROUP,
    GROUP_TOPIC,
    GROUP_WINDOWS,
    TOPIC,
    GROUP_HISTORY,
    CLUSTER_HISTORY,
    CHANGES,
    ALL_CHANGES,
    SESSION,
    INCIDENTS,
    INCIDENT,
    ABOUT,
    NOTIFIERS,
    NOTIFIER_TEST,
)
