"""How to log in at a ZooKeeper ensemble."""

from __future__ import annotations

from typing import Any, Protocol

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
