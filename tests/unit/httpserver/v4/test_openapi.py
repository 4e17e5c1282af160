"""The document says what the pages do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel

import warren
from warren.config import Settings
from warren.httpserver.app import App
from warren.httpserver.v4.openapi import document
from warren.httpserver.v4.operations import OPERATIONS, Operation


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if "$ref" in node else set()
        return own.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_it_is_served_as_it_is() -> None:
    app = App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")
    served = json.loads(ask(app, "/v4/openapi.json").body)
    assert served == json.loads(json.dumps(document()))
    assert served["openapi"] == "3.1.0"
    assert served["info"]["version"] == warren.__version__


def test_every_reference_leads_somewhere_and_nothing_is_left_over() -> None:
    found = document()
    assert references(found) == {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_every_page_is_there(operation: Operation) -> None:
    app = App(Settings(), MemoryAnswers(names=["c"]), MemoryLogLevel(), CollectorRegistry(), host="here")
    path = operation.path
    for name in operation.names:
        path = path.replace(f"{{{name}}}", "c")
    answered = ask(app, path, method=operation.method)
    described = document()["paths"][operation.path][operation.method.lower()]
    assert str(answered.status) in described["responses"]
    # a page, not the answer to an unknown path
    assert b"invalid request type" not in answered.body


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_every_parameter_reads_its_own_default(operation: Operation) -> None:
    for parameter in operation.parameters:
        if parameter.default is not None:
            assert parameter.read(str(parameter.schema["default"])) == parameter.default
