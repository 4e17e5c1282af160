"""A `warren run` of its own process, to ask, to kill and to start again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from tests.processes import kill_session

from warren.demo.ports import free_port

# a machine that does other things too
STOP_S = 30.0
_ANSWER_S = 30.0
_HOST = "127.0.0.1"


class Instance:
    """Runs in a directory of its own, which outlives it; gone with the `with`."""

    def __init__(self, directory: Path, configuration: str, **files: str) -> None:
        """The configuration without a listener, as the instance has one of its own; further files, name: text."""
        directory.mkdir()
        self.directory = directory
        address = f"{_HOST}:{free_port(_HOST)}"
        self.url = f"http://{address}"
        # one core: instances and a broker share a small machine
        more = f'[httpserver.default]\naddress = "{address}"\n[spark]\nmaster = "local[1]"\ntrigger-interval = 1\n'
        (directory / "burrow.toml").write_text(configuration + more)
        for name, content in files.items():
            (directory / name).write_text(content)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.directory / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "warren.cli.main", "run", "--config-dir", str(self.directory)],
                cwd=self.directory,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
                start_new_session=True,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def name(self) -> str:
        """As instances call themselves."""
        assert self._process is not None
        return f"{socket.gethostname()}:{self._process.pid}"

    def kill(self) -> None:
        """As a power cut would: Java and the workers too."""
        if self._process is not None:
            kill_session(self._process.pid)
            self._process.wait()
            self._process = None

    def terminate(self) -> int:
        """As a person would; returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_S)
        self.kill()
        return code

    def page(self, path: str) -> Any:
        """The JSON of a page; None while nobody answers."""
        try:
            return httpx.get(self.url + path, timeout=_ANSWER_S).json()
        except httpx.HTTPError:
            return None

    def incidents(self, state: str = "") -> list[dict[str, Any]]:
        """As /v4/incidents tells them, the newest first."""
        page = self.page("/v4/incidents" + (f"?state={state}" if state else ""))
        found: list[dict[str, Any]] = page["incidents"] if page else []
        return found

    def notifier(self) -> dict[str, Any]:
        """As /v4/health tells of it; empty while nobody answers."""
        page = self.page("/v4/health")
        return (page or {}).get("notifier") or {}

    def ready(self) -> bool:
        """Whether every cluster has caught up."""
        return bool((self.page("/v4/health") or {}).get("ready"))

    @property
    def output(self) -> str:
        return (self.directory / "output").read_text()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
