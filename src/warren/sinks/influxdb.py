"""Points in InfluxDB, version 1 and 2, through its HTTP API."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx

from warren.sinks.endpoint import Address, Endpoint
from warren.sinks.lines import Lines, lines_of
from warren.sinks.writer import Batch, PlainKind, TryAgainError, Written

if TYPE_CHECKING:
    from warren.config import Settings
    from warren.config.modules import InfluxdbSink

# lines are repetitive: more effort makes them hardly smaller
_GZIP_LEVEL: Final = 1
# of one sample, requests that look for the lines that a server does not take among others
_MOST_SEARCHES: Final = 100
# "partial write: ... dropped=2": the others were written
_DROPPED: Final = re.compile(r"partial write: .*\bdropped=(\d+)", re.DOTALL)
_UNREADABLE: Final = "unable to parse"
# answers that mean the lines: not valid, too many bytes, in conflict with what is there
_ABOUT_LINES: Final = frozenset({400, 413, 422})
# version 2 answers a request without lines so, after it has looked at everything else
_NO_LINES: Final = "writing requires points"

_LESS: Final = "write less often with interval, or less with level, or raise the server's limit"
# version: status: what to do about it
_REMEDIES: Final = {
    1: {
        401: "check username and password",
        403: "give the user the right to write",
        404: "check database and url",
        429: _LESS,
    },
    2: {
        401: "check token",
        403: "give the token the right to write",
        404: "check org, bucket and url",
        429: _LESS,
    },
}


@dataclass(frozen=True)
class InfluxdbKind(PlainKind):
    """Where to write and how; version 2 when there is a bucket."""

    address: Address
    database: str
    retention_policy: str
    org: str
    bucket: str
    batch_size: int
    compressed: bool
    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sink: InfluxdbSink, settings: Settings) -> InfluxdbKind:
        token = sink.token.get_secret_value()
        address = Address(
            sink.url.rstrip("/"),
            sink.timeout,
            str(settings.path(sink.extra_ca)) if sink.extra_ca else "",
            sink.noverify,
            sink.username,
            sink.password.get_secret_value(),
            (("Authorization", f"Token {token}"),) if sink.bucket else (),
        )
        return cls(
            address,
            sink.database,
            sink.retention_policy,
            sink.org,
            sink.bucket,
            sink.batch_size,
            sink.compression == "gzip",
            tuple(sorted(sink.tags.items())),
        )

    def writer(self) -> InfluxdbWriter:
        return InfluxdbWriter(self)


class InfluxdbWriter:
    """Keeps a client from sample to sample. A point that is written again replaces itself."""

    def __init__(self, kind: InfluxdbKind) -> None:
        self._kind = kind
        self._server = Endpoint("InfluxDB", kind.address)

    def write(self, batch: Batch) -> Written:
        lines = lines_of(batch.tables, dict(self._kind.tags))
        delivery = _Delivery(self, lines)
        for first in range(0, len(lines), self._kind.batch_size):
            delivery.deliver(first, min(first + self._kind.batch_size, len(lines)))
        reason = self._server.quotable(delivery.reason)
        return Written(len(lines) - delivery.rejected, delivery.rejected, reason)

    def try_out(self) -> str:
        """Write nothing, to see whether it could be: a sentence. TryAgainError when not."""
        answer = self._post_lines(b"")
        if _missing_database(answer):
            return f"{self._kind.database} does not exist yet, it is made with the first sample"
        if not answer.is_success and _NO_LINES not in answer.text:
            raise self._refusal(answer)
        return f"{self._kind.bucket or self._kind.database} can be written to"

    def post(self, body: memoryview) -> httpx.Response:
        """An answer of the server on these lines. TryAgainError: it said nothing about them."""
        answer = self._post_lines(body)
        if _missing_database(answer):
            self._create_database()
            answer = self._post_lines(body)
        if answer.is_success or (answer.status_code in _ABOUT_LINES and error_of(answer)):
            return answer
        raise self._refusal(answer)

    def _post_lines(self, body: memoryview | bytes) -> httpx.Response:
        kind = self._kind
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        if kind.compressed:
            headers["Content-Encoding"] = "gzip"
            content = gzip.compress(body, _GZIP_LEVEL, mtime=0)
        else:
            content = bytes(body)
        if kind.bucket:
            path, parameters = "/api/v2/write", {"org": kind.org, "bucket": kind.bucket}
        else:
            path, parameters = "/write", {"db": kind.database}
            if kind.retention_policy:
                parameters["rp"] = kind.retention_policy
        return self._server.post(path, content, parameters=parameters | {"precision": "ms"}, headers=headers)

    def _create_database(self) -> None:
        name = self._kind.database
        answer = self._server.post("/query", parameters={"q": f"CREATE DATABASE {_identifier(name)}"})
        error = self._server.quotable(error_of(answer))
        if answer.is_success and not error:
            return
        raise TryAgainError(
            f"{self._server.name} has no database {name}, and does not let us make it: "
            f"{error or f'HTTP {answer.status_code}'}; make it, or give a user that may"
        )

    def _refusal(self, answer: httpx.Response) -> TryAgainError:
        return self._server.refusal(answer, error_of(answer), self._remedy(answer))

    def _remedy(self, answer: httpx.Response) -> str:
        if "retention policy not found" in answer.text:
            return "make it, or correct retention-policy"
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            return "see its log"
        return _REMEDIES[2 if self._kind.bucket else 1].get(answer.status_code, "check url")


class _Delivery:
    """The lines of one sample on their way: what the server does not take is counted, and costs no other line."""

    def __init__(self, writer: InfluxdbWriter, lines: Lines) -> None:
        self._writer = writer
        self._lines = lines
        self._searches = 0
        self.rejected = 0
        self.reason = ""

    def deliver(self, first: int, end: int) -> None:
        answer = self._writer.post(self._lines.between(first, end))
        if answer.is_success:
            return
        error = error_of(answer)
        dropped = _DROPPED.search(error)
        if dropped is not None:
            # lines that could not be read are not in the server's count
            self._reject(max(int(dropped[1]), error.count(_UNREADABLE)), error)
        elif end - first == 1 or self._searches >= _MOST_SEARCHES:
            self._reject(end - first, error)
        else:
            self._searches += 2
            middle = (first + end) // 2
            self.deliver(first, middle)
            self.deliver(middle, end)

    def _reject(self, count: int, error: str) -> None:
        self.rejected += count
        self.reason = self.reason or error


def error_of(answer: httpx.Response) -> str:
    """What InfluxDB says is wrong; empty: nothing, or it is not InfluxDB that answers."""
    try:
        said: Any = answer.json()
    except ValueError:
        return ""
    if not isinstance(said, dict):
        return ""
    # version 1; of a statement; version 2
    results = said.get("results") or [{}]
    return str(said.get("error") or results[0].get("error") or said.get("message") or "")


def _missing_database(answer: httpx.Response) -> bool:
    return answer.status_code == httpx.codes.NOT_FOUND and "database not found" in error_of(answer)


def _identifier(name: str) -> str:
    """A name in InfluxQL."""
    text = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
