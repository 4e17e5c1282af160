"""Answers as Elasticsearch and OpenSearch do, for what the real ones cannot be made to answer in a test."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.receivers.http import HttpReceiver, Received, Reply

from warren.demo.certificates import Certificates


class SearchReceiver(HttpReceiver):
    """Takes every document; has no index template until one is put."""

    def __init__(self, certificates: Certificates | None = None, **options: Any) -> None:
        super().__init__(certificates, responder=self.take, **options)
        self.templates: dict[str, Any] = {}

    @property
    def bulks(self) -> list[list[dict[str, Any]]]:
        """The lines of each bulk request."""
        return [
            [json.loads(line) for line in content(request).splitlines()]
            for request in self.received
            if request.path.startswith("/_bulk")
        ]

    def take(self, request: Received) -> Reply:
        """The answer of a server to which everything is fine."""
        path = request.path.partition("?")[0]
        if path == "/_bulk":
            count = len(content(request).splitlines()) // 2
            return found({"errors": False, "items": [{"create": {"status": 201}}] * count})
        if path.startswith("/_index_template/"):
            name = path.rpartition("/")[2]
            if request.method == "PUT":
                self.templates[name] = json.loads(content(request))
                return found({"acknowledged": True})
            there = self.templates.get(name)
            if there is None:
                return refused(404, "resource_not_found_exception", f"index template [{name}] missing")
            return found({"index_templates": [{"name": name, "index_template": there}]})
        return found({"version": {"number": "8.99.0", "distribution": "opensearch"}})


def content(request: Received) -> bytes:
    return gzip.decompress(request.body) if request.header("Content-Encoding") == "gzip" else request.body


def found(body: Any, status: int = 200) -> Reply:
    headers = (("Content-Type", "application/json"), ("X-Elastic-Product", "Elasticsearch"))
    return Reply(status, json.dumps(body).encode(), headers)


def refused(status: int, kind: str, reason: str) -> Reply:
    error = {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}
    return found({"error": error, "status": status}, status)


def item_refused(status: int, kind: str, reason: str) -> Reply:
    """Of two documents in a request, the second."""
    failed = {"create": {"status": status, "error": {"type": kind, "reason": reason}}}
    return found({"errors": True, "items": [{"create": {"status": 201}}, failed]})
