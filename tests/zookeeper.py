"""A real ZooKeeper for tests, on a port of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kazoo.client import KazooClient

from warren.demo.ports import free_port

HOST: Final = "127.0.0.1"
JAR: Final = "/usr/share/java/zookeeper.jar"
_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class ZooKeeperServer:
    """Runs between `with` and its end; sessions may be as short as twice the tick."""

    def __init__(self, folder: Path, *, tick_ms: int = 3000, users: Mapping[str, str] | None = None) -> None:
        """`users`: name: password, for logins with SASL."""
        port = free_port(HOST)
        self.address = f"{HOST}:{port}"
        self._settings = folder / "zoo.cfg"
        self._settings.write_text(
            f"dataDir={folder}/data\nclientPortAddress={HOST}\nclientPort={port}\n"
            f"tickTime={tick_ms}\nadmin.enableServer=false\n"
        )
        self._options: list[str] = []
        if users:
            logins = folder / "logins.conf"
            entries = " ".join(f'user_{name}="{password}"' for name, password in users.items())
            module = "org.apache.zookeeper.server.auth.DigestLoginModule"
            logins.write_text(f"Server {{ {module} required {entries}; }};\n")
            self._options = [
                f"-Djava.security.auth.login.config={logins}",
                "-Dzookeeper.authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        java = shutil.which("java")
        assert java is not None, "the tests need Java"
        self._process = subprocess.Popen(
            [
                java,
                "-Xmx64m",
                "-XX:TieredStopAtLevel=1",
                *self._options,
                "-cp",
                JAR,
                _MAIN,
                str(self._settings),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = self.client()
        client.stop()
        client.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def client(self) -> KazooClient:
        """A session of one's own; it has to be stopped and closed."""
        # a server that is still starting takes connections and does not answer: try again soon
        client = KazooClient(self.address, timeout=3, connection_retry={"max_tries": -1, "max_delay": 0.5})
        client.start(timeout=60)
        return client

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
