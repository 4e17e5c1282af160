"""Points in InfluxDB, version 1 and 2, through its HTTP API."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from warren import __version__, secrecy
from warren.sinks.lines import Lines, lines_of
from warren.sinks.writer import Batch, PlainKind, TryAgainError, Written
from warren.tls import certificate_error, tls_context

if TYPE_CHECKING:
    from warren.config import Settings
    from warren.config.modules import InfluxdbSink

# never through a proxy
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
_MOST_QUOTED: Final = 200
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

    url: str
    database: str
    retention_policy: str
    username: str
    org: str
    bucket: str
    timeout_s: float
    batch_size: int
    compressed: bool
    extra_ca: str
    noverify: bool
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sink: InfluxdbSink, settings: Settings) -> InfluxdbKind:
        return cls(
            sink.url.rstrip("/"),
            sink.database,
            sink.retention_policy,
            sink.username,
            sink.org,
            sink.bucket,
            sink.timeout,
            sink.batch_size,
            sink.compression == "gzip",
            str(settings.path(sink.extra_ca)) if sink.extra_ca else "",
            sink.noverify,
            sink.password.get_secret_value(),
            sink.token.get_secret_value(),
            tuple(sorted(sink.tags.items())),
        )

    def writer(self) -> InfluxdbWriter:
        return InfluxdbWriter(self)


class InfluxdbWriter:
    """Keeps a client from sample to sample. A point that is written again replaces itself."""

    def __init__(self, kind: InfluxdbKind) -> None:
        self._kind = kind
        self._server = f"InfluxDB at {httpx.URL(kind.url).netloc.decode('ascii', 'replace')}"
        context = tls_context(Path(kind.extra_ca) if kind.extra_ca else None, noverify=kind.noverify)
        direct: dict[str, httpx.BaseTransport | None] = {f"all://{host}": None for host in _LOCAL}
        headers = {"User-Agent": f"Warren/{__version__}"}
        if kind.bucket:
            headers["Authorization"] = f"Token {kind.token}"
        self._client = httpx.Client(
            verify=context,
            mounts=direct,
            timeout=kind.timeout_s,
            headers=headers,
            auth=(kind.username, kind.password) if kind.username else None,
        )

    def write(self, batch: Batch) -> Written:
        lines = lines_of(batch.tables, dict(self._kind.tags))
        delivery = _Delivery(self, lines)
        for first in range(0, len(lines), self._kind.batch_size):
            delivery.deliver(first, min(first + self._kind.batch_size, len(lines)))
        return Written(len(lines) - delivery.rejected, delivery.rejected, delivery.reason)

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
            parameters = {"org": kind.org, "bucket": kind.bucket, "precision": "ms"}
            return self._request("/api/v2/write", parameters, content, headers)
        parameters = {"db": kind.database, "precision": "ms"}
        if kind.retention_policy:
            parameters["rp"] = kind.retention_policy
        return self._request("/write", parameters, content, headers)

    def _create_database(self) -> None:
        name = self._kind.database
        answer = self._request("/query", {"q": f"CREATE DATABASE {_identifier(name)}"})
        if answer.is_success and not error_of(answer):
            return
        raise TryAgainError(
            f"{self._server} has no database {name}, and does not let us make it{self._quoted(answer)}; "
            f"make it, or give a user that may"
        )

    def _request(
        self,
        path: str,
        parameters: dict[str, str],
        content: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        try:
            return self._client.post(
                self._kind.url + path, params=parameters, content=content, headers=headers
            )
        except httpx.TimeoutException:
            raise TryAgainError(
                f"{self._server} did not answer within {self._kind.timeout_s:g} s; "
                "see whether it is up and reachable from here, or raise timeout"
            ) from None
        except httpx.TransportError as error:
            untrusted = certificate_error(self._server, error)
            reason = str(error).strip().split("] ", 1)[-1] or type(error).__name__
            raise TryAgainError(
                untrusted or f"No answer from {self._server}: {reason}; check url and that it runs"
            ) from None

    def _refusal(self, answer: httpx.Response) -> TryAgainError:
        what = f"{self._server} answered HTTP {answer.status_code}{self._quoted(answer)}"
        return TryAgainError(f"{what}; {self._remedy(answer)}")

    def _remedy(self, answer: httpx.Response) -> str:
        if "retention policy not found" in answer.text:
            return "make it, or correct retention-policy"
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            return "see its log"
        return _REMEDIES[2 if self._kind.bucket else 1].get(answer.status_code, "check url")

    def _quoted(self, answer: httpx.Response) -> str:
        """What the server said, to be put behind other words; nothing of what may be a page of a proxy."""
        said = self.reason(answer)
        return f": {said}" if said else ""

    def reason(self, answer: httpx.Response) -> str:
        """The server's own words, on one line, without secrets."""
        hidden = [secret for secret in (self._kind.password, self._kind.token) if len(secret) > 3]
        text = secrecy.without(" ".join(error_of(answer).split()), hidden)
        return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED].rstrip() + "…"


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
            self._reject(max(int(dropped[1]), error.count(_UNREADABLE)), answer)
        elif end - first == 1 or self._searches >= _MOST_SEARCHES:
            self._reject(end - first, answer)
        else:
            self._searches += 2
            middle = (first + end) // 2
            self.deliver(first, middle)
            self.deliver(middle, end)

    def _reject(self, count: int, answer: httpx.Response) -> None:
        self.rejected += count
        self.reason = self.reason or self._writer.reason(answer)


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
