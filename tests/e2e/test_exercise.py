"""The exercise of docs/broker.md: its commands, as they stand there, have the verdicts that the page foretells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.pages import blocks
from tests.processes import eventually, kill_session

from warren.demo.ports import free_port

# a machine that does other things too
PATIENCE_S = 180.0

KAFKA, PROGRAM, START, ASK, KILL, END = blocks(
    "docs/broker.md", "An exercise: kill a consumer and watch the verdict"
)


class Terminal:
    """One bash in an empty directory, as the page wants it; its ports are free ones."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ports = {"9092": str(free_port("127.0.0.1")), "8000": str(free_port("127.0.0.1"))}
        # Warren's environment is active; status asks where Warren listens
        self._environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "WARREN_URL": self._here("http://localhost:8000"),
        }
        with (directory / "output").open("wb") as output:
            self._bash = subprocess.Popen(
                ["bash"],
                cwd=directory,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def type(self, block: str) -> None:
        assert self._bash.stdin
        self._bash.stdin.write(self._here(block).encode())
        self._bash.stdin.flush()

    def ask(self, command: str) -> Any:
        """The command's answer for programs; None while there is none."""
        asked = subprocess.run(
            [*command.split(), "--json"], env=self._environment, capture_output=True, text=True, check=False
        )
        return json.loads(asked.stdout) if asked.stdout else None

    def leave(self) -> int:
        """The exit code, when everything that the terminal has started has ended."""
        assert self._bash.stdin
        self._bash.stdin.write(b"wait\nexit 0\n")
        self._bash.stdin.close()
        return self._bash.wait(60)

    @property
    def output(self) -> str:
        names = ("output", "broker.log", "warren.log")
        return "\n".join((self._directory / name).read_text() for name in names)

    def end(self) -> None:
        kill_session(self._bash.pid)

    def _here(self, text: str) -> str:
        for usual, free in self._ports.items():
            text = text.replace(usual, free)
        return text


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    try:
        yield opened
    finally:
        opened.end()


def test_a_killed_consumer_stops_its_partitions_until_the_other_takes_over(terminal: Terminal) -> None:
    for block in (KAFKA, PROGRAM, START):
        terminal.type(block)

    def seen(*wanted: str) -> bool:
        """Whether these are the statuses of the three partitions, with full windows."""
        answer = terminal.ask(ASK)
        partitions = (answer and answer["clusters"][0].get("partitions")) or []
        return sorted(each["status"] for each in partitions if each["complete"] == 1) == sorted(wanted)

    assert eventually(lambda: seen("OK", "OK", "OK"), PATIENCE_S, every_s=1), terminal.output
    terminal.type(KILL)
    # the victim had one partition or two
    assert eventually(lambda: seen("OK", "OK", "STOP") or seen("OK", "STOP", "STOP"), 60, every_s=0.5), (
        terminal.output
    )
    assert terminal.ask(ASK)["ok"] is False
    assert eventually(lambda: seen("OK", "OK", "OK"), PATIENCE_S, every_s=1), terminal.output

    terminal.type(END)
    assert terminal.leave() == 0, terminal.output
