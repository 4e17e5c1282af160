"""A real Prometheus for tests, on a port and in a directory of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from tests.processes import eventually

from warren.demo.ports import free_port

HOST: Final = "127.0.0.1"
SCRAPE_S: Final = 1


class PrometheusServer:
    """Scrapes one server every second between `with` and its end."""

    def __init__(self, folder: Path, target: str, settings: str = "") -> None:
        """`target`: the server's URL; `settings`: a whole prometheus.yml instead of one made for the target."""
        address = f"{HOST}:{free_port(HOST)}"
        self.url = f"http://{address}"
        self.client = httpx.Client(base_url=self.url, timeout=30)
        self._log = folder / "prometheus.log"
        (folder / "prometheus.yml").write_text(
            settings
            or f"global: {{scrape_interval: {SCRAPE_S}s, scrape_timeout: {SCRAPE_S}s}}\n"
            "scrape_configs: [{job_name: warren, static_configs: "
            f"[{{targets: ['{target.removeprefix('http://')}']}}]}}]\n"
        )
        self._command = [
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def instant(self, query: str, time_s: float | None = None) -> list[dict[str, Any]]:
        """Series with `metric` and `value`."""
        return self._asked("query", query=query, **({} if time_s is None else {"time": time_s}))

    def range(self, query: str, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
        """Series with `metric` and `values`."""
        return self._asked("query_range", query=query, start=start_s, end=end_s, step=step_s)

    def label_values(self, label: str, selector: str) -> list[str]:
        answer = self.client.get(f"/api/v1/label/{label}/values", params={"match[]": selector}).json()
        assert answer["status"] == "success", answer
        values: list[str] = answer["data"]
        return values

    def _asked(self, path: str, **parameters: str | float) -> list[dict[str, Any]]:
        answer = self.client.post(f"/api/v1/{path}", data=parameters).json()
        assert answer["status"] == "success", (parameters, answer)
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def _answers(self) -> bool:
        try:
            return self.client.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def __enter__(self) -> Self:
        prometheus = shutil.which("prometheus")
        assert prometheus is not None, "the tests need Prometheus (on Debian: prometheus)"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([prometheus, *self._command], stdout=log, stderr=log)
        if not eventually(self._answers, 30):
            self.__exit__(None, None, None)
            raise AssertionError(self._log.read_text())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None
