"""One HTTP request and its answer, with every fault as a sentence."""

from __future__ import annotations

import email.utils
import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import httpx

from warren import __version__, secrecy
from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.senders.trust import certificate_fault

USER_AGENT: Final = f"Warren/{__version__}"
# an answer is only ever quoted, never kept
_MOST_ANSWER_BYTES: Final = 16384
_MOST_QUOTED: Final = 160
# as many as Go's client follows, and so Burrow
_MOST_REDIRECTS: Final = 10
# these say "later", though they begin with a 4
_LATER: Final = frozenset({408, 425, 429})
# no proxy leads to these, as with Go's client
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Answer:
    """What the other side said."""

    status: int
    # a Retry-After in seconds from now; None: it did not ask for patience
    wait_s: float | None
    text: str

    @property
    def taken(self) -> bool:
        """The answers that Burrow counts as success."""
        return 200 <= self.status <= 299

    @property
    def later(self) -> bool:
        """May the same request be taken later?"""
        return self.status >= 500 or self.status in _LATER

    def quoted(self, secrets: Collection[str]) -> str:
        """The beginning of its text, for a message to a person; secrets that it repeats are hidden."""
        text = secrecy.without(" ".join(self.text.split()), secrets)
        text = "".join(letter for letter in text if letter.isprintable())
        return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED].rstrip() + "…"


class Exchange:
    """Keeps connections between requests."""

    def __init__(self, context: ssl.SSLContext, *, keepalive_s: float, reuse: bool) -> None:
        self._reuse = reuse
        limits = httpx.Limits(
            max_connections=1, max_keepalive_connections=1 if reuse else 0, keepalive_expiry=keepalive_s
        )
        # proxies come from the environment
        direct: dict[str, httpx.BaseTransport | None] = {f"all://{host}": None for host in _LOCAL}
        self._client = httpx.Client(verify=context, limits=limits, mounts=direct)

    def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, timeout_s: float, keys: str
    ) -> Answer:
        """The answer to a request; `keys` names the configuration's keys that a person would look at."""
        deadline = time.monotonic() + timeout_s
        host = _host(url)
        try:
            request = httpx.Request(method, url, headers=self._all(headers), content=body)
            return self._followed(request, body, deadline)
        except (httpx.LocalProtocolError, UnicodeError):
            # these repeat the value, which may be a secret
            raise _impossible("a header has a character that may not be in one", keys) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError) as error:
            raise _impossible(_reason(error), keys) from None
        except httpx.TimeoutException:
            raise DeliveryError(
                f"{host} did not answer within {timeout_s:g} s; "
                "see whether it is up and reachable from here, or raise timeout",
                retriable=True,
            ) from None
        except httpx.TransportError as error:
            raise DeliveryError(_transport_fault(host, error, keys), retriable=True) from None
        except httpx.TooManyRedirects:
            raise DeliveryError(
                f"{host} sent the request in a circle, {_MOST_REDIRECTS} times; check {keys}", retriable=False
            ) from None

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def _all(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        """Ours, unless the caller has the same, then theirs, named as Go writes them."""
        given = {_canonical(name): value for name, value in headers.items()}
        ours = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"}
        if not self._reuse:
            ours["Connection"] = "close"
        return list((ours | given).items())

    def _followed(self, request: httpx.Request, body: bytes, deadline: float) -> Answer:
        for _ in range(_MOST_REDIRECTS):
            answer, next_request = self._once(request, deadline)
            if next_request is None:
                return answer
            request = _redirected(request.method, answer.status, next_request, body)
        raise httpx.TooManyRedirects("", request=request)

    def _once(self, request: httpx.Request, deadline: float) -> tuple[Answer, httpx.Request | None]:
        # httpx counts from one byte to the next: a server that trickles is held to the deadline here
        request.extensions["timeout"] = httpx.Timeout(_left(deadline)).as_dict()
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
        answer = Answer(
            response.status_code,
            _asked_wait_s(response.headers),
            text[:_MOST_ANSWER_BYTES].decode("utf-8", "replace"),
        )
        return answer, response.next_request


def _impossible(why: str, keys: str) -> DeliveryError:
    what = f"The request cannot be made: {why}; check {keys} and headers, after the templates in them"
    return DeliveryError(what, retriable=False)


def _redirected(method: str, status: int, following: httpx.Request, body: bytes) -> httpx.Request:
    """As Go's client: 307 and 308 send the same again, the others ask with GET and without body."""
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
        raise httpx.ReadTimeout("the whole time is over")
    return left


def _canonical(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


def _host(url: str) -> str:
    """Host and port: the rest of an address may be a secret."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the receiver"
    return parsed.netloc.decode("ascii", "replace") or "the receiver"


def _transport_fault(host: str, error: httpx.TransportError, keys: str) -> str:
    if untrusted := certificate_fault(host, error):
        return untrusted
    if isinstance(error, httpx.ProxyError):
        return f"The proxy on the way to {host} refused: {_reason(error)}; check HTTPS_PROXY and NO_PROXY"
    if isinstance(error, httpx.ConnectError):
        return f"No connection to {host}: {_reason(error)}; check {keys} and that the receiver runs"
    return f"{host} broke off without an answer ({_reason(error)}); see the receiver's log"


def _reason(error: Exception) -> str:
    """The system's words without its numbers."""
    text = str(error).strip().rstrip(".")
    return text.split("] ", 1)[-1] if text.startswith("[") else text or type(error).__name__


def _asked_wait_s(headers: httpx.Headers) -> float | None:
    """Retry-After as seconds; it may also be a date."""
    asked = headers.get("Retry-After", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked)
    until = _moment_s(asked)
    if until is None:
        return None
    # by the other side's own clock, where it tells the time: ours may be wrong
    now = _moment_s(headers.get("Date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def _moment_s(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
