"""Kafka brokers of older versions for tests: each one needs a ZooKeeper, and has a port of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from tests.processes import eventually

from warren.demo.broker import HOST, ClientSettings
from warren.demo.jars import ensure_jars, read_lock
from warren.demo.ports import free_port
from warren.demo.server_settings import properties
from warren.java import find_java

START_S: Final = 30.0

_SETTINGS: Final = {
    "broker.id": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    # not so by default before 1.0
    "delete.topic.enable": "true",
    "num.partitions": "2",
    "log.cleaner.dedupe.buffer.size": "33554432",
}

_LOG: Final = """log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={path}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %m (%c)%n
"""


class OldBroker:
    """Runs between `with` and its end."""

    def __init__(self, version: str, folder: Path, zookeeper: str, **settings: str) -> None:
        """`zookeeper`: its address; `settings`: Kafka's own, with `_` for `.`."""
        self.version = version
        self._folder = folder
        self._given = {key.replace("_", "."): value for key, value in settings.items()}
        self._zookeeper = zookeeper
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap_servers = f"{HOST}:{free_port(HOST)}"

    @property
    def client_settings(self) -> ClientSettings:
        return {"bootstrap.servers": self.bootstrap_servers}

    def command(self, main: str, *arguments: str) -> list[str]:
        """Java with a class of this version of Kafka."""
        java = find_java()
        lock = Path(__file__).with_name(f"kafka-{self.version}.lock")
        jars = ensure_jars(java, read_lock(lock), what=f"Kafka {self.version}")
        return [
            *(str(java.path), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            f"-Dlog4j.configuration=file:{self._folder / 'log4j.properties'}",
            *("-cp", os.pathsep.join(map(str, jars)), main, *arguments),
        ]

    def start(self) -> None:
        """Start it without waiting for it."""
        configuration = self._folder / "server.properties"
        settings = {
            **_SETTINGS,
            "listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "zookeeper.connect": f"{self._zookeeper}/kafka-{self.version}",
            "log.dirs": str(self._folder / "data"),
            **self._given,
        }
        configuration.write_text(properties(settings))
        (self._folder / "log4j.properties").write_text(_LOG.format(path=self._folder / "broker.log"))
        with (self._folder / "out").open("wb") as output:
            self._process = subprocess.Popen(
                self.command("kafka.Kafka", str(configuration)), stdout=output, stderr=output
            )

    def wait(self) -> None:
        """Until it answers."""
        client = AdminClient({**self.client_settings, "log_level": 0})

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self._said()
            try:
                return bool(client.list_topics(timeout=1).brokers)
            except KafkaException:
                return False

        assert eventually(answers, START_S, 0.1), self._said()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def _said(self) -> str:
        """What it wrote before it ended."""
        paths = (self._folder / "out", self._folder / "broker.log")
        return "\n".join(path.read_text()[-2000:] for path in paths if path.exists())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
