"""HTTP requests, with an error message for every failure."""

from __future__ import annotations

import email.utils
import socket
import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from warren import __version__, secrecy
from warren.notifier.senders.cut_off import CutOff
from warren.notifier.senders.delivery import DeliveryError
from warren.tls import certificate_error

USER_AGENT: Final = f"Warren/{__version__}"
# responses are only quoted, never stored
_MOST_ANSWER_BYTES: Final = 16384
_MOST_QUOTED: Final = 160
# as many as Go's client follows, and so Burrow
_MOST_REDIRECTS: Final = 10
# client errors that are retriable
_LATER: Final = frozenset({408, 425, 429})
# never through a proxy, as with Go's client
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Response:
    """The response of a receiver."""

    status: int
    # Retry-After in seconds from now; None: there was none
    wait_s: float | None
    text: str

    @property
    def accepted(self) -> bool:
        """The statuses that Burrow counts as success."""
        return 200 <= self.status <= 299

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status >= 500 or self.status in _LATER

    def quoted(self, secrets: Collection[str]) -> str:
        """The beginning of its text, for error messages; secrets in it are redacted."""
        text = secrecy.without(" ".join(self.text.split()), secrets)
        text = "".join(letter for letter in text if letter.isprintable())
        return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED].rstrip() + "…"


class HttpClient:
    """Keeps connections between requests."""

    def __init__(self, context: ssl.SSLContext, *, keepalive_s: float, reuse: bool) -> None:
        self._reuse = reuse
        limits = httpx.Limits(
            max_connections=1, max_keepalive_connections=1 if reuse else 0, keepalive_expiry=keepalive_s
        )
        # proxies come from the environment
        direct: dict[str, httpx.BaseTransport | None] = {f"all://{host}": None for host in _LOCAL}
        self._client = httpx.Client(verify=context, limits=limits, mounts=direct)
        # of the connections that are open
        self._sockets: tuple[socket.socket, ...] = ()

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, timeout_s: float, keys: str
    ) -> Response:
        """The response to a request; `keys` names the configuration keys for error messages."""
        deadline = time.monotonic() + timeout_s
        host = _host(url)
        # at the deadline only this request is under way: nothing is lost with the other connections
        cut_off = CutOff(timeout_s, lambda: self._sockets)
        try:
            with cut_off:
                request = httpx.Request(method, url, headers=self._all(headers), content=body)
                return self._followed(request, body, deadline)
        except (httpx.LocalProtocolError, UnicodeError):
            # these contain the value, which may be a secret
            raise _impossible("a header contains an invalid character", keys) from None
        except httpx.UnsupportedProtocol as error:
            raise _impossible(_reason(error), keys) from None
        except (httpx.InvalidURL, ValueError):
            # these, too: what stands for the port may be part of a password
            raise _impossible("the URL is not valid", keys) from None
        except httpx.TransportError as error:
            if cut_off.passed or isinstance(error, httpx.TimeoutException):
                raise DeliveryError(
                    f"{host} did not answer within {timeout_s:g} s; "
                    "see whether it is up and reachable from here, or raise timeout",
                    retriable=True,
                ) from None
            # a receiver that does not speak HTTP may repeat the request
            reason = secrecy.without(_reason(error), secrecy.parts(url))
            raise DeliveryError(_transport_error(host, error, reason, keys), retriable=True) from None
        except httpx.TooManyRedirects:
            raise DeliveryError(
                f"{host} redirected the request more than {_MOST_REDIRECTS} times; check {keys}",
                retriable=False,
            ) from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _all(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        """Defaults, then the caller's, which replace them; named as Go writes them."""
        given = {_canonical(name): value for name, value in headers.items()}
        ours = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"}
        if not self._reuse:
            ours["Connection"] = "close"
        return list((ours | given).items())

    def _followed(self, request: httpx.Request, body: bytes, deadline: float) -> Response:
        for _ in range(_MOST_REDIRECTS):
            answer, next_request = self._once(request, deadline)
            if next_request is None:
                return answer
            request = _redirected(request.method, answer.status, next_request, body)
        raise httpx.TooManyRedirects("", request=request)

    def _once(self, request: httpx.Request, deadline: float) -> tuple[Response, httpx.Request | None]:
        request.extensions["timeout"] = httpx.Timeout(_left(deadline)).as_dict()
        request.extensions["trace"] = self._on_event
        response = self._client.send(request, stream=True)
        try:
            text = b""
            for chunk in response.iter_bytes():
                text += chunk
                if len(text) > _MOST_ANSWER_BYTES:
                    break
                _left(deadline)
        except httpx.DecodingError:
            text = b""
        finally:
            response.close()
        answer = Response(
            response.status_code,
            _retry_after_s(response.headers),
            text[:_MOST_ANSWER_BYTES].decode("utf-8", "replace"),
        )
        return answer, response.next_request

    def _on_event(self, name: str, info: Mapping[str, Any]) -> None:
        """httpx's trace: a new connection is the result of an event, and again with TLS."""
        opened: Any = info.get("return_value")
        if hasattr(opened, "get_extra_info"):
            still_open = (each for each in self._sockets if each.fileno() >= 0)
            self._sockets = (*still_open, opened.get_extra_info("socket"))


def _impossible(why: str, keys: str) -> DeliveryError:
    what = f"The request cannot be made: {why}; check {keys} and headers, after the templates in them"
    return DeliveryError(what, retriable=False)


def _redirected(method: str, status: int, following: httpx.Request, body: bytes) -> httpx.Request:
    """As Go's client: 307 and 308 repeat the request, the others use GET without a body."""
    headers = [
        (name, value)
        for name, value in following.headers.multi_items()
        if name not in {"content-length", "transfer-encoding"}
    ]
    if status in {307, 308}:
        return httpx.Request(method, following.url, headers=headers, content=body)
    kept = [(name, value) for name, value in headers if name != "content-type"]
    return httpx.Request("GET" if method != "HEAD" else method, following.url, headers=kept)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpx.ReadTimeout("the deadline has passed")
    return left


def _canonical(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


def _host(url: str) -> str:
    """Host and port: the rest of a URL may be a secret."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the receiver"
    return parsed.netloc.decode("ascii", "replace") or "the receiver"


def _transport_error(host: str, error: httpx.TransportError, reason: str, keys: str) -> str:
    if untrusted := certificate_error(host, error):
        return untrusted
    if isinstance(error, httpx.ProxyError):
        return f"The proxy for {host} refused: {reason}; check HTTPS_PROXY and NO_PROXY"
    if isinstance(error, httpx.ConnectError):
        return f"No connection to {host}: {reason}; check {keys} and that the receiver runs"
    return f"{host} closed the connection without a response ({reason}); see the receiver's log"


def _reason(error: Exception) -> str:
    """The system's message without its error number."""
    text = str(error).strip().rstrip(".")
    return text.split("] ", 1)[-1] if text.startswith("[") else text or type(error).__name__


def _retry_after_s(headers: httpx.Headers) -> float | None:
    """Retry-After as seconds; it may also be a date."""
    asked = headers.get("Retry-After", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked)
    until = _moment_s(asked)
    if until is None:
        return None
    # by the server's own clock, where it sends a Date: ours may be wrong
    now = _moment_s(headers.get("Date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def _moment_s(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
