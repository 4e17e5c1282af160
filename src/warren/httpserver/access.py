"""Who may do what on one listener: tokens, users, and where a client comes from."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from warren.config.sections import HttpServer
from warren.httpserver import reply
from warren.httpserver.reply import Headers, Reply

# the key under which a request's role travels with it
ROLE: Final = "warren.role"

_SCHEME: Final = re.compile(rb"(?i)\s*(bearer|basic)\s+(\S+)\s*")
_CHALLENGES: Final = (
    (b"www-authenticate", b'Bearer realm="warren"'),
    (b"www-authenticate", b'Basic realm="warren"'),
)

CREDENTIALS_NEEDED: Final = reply.refused(401, "credentials are needed", *_CHALLENGES)
CREDENTIALS_WRONG: Final = reply.refused(401, "the credentials are wrong", *_CHALLENGES)
ADMIN_NEEDED: Final = reply.refused(403, "only an administrator may do that")


class Role(IntEnum):
    """What a client may do; each may do what the one before it may."""

    NOTHING = 0
    READ = 1
    ADMIN = 2


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a request."""

    # empty where the connection has no address
    address: str
    headers: Headers

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key == name), None)


class Access:
    """The rules of one listener.

    Reading is open unless a reader's credentials are set. Admin calls need an administrator's credentials; where
    none are set they work from this machine only, unless the configuration opens them.
    """

    def __init__(self, section: HttpServer, origin: str = "") -> None:
        """`origin`: the web site whose scripts may call, as sent in the CORS header."""
        self._readers = tuple(_credentials(section.read_token, section.read_username, section.read_password))
        self._admins = tuple(
            _credentials(section.admin_token, section.admin_username, section.admin_password)
        )
        self._anywhere = section.admin_from_anywhere
        self._origin = origin
        self._names = {"localhost", socket.gethostname().lower(), section.host.lower()} - {""}

    @property
    def readers(self) -> str:
        """Who may read, for the log."""
        return "with credentials" if self._readers else "anyone"

    @property
    def admins(self) -> str:
        """Who may call the admin pages, for the log."""
        if self._admins:
            return "with credentials"
        return "anyone" if self._anywhere else "this machine only"

    def role(self, client: Client) -> Role | Reply:
        """What the client may do, or the refusal of credentials that are wrong."""
        shown = client.header(b"authorization")
        if shown is None or not (self._readers or self._admins):
            return self._without_credentials(client)
        given = _given_credentials(shown)
        # both lists are always compared completely: the time reveals nothing
        admin, reader = _among(given, self._admins), _among(given, self._readers)
        if admin:
            # a browser sends a password that it remembers with requests of other sites, too; a token it does not know
            forged = given.startswith(b"basic ") and self._from_another_site(client)
            return Role.READ if forged else Role.ADMIN
        if reader:
            return Role.ADMIN if self._open_to(client) else Role.READ
        return CREDENTIALS_WRONG

    def _without_credentials(self, client: Client) -> Role:
        if self._readers:
            return Role.NOTHING
        return Role.ADMIN if self._open_to(client) else Role.READ

    def _open_to(self, client: Client) -> bool:
        """Whether the client is an administrator by its address."""
        return (
            not self._admins and (self._anywhere or is_loopback(client.address)) and self._same_site(client)
        )

    def _from_another_site(self, client: Client) -> bool:
        """Whether a browser says so; the configured site may call."""
        origin = (client.header(b"origin") or b"").decode("latin-1").lower()
        if self._origin not in {"", "*"} and origin == self._origin.lower():
            return False
        return client.header(b"sec-fetch-site") in {b"cross-site", b"same-site"}

    def _same_site(self, client: Client) -> bool:
        """Not called by a page of another site: a browser on this machine would send its requests (CSRF)."""
        origin = client.header(b"origin")
        if origin is None:
            return True
        called = origin.decode("latin-1").lower()
        if self._origin not in {"", "*"} and called == self._origin.lower():
            return True
        host = (client.header(b"host") or b"").decode("latin-1").lower()
        try:
            site = urlsplit(called)
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        # another host name that resolves to this machine is no proof (DNS rebinding)
        return site.netloc == host and (name in self._names or _is_address(name))


@lru_cache(maxsize=1024)
def is_loopback(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _credentials(token: SecretStr, username: str, password: SecretStr) -> Iterator[bytes]:
    """Scheme and secret as one text each, as `_given_credentials` makes them."""
    if token.get_secret_value():
        yield b"bearer " + token.get_secret_value().encode()
    if username:
        yield b"basic " + f"{username}:{password.get_secret_value()}".encode()


def _given_credentials(header: bytes) -> bytes:
    """The credentials in an Authorization header; empty for unknown schemes."""
    match = _SCHEME.fullmatch(header)
    if match is None:
        return b""
    scheme, value = match[1].lower(), match[2]
    if scheme == b"bearer":
        return b"bearer " + value
    try:
        return b"basic " + base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _among(given: bytes, known: Iterable[bytes]) -> bool:
    found = False
    for each in known:
        found |= hmac.compare_digest(given, each)
    return found
