"""A real ZooKeeper on this machine, as a context manager: from the jars that come with PySpark."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from warren.demo import keeper
from warren.demo.ports import free_port
from warren.errors import WarrenError
from warren.java import find_java

HOST: Final = "127.0.0.1"
_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
# what the server needs of Spark's jars
_JARS: Final = (
    "zookeeper-*.jar",
    "slf4j-api-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "netty-*.jar",
    "commons-cli-*.jar",
    "commons-io-*.jar",
    "jackson-*.jar",
)
_START_S: Final = 60.0
# kazoo's warnings about a server that is still starting would land in the terminal
_SILENT: Final = logging.Logger("warren.demo.kazoo", level=logging.CRITICAL + 1)


class ZooKeeperError(WarrenError):
    """The server cannot run."""


def classpath() -> str:
    """The jars of a ZooKeeper server."""
    spec = find_spec("pyspark")
    jars = Path(spec.origin).parent / "jars" if spec and spec.origin else Path()
    found = [str(path) for pattern in _JARS for path in sorted(jars.glob(pattern))]
    if not any("zookeeper" in Path(each).name for each in found):
        raise ZooKeeperError(
            "The ZooKeeper jars are missing from PySpark: install pyspark again from its wheel."
        )
    return os.pathsep.join(found)


class ZooKeeperServer:
    """One server. `start` and `stop` may be called in turn: port and data stay the same. It ends with this process."""

    def __init__(
        self,
        data: Path,
        *,
        tick_ms: int = 2000,
        settings: Iterable[str] = (),
        java_options: Iterable[str] = (),
    ) -> None:
        """`settings`: further lines of its configuration."""
        self.data = data
        self.port = free_port(HOST)
        self._tick_ms = tick_ms
        self._settings = tuple(settings)
        self._java_options = tuple(java_options)
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        """Returns when it answers."""
        self.data.mkdir(parents=True, exist_ok=True)
        configuration = self.data / "zoo.cfg"
        lines = (
            f"dataDir={self.data}/data",
            f"clientPortAddress={HOST}",
            f"clientPort={self.port}",
            f"tickTime={self._tick_ms}",
            "admin.enableServer=false",
            *self._settings,
        )
        configuration.write_text("\n".join(lines) + "\n")
        command = [
            str(find_java().path),
            "-Xmx64m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            *self._java_options,
            "-cp",
            classpath(),
            _MAIN,
            str(configuration),
        ]
        with (self.data / "server.out").open("wb") as output:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), "-", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )
        self._await_start()

    def stop(self) -> None:
        if self._keeper is not None:
            if self._keeper.stdin is not None:
                self._keeper.stdin.close()
            try:
                self._keeper.wait(keeper.GRACE_S + 5.0)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()
            self._keeper = None

    def client(self, timeout_s: float = _START_S) -> KazooClient:
        """A session of one's own; it has to be stopped and closed."""
        # a server that is still starting takes connections and does not answer: try again soon
        client = KazooClient(
            self.address, timeout=3, connection_retry={"max_tries": -1, "max_delay": 0.5}, logger=_SILENT
        )
        client.start(timeout=timeout_s)
        return client

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _await_start(self) -> None:
        until_s = time.monotonic() + _START_S
        while True:
            if self._keeper is None or self._keeper.poll() is not None:
                last = (self.data / "server.out").read_text(errors="replace").strip().splitlines()[-1:]
                raise ZooKeeperError(f"ZooKeeper has ended at once: {' '.join(last)}")
            try:
                client = self.client(timeout_s=2.0)
            except KazooTimeoutError:
                if time.monotonic() > until_s:
                    raise ZooKeeperError(f"ZooKeeper does not answer on {self.address}.") from None
                continue
            client.stop()
            client.close()
            return
