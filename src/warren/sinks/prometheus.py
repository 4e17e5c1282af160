"""The series of `/metrics`, pushed to a server that speaks Prometheus' remote write, for those who cannot scrape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx
import pyarrow as pa

from warren.sinks.endpoint import Address, Endpoint
from warren.sinks.series import requests
from warren.sinks.writer import Batch, PlainKind, TryAgainError, Written

if TYPE_CHECKING:
    from warren.config import Settings
    from warren.config.modules import PrometheusSink

_HEADERS: Final = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
_SNAPPY: Final = pa.Codec("snappy")
# what the server has already, or a newer one: a sample that came again
_THERE: Final = ("out of order", "duplicate sample")
# answers that mean what was sent; the protocol forbids to send it again
_ABOUT_SERIES: Final = frozenset({400, 413, 422})
_REMEDIES: Final = {
    401: "check username and password, or token",
    403: "give the user or token the right to write",
    404: "check url, and that the server takes remote write (Prometheus: --web.enable-remote-write-receiver)",
    405: "check url",
    429: "write less often with interval, or less with level, or raise the server's limit",
}


@dataclass(frozen=True)
class PrometheusKind(PlainKind):
    """Where to write and how."""

    address: Address
    batch_size: int
    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sink: PrometheusSink, settings: Settings) -> PrometheusKind:
        token = sink.token.get_secret_value()
        headers = [(name, value.get_secret_value()) for name, value in sink.headers.items()]
        if token:
            headers.append(("Authorization", f"Bearer {token}"))
        address = Address(
            sink.url,
            sink.timeout,
            str(settings.path(sink.extra_ca)) if sink.extra_ca else "",
            sink.noverify,
            sink.username,
            sink.password.get_secret_value(),
            tuple(headers),
        )
        return cls(address, sink.batch_size, tuple(sorted(sink.tags.items())))

    def writer(self) -> PrometheusWriter:
        return PrometheusWriter(self)


class PrometheusWriter:
    """Keeps a client from sample to sample. A sample that comes again is the same, which Prometheus ignores."""

    def __init__(self, kind: PrometheusKind) -> None:
        self._kind = kind
        self._server = Endpoint("Prometheus", kind.address)

    def write(self, batch: Batch) -> Written:
        written, rejected, reason = 0, 0, ""
        for count, message in requests(batch.tables, dict(self._kind.tags), self._kind.batch_size):
            error = self._refused(message)
            if error:
                rejected, reason = rejected + count, reason or error
            else:
                written += count
        return Written(written, rejected, reason)

    def try_out(self) -> str:
        """Write nothing, to see whether it could be: a sentence. TryAgainError when not."""
        error = self._refused(b"")
        return f"answered: {error}" if error else "takes remote write"

    def _refused(self, message: bytes) -> str:
        """Why the server will never take it; empty: it has it. TryAgainError: perhaps later."""
        answer = self._server.post("", _SNAPPY.compress(message, asbytes=True), headers=_HEADERS)
        if answer.is_success:
            return ""
        said = "" if "html" in answer.headers.get("Content-Type", "") else answer.text
        if answer.status_code in _ABOUT_SERIES and said:
            return "" if any(words in said for words in _THERE) else self._server.quotable(said)
        raise self._refusal(answer, said)

    def _refusal(self, answer: httpx.Response, said: str) -> TryAgainError:
        other = "see its log" if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR else "check url"
        return self._server.refusal(answer, said, _REMEDIES.get(answer.status_code, other))
