"""A server that is written to over HTTP, and a sentence for everything that can be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from warren import __version__, secrecy
from warren.sinks.writer import TryAgainError
from warren.tls import certificate_error, tls_context

# never through a proxy
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
_MOST_QUOTED: Final = 200
# shorter ones may occur anywhere in a text
_LEAST_SECRET: Final = 4


@dataclass(frozen=True)
class Address:
    """Where it is and who we are; secrets are not printed."""

    # without a slash at its end
    url: str
    timeout_s: float
    extra_ca: str = ""
    noverify: bool = False
    username: str = ""
    password: str = field(default="", repr=False)
    # with every request
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


class Endpoint:
    """Keeps a client. `name`: what the server is called."""

    def __init__(self, name: str, address: Address) -> None:
        self._address = address
        self.name = f"{name} at {httpx.URL(address.url).netloc.decode('ascii', 'replace')}"
        context = tls_context(Path(address.extra_ca) if address.extra_ca else None, noverify=address.noverify)
        direct: dict[str, httpx.BaseTransport | None] = {f"all://{host}": None for host in _LOCAL}
        self._client = httpx.Client(
            verify=context,
            mounts=direct,
            timeout=address.timeout_s,
            headers=[("User-Agent", f"Warren/{__version__}"), *address.headers],
            auth=(address.username, address.password) if address.username else None,
        )
        said = [address.password, *(word for _, value in address.headers for word in value.split())]
        self._secrets = [secret for secret in said if len(secret) >= _LEAST_SECRET]

    def post(
        self,
        path: str,
        content: bytes = b"",
        *,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The server's answer, whatever it is. TryAgainError: there is none."""
        try:
            return self._client.post(
                self._address.url + path, params=parameters, content=content, headers=headers
            )
        except httpx.TimeoutException:
            raise TryAgainError(
                f"{self.name} did not answer within {self._address.timeout_s:g} s; "
                "see whether it is up and reachable from here, or raise timeout"
            ) from None
        except httpx.TransportError as error:
            untrusted = certificate_error(self.name, error)
            reason = str(error).strip().split("] ", 1)[-1] or type(error).__name__
            raise TryAgainError(
                untrusted or f"No answer from {self.name}: {reason}; check url and that it runs"
            ) from None

    def refusal(self, answer: httpx.Response, said: str, remedy: str) -> TryAgainError:
        """`said`: the server's own words, if it is the server that answered and not a proxy's page."""
        quoted = f": {self.quotable(said)}" if said else ""
        return TryAgainError(f"{self.name} answered HTTP {answer.status_code}{quoted}; {remedy}")

    def quotable(self, said: str) -> str:
        """The server's words on one line, not too many, without secrets."""
        text = secrecy.without(" ".join(said.split()), self._secrets)
        return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED].rstrip() + "…"
