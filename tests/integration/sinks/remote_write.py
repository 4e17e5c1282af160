"""A real Prometheus that is written to."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx
from tests.processes import eventually

from warren.demo.ports import free_port

HOST: Final = "127.0.0.1"


class RemoteWriteServer:
    """A Prometheus that scrapes nothing and takes remote write; can be stopped and started again."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        address = f"{HOST}:{free_port(HOST)}"
        self.url = f"http://{address}"
        self.write_url = f"{self.url}/api/v1/write"
        self._log = folder / "prometheus.log"
        (folder / "prometheus.yml").write_text("scrape_configs: []\n")
        self._command = [
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            *(["--web.enable-remote-write-receiver"] if enabled else []),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        assert eventually(self._answers, 30), self._log.read_text()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def samples(self, selector: str) -> dict[frozenset[tuple[str, str]], list[tuple[int, float]]]:
        """Labels: times in ms and values, of the last minutes."""
        answer = httpx.get(f"{self.url}/api/v1/query", params={"query": f"{selector}[10m]"}).json()
        return {
            frozenset(each["metric"].items()): [
                (round(time * 1000), float(value)) for time, value in each["values"]
            ]
            for each in answer["data"]["result"]
        }

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/-/ready").status_code == 200
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
