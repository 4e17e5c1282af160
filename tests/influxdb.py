"""A real InfluxDB 1.x for tests, on ports and in a directory of its own."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from tests.processes import eventually

from warren.demo.ports import free_port

HOST: Final = "127.0.0.1"
# the user that a server with logins has
ADMIN: Final = ("admin", "s3cret-of-admin")


class InfluxServer:
    """Runs between `with` and its end; `stop` and `start` again keep its data."""

    def __init__(self, folder: Path, *, logins: bool = False) -> None:
        """`logins`: everybody has to log in; `ADMIN` may do everything."""
        self.url = f"http://{HOST}:{free_port(HOST)}"
        self.client = httpx.Client(base_url=self.url, timeout=30, auth=ADMIN if logins else None)
        self._logins = logins
        self._log = folder / "influxdb.log"
        self._settings = folder / "influxdb.conf"
        self._settings.write_text(
            f"""
reporting-disabled = true
bind-address = "{HOST}:{free_port(HOST)}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
[http]
  bind-address = "{self.url.removeprefix("http://")}"
  log-enabled = false
  auth-enabled = {str(logins).lower()}
[monitor]
  store-enabled = false
"""
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        influxd = shutil.which("influxd")
        assert influxd is not None, "the tests need InfluxDB (on Debian: influxdb)"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [influxd, "run", "-config", str(self._settings)], stdout=log, stderr=log
            )
        assert eventually(self._answers, 60), self._log.read_text()
        if self._logins:
            name, password = ADMIN
            # the first user may be made by anybody; again changes nothing
            self.query(f"CREATE USER {name} WITH PASSWORD '{password}' WITH ALL PRIVILEGES")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
            self._process = None

    def query(self, statement: str, database: str = "") -> list[dict[str, Any]]:
        """The series of an InfluxQL statement, times in ms: name, tags, columns, values."""
        answer = self.client.post("/query", params={"q": statement, "db": database, "epoch": "ms"})
        (result,) = answer.raise_for_status().json()["results"]
        assert "error" not in result, result
        series: list[dict[str, Any]] = result.get("series", [])
        return series

    def rows(self, statement: str, database: str) -> list[dict[str, Any]]:
        """The same as rows: column or tag: value."""
        return [
            series.get("tags", {}) | dict(zip(series["columns"], values, strict=True))
            for series in self.query(statement, database)
            for values in series["values"]
        ]

    def _answers(self) -> bool:
        try:
            return self.client.get("/ping").status_code == 204
        except httpx.TransportError:
            return False

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
        self.client.close()
