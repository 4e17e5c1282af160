"""The OpenAPI document of `/v4`, made from the table of operations and the types of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

import warren
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import OPERATIONS, Operation
from warren.httpserver.v4.parameters import Parameter

_REFERENCE: Final = "#/components/schemas/{name}"
_SHAPES: Final = (
    shapes.Error,
    shapes.Health,
    shapes.Groups,
    shapes.GroupDetail,
    shapes.GroupTopic,
    shapes.GroupWindows,
    shapes.Topic,
    shapes.GroupHistory,
    shapes.ClusterHistory,
    shapes.Changes,
    shapes.AllChanges,
    shapes.Session,
    shapes.Incidents,
    shapes.IncidentDetail,
    shapes.About,
    shapes.Notifiers,
    shapes.NotifierTest,
    shapes.NotifierTried,
)
_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "cluster": "A configured cluster",
    "group": "A consumer group; a slash in its name is %2F",
    "topic": "A topic; of a group, one that it has committed on",
    "incident": "The id of an incident",
    "notifier": "A configured notifier: N of its section [notifier.N]",
}
# names with control characters are refused by the guard
_NAME: Final = r"^[^\u0000-\u001f\u007f]+$"
# status: description; every page may answer so
_REFUSALS: Final = {
    400: "A parameter is wrong; the message says which and how",
    401: "Credentials are missing or wrong",
    429: "Too many requests of this client",
}
_REFUSALS_OF_CLUSTERS: Final = {
    404: "There is no such cluster, group or topic",
    503: "There is no snapshot of the cluster yet",
}
_REFUSALS_OF_NAMES: Final = {404: "There is none of that name"}


def document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    _, schemas = msgspec.json.schema_components(_SHAPES, ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Warren",
            "version": warren.__version__,
            "summary": "Status of Kafka consumer groups",
            "description": "Every answer comes from one snapshot of a cluster. Errors have the shape of Burrow's.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}, {"user": []}],
        "paths": {
            operation.path: {operation.method.lower(): _operation(operation)} for operation in OPERATIONS
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "user": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    named = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _DESCRIPTIONS[name],
            "schema": {"type": "string", "pattern": _NAME},
        }
        for name in operation.names
    ]
    refusals = dict(_REFUSALS)
    if operation.names:
        refusals |= _REFUSALS_OF_CLUSTERS if "cluster" in operation.names else _REFUSALS_OF_NAMES
    refusals |= dict(operation.refusals)
    answers: dict[str, Any] = {"200": _answer(operation.summary, operation)}
    answers |= {str(status): _answer(description, operation) for status, description in operation.also}
    answers |= {str(status): _refusal(description) for status, description in refusals.items()}
    described = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": named + [_parameter(parameter) for parameter in operation.parameters],
        "responses": dict(sorted(answers.items())),
    }
    if operation.body is not None:
        content = {"application/json": {"schema": _reference(operation.body)}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": parameter.schema,
        **parameter.style,
    }


def _answer(description: str, operation: Operation) -> dict[str, Any]:
    schema = {"type": "object"} if operation.shape is None else _reference(operation.shape)
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if operation.events:
        content["text/event-stream"] = {
            "schema": {"type": "string", "description": "Events named `changes`; their data is the JSON"}
        }
    return {"description": description, "content": content}


def _refusal(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _reference(shapes.Error)}}}


def _reference(shape: type[Any]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=shape.__name__)}
