"""Our answer beside Burrow's: equal, but for the differences that are listed here with their reasons."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.unit.httpserver.asgi import Answered
    from tests.unit.httpserver.captures import Capture

ORIGIN: Final = "access-control-allow-origin"
NAMES_OF_LISTS: Final = ("clusters", "topics", "consumers", "modules")


@dataclass(frozen=True)
class Difference:
    """What Warren answers instead, and why."""

    reason: str
    status: int | None = None
    # headers that change; None: is gone
    headers: Mapping[str, str | None] = field(default_factory=dict)
    # the whole body as text, where it is another one
    body: str | None = None


_HEAD_WORKS = "HEAD is 405 in Burrow; it is what probes and link checkers send"
_HEAD_ALLOWED = "HEAD works, so Allow names it"
_NOT_EMPTY = "a cluster of which nothing was read yet is not one without topics and groups"
_KEEPS_THE_PREFLIGHT = "a browser's preflight fails in Burrow for want of these headers"

# capture: how our answer differs on purpose, beyond what EVERYWHERE lists
DIFFERENCES: Final[Mapping[str, Difference]] = {
    "method_head": Difference(
        _HEAD_WORKS,
        status=200,
        headers={
            "allow": None,
            "x-content-type-options": None,
            "content-type": "application/json",
            "content-length": "118",
        },
    ),
    "method_head_metrics": Difference(
        _HEAD_WORKS,
        status=200,
        headers={
            "allow": None,
            "x-content-type-options": None,
            "content-type": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
            "vary": "Accept-Encoding",
            "content-length": "*",
        },
    ),
    "err_method_delete": Difference(_HEAD_ALLOWED, headers={"allow": "GET, HEAD, OPTIONS"}),
    "err_method_delete_loglevel": Difference(_HEAD_ALLOWED, headers={"allow": "GET, HEAD, OPTIONS, POST"}),
    "err_method_post": Difference(_HEAD_ALLOWED, headers={"allow": "GET, HEAD, OPTIONS"}),
    "err_method_post_admin": Difference(_HEAD_ALLOWED, headers={"allow": "GET, HEAD, OPTIONS"}),
    "err_method_put": Difference(_HEAD_ALLOWED, headers={"allow": "DELETE, GET, HEAD, OPTIONS"}),
    "method_options": Difference(
        _KEEPS_THE_PREFLIGHT,
        headers={
            "allow": "DELETE, GET, HEAD, OPTIONS",
            "access-control-allow-methods": "DELETE, GET, HEAD, OPTIONS",
            "access-control-allow-headers": "Authorization, Content-Type",
        },
    ),
    **{
        name: Difference(
            _NOT_EMPTY,
            status=503,
            headers={"content-length": "*"},
            body='{"error":true,"message":"there is no snapshot of the cluster yet, see /v4/health",'
            f'"request":{{"url":"/v3/kafka/plain/{page}","host":"burrow01"}}}}',
        )
        for name, page in {"starting_consumers": "consumer", "starting_topics": "topic"}.items()
    },
    "starting_config_evaluator_default": Difference(
        "the file chooses no rules, and Warren's own are the default",
        headers={"content-length": "*"},
        body='{"error":false,"message":"evaluator module detail returned",'
        '"module":{"class-name":"trend","expire-cache":10},'
        '"request":{"url":"/v3/config/evaluator/default","host":"burrow01"}}',
    ),
    "path_encoded_slash": Difference(
        "names may hold slashes; Burrow takes an escaped one for a step in the path",
        headers={"content-type": "application/json", "x-content-type-options": None, "content-length": "*"},
        body='{"error":false,"message":"consumer status returned","status":{"cluster":"local","group":"a/b",'
        '"status":"NOTFOUND","complete":1,"partitions":[],"partition_count":0,"maxlag":null,"totallag":0},'
        '"request":{"url":"/v3/kafka/local/consumer/a/b/lag","host":"burrow01"}}',
    ),
    "path_cluster_case_topics": Difference(
        "a cluster is found in any case on all pages; in Burrow on those about its configuration only",
        status=200,
        headers={"content-length": "*"},
        body='{"error":false,"message":"topic list returned",'
        '"topics":["__consumer_offsets","audit_log","clicks.raw","orders"],'
        '"request":{"url":"/v3/kafka/LOCAL/topic","host":"burrow01"}}',
    ),
}

# what differs on every page that it can differ on: (what, why)
EVERYWHERE: Final = (
    ("lists are sorted", "Burrow's come in random order"),
    (
        "every answer has the CORS header when it is configured",
        "Burrow's 404, 405, redirects, /metrics lack it",
    ),
    ("Content-Length instead of chunks", "Burrow chunks what is larger than 2 kB; the length is known here"),
)
# compared series by series in test_metrics_capture instead; and `/`, where Burrow has nothing and Warren its web pages
COMPARED_ELSEWHERE: Final = frozenset({"metrics", "err_root"})


def differs(capture: Capture, answered: Answered, *, origin: str) -> list[str]:
    """Everything in which the answer is not what it should be."""
    difference = DIFFERENCES.get(capture.name, Difference(""))
    problems = []
    if answered.status != (difference.status or capture.status):
        problems.append(f"status {answered.status} instead of {difference.status or capture.status}")
    expected = _expected_headers(capture, difference, origin)
    actual = {name: value for name, value in answered.headers.items() if name not in {"date", "connection"}}
    for name in sorted({*expected, *actual}):
        wanted, got = expected.get(name), actual.get(name)
        if wanted != got and not (wanted == "*" and got is not None):
            problems.append(f"header {name}: {got!r} instead of {wanted!r}")
    body = _expected_body(capture, difference)
    if answered.body != body:
        problems.append(f"body {answered.body!r}\n  instead of {body!r}")
    if capture.method != "HEAD" and answered.headers["content-length"] != str(len(answered.body)):
        problems.append("content-length is not the length of the body")
    return problems


def _expected_headers(capture: Capture, difference: Difference, origin: str) -> dict[str, str]:
    headers = {name: value for name, value in capture.headers.items() if name != "date"}
    if origin:
        headers[ORIGIN] = origin
    if headers.pop("transfer-encoding", None):
        headers["content-length"] = "*"
    changed = {**headers, **difference.headers}
    return {name: value for name, value in changed.items() if value is not None}


def _expected_body(capture: Capture, difference: Difference) -> bytes:
    if difference.body is not None:
        return difference.body.encode()
    if isinstance(capture.body, str):
        return capture.body.encode()
    return compact(_sorted(capture.body))


def _sorted(body: dict[str, Any]) -> dict[str, Any]:
    """The lists of names, whose order Burrow leaves to chance."""
    return {
        key: sorted(value) if key in NAMES_OF_LISTS and isinstance(value, list) else value
        for key, value in body.items()
    }


def compact(body: object) -> bytes:
    """JSON as Go writes it, by another way than the one that is tested."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()
