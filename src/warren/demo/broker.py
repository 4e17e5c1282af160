"""A real Kafka broker on this machine, as a context manager.

with Broker(offsets_partitions=4) as broker:
    Producer(broker.client_settings)
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from rich.console import Console

from warren.demo import keeper
from warren.demo.certificates import Certificates, ensure_certificates
from warren.demo.claim import claim
from warren.demo.credentials import Credentials
from warren.demo.jars import ensure_jars, read_lock
from warren.demo.ports import free_port, is_free
from warren.demo.server_settings import SINGLE_NODE, listener_settings, log4j, properties, security_protocol
from warren.errors import WarrenError
from warren.java import Java, find_java

HOST: Final = "127.0.0.1"
STARTED: Final = "Kafka Server started"
PORT_LOST: Final = "Address already in use"

# restarts of a broker with any port when another process took the chosen one
TRIES: Final = 5
LOOK_S: Final = 0.02
# the keeper's time limit for stopping the broker, plus some seconds
STOP_S: Final = keeper.GRACE_S + 5.0
# without Java's second compiler a new broker takes 3.5 instead of 5.9 processor seconds to start
_QUICK_START: Final = "-XX:TieredStopAtLevel=1"


# librdkafka's settings, in the type that its clients take
ClientSettings = dict[str, str | int | float | bool]


class BrokerError(WarrenError):
    """The broker cannot run."""


class PortTakenError(BrokerError):
    """Another process listens on the broker's port."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"Port {port} on {HOST} is taken by another program: stop that one, or choose another port"
            " (port 0 takes any that is free)."
        )


class Broker:
    """One Kafka node in KRaft mode: broker and controller in one Java process.

    `start` and `stop` may be called in turn any number of times: port and data stay the same. Without `data`
    the broker's files are temporary: `close` deletes them. The broker ends with this process, even after kill -9.
    """

    def __init__(
        self,
        port: int = 0,
        data: Path | None = None,
        offsets_partitions: int = 50,
        *,
        sasl: Credentials | None = None,
        tls: bool = False,
        client_certificates: bool = False,
        heap_mb: int = 512,
        optimize: bool = False,
        settings: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        start_timeout_s: float = 90.0,
        console: Console | None = None,
    ) -> None:
        """`client_certificates` requires one from clients as well; with `optimize` Java starts more slowly and serves
        large loads better; `settings` are Kafka's own and take precedence."""
        self.port = port
        self.sasl = sasl
        self.start_timeout_s = start_timeout_s
        self._any_port = port == 0
        self._given_data = data
        self._data: Path | None = None
        self._offsets_partitions = offsets_partitions
        self._tls = tls or client_certificates
        self._client_certificates = client_certificates
        self._heap_mb = heap_mb
        self._optimize = optimize
        self._settings = dict(settings or {})
        self._java_options = tuple(java_options)
        self._console = console
        self._claim: IO[str] | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """host:port, known once the broker has been started."""
        return f"{HOST}:{self.port}"

    @property
    def client_settings(self) -> ClientSettings:
        """The librdkafka properties of a client of this broker."""
        settings: ClientSettings = {"bootstrap.servers": self.bootstrap_servers}
        certificates = self.certificates
        protocol = security_protocol(self.sasl, certificates)
        if protocol != "PLAINTEXT":
            settings["security.protocol"] = protocol
        if self.sasl:
            settings |= self.sasl.client_settings()
        if certificates:
            settings["ssl.ca.location"] = str(certificates.ca)
        if certificates and self._client_certificates:
            settings["ssl.certificate.location"] = str(certificates.client)
            settings["ssl.key.location"] = str(certificates.client_key)
        return settings

    @property
    def certificates(self) -> Certificates | None:
        """The certificates of a broker with TLS."""
        return Certificates(self.data / "tls") if self._tls else None

    @property
    def data(self) -> Path:
        """The directory of its files."""
        if self._data is None:
            if self._given_data is None:
                self._data = Path(tempfile.mkdtemp(prefix="warren-broker-"))
            else:
                # our working directory may change, so the path must be absolute
                self._data = self._given_data.expanduser().absolute()
        return self._data

    @property
    def log(self) -> Path:
        """Kafka's log file."""
        return self.data / "broker.log"

    @property
    def pid(self) -> int | None:
        """The Java process, while it runs."""
        return self._pid if self.running else None

    @property
    def running(self) -> bool:
        """Whether the Java process runs."""
        return self._keeper is not None and self._keeper.poll() is None

    def start(self) -> Self:
        """Return when clients can use the broker; raises BrokerError when it cannot run."""
        if self.running:
            return self
        java = find_java()
        classpath = os.pathsep.join(map(str, ensure_jars(java, read_lock(), self._console)))
        for attempt in range(1, TRIES + 1):
            self._choose_port()
            try:
                self._start(java, classpath)
            except PortTakenError:
                self.stop()
                if not self._any_port or attempt == TRIES:
                    raise
                self.port = 0
            except BaseException:
                self.kill()
                raise
            else:
                return self
        return self

    def stop(self) -> None:
        """Stop the broker cleanly; kill it if that takes more than a few seconds."""
        if self._keeper is not None:
            if self._keeper.stdin is not None:
                self._keeper.stdin.close()
            try:
                self._keeper.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()
            self._keeper = None
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def kill(self) -> None:
        """Kill the broker, as in a power failure: no flush, no clean shutdown."""
        if self.running and self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
        self.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the broker to end; False when the time is up and it still runs."""
        if self._keeper is None:
            return True
        try:
            self._keeper.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Stop, and remove temporary files."""
        self.stop()
        if self._given_data is None and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None

    def _choose_port(self) -> None:
        if self.port == 0:
            self.port = free_port(HOST)
        elif not is_free(HOST, self.port):
            raise PortTakenError(self.port)

    def _start(self, java: Java, classpath: str) -> None:
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            if self._claim is None:
                self._claim = claim(self.data, STOP_S)
            command = self._prepare(java, classpath)
        except OSError as error:
            raise BrokerError(f"The broker's data cannot be stored in {self.data}: {error}.") from error
        temporary = str(self.data) if self._given_data is None else "-"
        with (self.data / "broker.out").open("wb") as output:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), temporary, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                # the keeper holds the lock: it ends after the broker
                pass_fds=(self._claim.fileno(),),
            )
        if self._keeper.stdout is not None:
            with self._keeper.stdout as pipe:
                self._pid = int(pipe.readline() or 0) or None
        self._await_start()

    def _prepare(self, java: Java, classpath: str) -> list[str]:
        """Write the configuration, format a new log directory; returns the broker's command."""
        if self._tls:
            ensure_certificates(self.data / "tls", HOST)
        settings = self._server_settings()
        (self.data / "log4j2.properties").write_text(log4j(self.log))
        configuration = self.data / "server.properties"
        _write_secret(configuration, properties(settings))
        # what a killed Java leaves is removed with the data, or by the next start
        temporary = self.data / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(exist_ok=True)
        command = [
            *(str(java.path), f"-Xmx{self._heap_mb}m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
            *(() if self._optimize else (_QUICK_START,)),
            *("-Djava.awt.headless=true", f"-Djava.io.tmpdir={temporary}"),
            f"-Dlog4j2.configurationFile={self.data / 'log4j2.properties'}",
            *self._java_options,
            *("-cp", classpath),
        ]
        self._format(command, settings)
        return [*command, "kafka.Kafka", str(configuration)]

    def _server_settings(self) -> dict[str, str]:
        settings = {
            **SINGLE_NODE,
            "offsets.topic.num.partitions": str(self._offsets_partitions),
            "log.dirs": str(self.data / "kafka"),
            **listener_settings(HOST, self.port, free_port(HOST), self.sasl, self.certificates),
        }
        if self._client_certificates:
            settings["ssl.client.auth"] = "required"
        return settings | self._settings

    def _format(self, command: list[str], settings: Mapping[str, str]) -> None:
        """Format a new log directory, atomically: an interrupted format leaves no directory."""
        record_path = self.data / "scram"
        scram = self.sasl if self.sasl and self.sasl.is_scram else None
        if (self.data / "kafka").exists():
            if scram and not (record_path.exists() and scram.made(record_path.read_text())):
                raise BrokerError(
                    f"The data in {self.data} was created without this SCRAM user or with another password:"
                    " use the same user and password, or another data directory."
                )
            return
        with tempfile.TemporaryDirectory(prefix=".format-", dir=self.data) as scratch:
            configuration = Path(scratch, "server.properties")
            _write_secret(configuration, properties({**settings, "log.dirs": f"{scratch}/kafka"}))
            arguments = ["-t", _cluster_id(), "-c", str(configuration)]
            if scram:
                record = scram.scram_record()
                _write_secret(record_path, record)
                arguments += ["--add-scram", record]
            formatted = subprocess.run(
                [*command, "kafka.tools.StorageTool", "format", *arguments],
                capture_output=True,
                text=True,
                check=False,
            )
            if formatted.returncode != 0:
                raise BrokerError(
                    f"Kafka could not prepare {self.data}: {_last_line(formatted.stdout + formatted.stderr)}"
                )
            Path(scratch, "kafka").rename(self.data / "kafka")

    def _await_start(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        output = self.data / "broker.out"
        while True:
            ended = not self.running
            text = output.read_text(errors="replace")
            if STARTED in text:
                return
            if PORT_LOST in text:
                raise PortTakenError(self.port)
            if ended:
                raise BrokerError(f"Kafka ended while starting ({self.log} has more): {_last_line(text)}")
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"Kafka did not start within {self.start_timeout_s:g} s: see {self.log} for the reason."
                )
            time.sleep(LOOK_S)


def _cluster_id() -> str:
    """A random id in Kafka's format, without a leading dash, which would be parsed as an option."""
    while True:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not cluster_id.startswith("-"):
            return cluster_id


def _last_line(text: str) -> str:
    """The last line of the log that is not a stack frame."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not re.match(r"\s+at |\s+\.\.\.", line)
    ]
    return lines[-1] if lines else "no reason given"


def _write_secret(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
