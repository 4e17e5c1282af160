"""Version 2 of InfluxDB's way to write, in front of a real InfluxDB 1.x that reads and keeps the lines.

A real version 2 is not to be had for the tests. Its answers are those of its source (http/write_handler.go of v2.7).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import httpx
from tests.influxdb import InfluxServer
from tests.receivers.http import HttpReceiver, Received, Reply

ORG: Final = "lag-watchers"
TOKEN: Final = "t0ken-of-warren=="
_CODES: Final = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not found",
    422: "unprocessable entity",
}
# where lines go to be read only
_SCRATCH: Final = "scratch"


class Influx2Receiver(HttpReceiver):
    """Buckets are databases of the server behind it; `TOKEN` may write to all of them but the last."""

    def __init__(self, server: InfluxServer, buckets: Sequence[str]) -> None:
        super().__init__(responder=self._answer)
        self._behind = server
        self._buckets = buckets
        server.query(f"CREATE DATABASE {_SCRATCH}")

    def _answer(self, request: Received) -> Reply:
        address = urlsplit(request.path)
        parameters = {"precision": "ns"} | dict(parse_qsl(address.query))
        org, bucket, precision = (parameters.get(name, "") for name in ("org", "bucket", "precision"))
        compressed = request.header("Content-Encoding") == "gzip"
        body = gzip.decompress(request.body) if compressed else request.body
        # in the order in which they are looked at
        refusals = [
            (request.header("Authorization") != f"Token {TOKEN}", 401, "unauthorized access"),
            ((request.method, address.path) != ("POST", "/api/v2/write"), 404, "path not found"),
            (precision not in {"ns", "us", "ms", "s"}, 400, "invalid precision"),
            (org != ORG, 404, f'organization name "{org}" not found'),
            (bucket not in self._buckets, 404, f'bucket "{bucket}" not found'),
            (bucket == self._buckets[-1], 403, "insufficient permissions for write"),
            (not body, 400, "writing requires points"),
        ]
        for refused, status, message in refusals:
            if refused:
                return _error(status, message)
        return self._written(bucket, precision, body)

    def _written(self, bucket: str, precision: str, body: bytes) -> Reply:
        parameters = {"db": bucket, "precision": precision}
        # one line that cannot be read: version 2 writes none
        for line in body.splitlines():
            read = self._behind.client.post("/write", params=parameters | {"db": _SCRATCH}, content=line)
            if "unable to parse" in read.text:
                return _error(400, read.json()["error"])
        answer = self._behind.client.post("/write", params=parameters, content=body)
        if answer.status_code == httpx.codes.NO_CONTENT:
            return Reply(204)
        error = f"failure writing points to database: {answer.json()['error']}"
        return _error(422, error)


def _error(status: int, message: str) -> Reply:
    body = json.dumps({"code": _CODES[status], "message": message}).encode()
    return Reply(status, body, (("Content-Type", "application/json; charset=utf-8"),))
