"""How to log in at a ZooKeeper ensemble, and why it was in vain."""

from __future__ import annotations

import threading
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, NoAuthError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.security import CREATOR_ALL_ACL


class Secret(Protocol):
    def get_secret_value(self) -> str: ...


class ZooKeeperLogin(Protocol):
    """The settings of a login: see `warren.config.sections.ZooKeeperLogin`."""

    @property
    def auth_type(self) -> str: ...

    @property
    def username(self) -> str: ...

    @property
    def password(self) -> Secret: ...


def login_options(settings: ZooKeeperLogin) -> dict[str, Any]:
    """Options of kazoo's client for the configured login."""
    if not settings.username:
        return {}
    # nodes that we create are accessible to the same login only, whatever its mechanism
    options: dict[str, Any] = {"default_acl": CREATOR_ALL_ACL}
    password = settings.password.get_secret_value()
    if settings.auth_type == "digest":
        return options | {"auth_data": [("digest", f"{settings.username}:{password}")]}
    login = {"mechanism": "DIGEST-MD5", "username": settings.username, "password": password}
    return options | {"sasl_options": login}


class LoginWatch:
    """Whether the server has refused a client's login.

    kazoo knows that for a moment only: then its client is closed, and what is asked fails with "Connection has been
    closed", or the start with "Connection time-out", as after any other end.
    """

    def __init__(self, client: KazooClient) -> None:
        self._client = client
        self._refused = threading.Event()
        client.add_listener(self._on_state)

    @property
    def refused(self) -> bool:
        return self._refused.is_set()

    def cause(self, error: Exception) -> Exception:
        """Why a request failed with this error."""
        return AuthFailedError() if self.refused else error

    def _on_state(self, state: KazooState) -> None:
        if state == KazooState.CONNECTED:
            self._refused.clear()
        elif self._client.client_state == KeeperState.AUTH_FAILED:
            self._refused.set()


def reason(error: Exception) -> str:
    """Why a request failed; kazoo's errors often say nothing."""
    match error:
        case AuthFailedError():
            return "the login is refused: check username, password and auth-type"
        case NoAuthError():
            return "no permission: the user needs READ on the path and on all nodes below"
    return str(error) or f"no answer ({type(error).__name__})"
