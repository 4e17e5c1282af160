"""A real ZooKeeper for tests, on a port of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from warren.demo import zookeeper
from warren.demo.zookeeper import HOST

__all__ = ["HOST", "ZooKeeperServer"]

_LOGIN_MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"


class ZooKeeperServer(zookeeper.ZooKeeperServer):
    """Runs between `with` and its end; sessions may be as short as twice the tick."""

    def __init__(self, folder: Path, *, tick_ms: int = 3000, users: Mapping[str, str] | None = None) -> None:
        """`users`: name: password, for logins with SASL."""
        options: tuple[str, ...] = ()
        if users:
            folder.mkdir(parents=True, exist_ok=True)
            logins = folder / "logins.conf"
            entries = " ".join(f'user_{name}="{password}"' for name, password in users.items())
            logins.write_text(f"Server {{ {_LOGIN_MODULE} required {entries}; }};\n")
            options = (
                f"-Djava.security.auth.login.config={logins}",
                "-Dzookeeper.authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            )
        super().__init__(folder, tick_ms=tick_ms, java_options=options)
