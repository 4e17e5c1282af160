"""schemathesis asks /v4 all that its document allows, and much that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode
from tests.integration.httpserver.test_server import local, serving
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers
from tests.unit.httpserver.notifying import INCIDENTS, MemoryNotifying

from warren.config.modules import NullNotifier
from warren.httpserver.v4.openapi import document
from warren.httpserver.v4.operations import OPERATIONS

EXAMPLES = 40
# names that lead somewhere, among those that lead nowhere
KNOWN = {
    "cluster": "local",
    "group": "two-topics",
    "topic": "orders",
    "incident": INCIDENTS[0].id,
    "notifier": "ops",
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    snapshot = replace(usual_snapshot(), number=7, taken_at_ms=1_700_000_000_000)
    shown = {name: detail for name, detail in snapshot.details.items() if name in snapshot.statuses}
    answers = MemoryAnswers(["local"], {"local": replace(snapshot, details=shown)})
    told = MemoryNotifying()
    sections: dict[str, Any] = {"httpserver": {"a": local()}, "notifier": {"ops": NullNotifier()}}
    with serving(answers=answers, notifying=told, **sections) as server:
        yield server.urls["a"]


ASKED = [
    pytest.param(operation, mode, id=f"{operation.id}, {mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    # names alone are never wrong: they lead somewhere or nowhere
    if operation.parameters or mode is GenerationMode.POSITIVE
]


@pytest.mark.parametrize(("operation", "mode"), ASKED)
def test_the_page_keeps_to_the_document(url: str, operation: Any, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(document())
    schema.config.update(base_url=url)
    found = schema[operation.path][operation.method]
    asked: list[int] = []

    @given(case=found.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any) -> None:
        if mode is GenerationMode.POSITIVE:
            if len(asked) % 2:
                case.path_parameters = {name: KNOWN[name] for name in operation.names}
            if "wait" in (case.query or {}):
                # no page of a test is worth a minute
                case.query["wait"] = 0
        else:
            # a parameter without a value is not in the address: such a case may well be valid
            assume(all(value not in ([], {}, None) for value in (case.query or {}).values()))
        response = case.call_and_validate()
        asked.append(response.status_code)

    ask()
    if mode is GenerationMode.POSITIVE:
        assert 200 in asked
    else:
        assert set(asked) <= {400, 404}
