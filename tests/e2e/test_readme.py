"""Every command of the README is run: what it shows first must work first."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from tests.group_offsets import set_offset
from tests.pages import ROOT, blocks
from tests.processes import eventually, kill_session

from warren.demo.broker import Broker
from warren.demo.ports import free_port

GROUP = "readme"
# a machine that does other things too
PATIENCE_S = 240.0
STOP_S = 40.0

CONFIGURATION = next(block for block in blocks("README.md") if block.startswith("# config/burrow.toml"))
COMMANDS = [line for block in blocks("README.md") if block != CONFIGURATION for line in block.splitlines()]


def test_these_are_all_commands() -> None:
    """A command that comes to the README has to come to a test."""
    assert COMMANDS == [
        "make demo",
        "make test",
        ".venv/bin/warren check --config-dir config --connect",
        ".venv/bin/warren run --config-dir config",
        ".venv/bin/warren status",
        "curl -s http://localhost:8000/v3/kafka/production/consumer",
    ]


def test_make_demo() -> None:
    # with its check it ends by itself, once every group has the status that it was made for
    ended = _called(f"{COMMANDS[0]} ARGS='--check --history --zookeeper --port 0'", ROOT)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Every group has its intended status" in ended.stdout
    # asked as a person would, the history has answered with a picture
    where = re.search(r"warren history worst --path (\S+) --plot", ended.stdout)
    assert where is not None
    assert re.search(r"^mailer +ERR ", ended.stdout, re.MULTILINE)
    # a group that commits in ZooKeeper
    assert re.search(r"^ *storm-spout .*STALL", ended.stdout, re.MULTILINE)
    assert re.search(r"^Drawn: \S+\.svg$", ended.stdout, re.MULTILINE)
    # and has gone with the demo
    assert not Path(where[1]).exists()
    assert "Traceback" not in ended.stdout + ended.stderr


def test_make_test() -> None:
    # this is what it runs: that the command leads here is enough
    planned = _called(f"{COMMANDS[1]} --dry-run", ROOT)

    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.splitlines()[-1].split()[0] == ".venv/bin/pytest"


class Place:
    """The directory in which a reader has written the configuration, with the addresses of a broker that is there."""

    def __init__(self, directory: Path, broker: Broker) -> None:
        self.directory = directory
        self._port = free_port("127.0.0.1")
        (directory / "config").mkdir()
        (directory / "config" / "burrow.toml").write_text(
            re.sub(r"\[\"kafka-1.*\]", f'["{broker.bootstrap_servers}"]', self._here(CONFIGURATION))
        )
        (directory / ".venv").symlink_to(sys.prefix)

    def call(self, command: str) -> subprocess.CompletedProcess[str]:
        return _called(self._here(command), self.directory, WARREN_URL=self._here("http://localhost:8000"))

    def start(self, command: str) -> subprocess.Popen[bytes]:
        with (self.directory / "output").open("wb") as output:
            return subprocess.Popen(
                shlex.split(self._here(command)),
                cwd=self.directory,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _here(self, text: str) -> str:
        return text.replace(":8000", f":{self._port}")


@pytest.fixture
def place(tmp_path: Path, broker: Broker) -> Place:
    """Beside a cluster in which a group has committed."""
    admin = AdminClient(broker.client_settings)
    admin.create_topics([NewTopic(GROUP, 1)])[GROUP].result(30)
    set_offset(admin, GROUP, GROUP, 0)
    return Place(tmp_path, broker)


def test_a_real_cluster(place: Place) -> None:
    check, run, status, curl = COMMANDS[2:]
    checked = place.call(check)
    assert checked.returncode == 0, checked.stdout + checked.stderr

    running = place.start(run)
    try:
        # before the first snapshot it says so, with another exit code than that of groups in trouble
        assert eventually(lambda: GROUP in place.call(status).stdout, PATIENCE_S, every_s=1)
        assert GROUP in json.loads(place.call(curl).stdout)["consumers"]
        running.send_signal(signal.SIGINT)
        assert running.wait(STOP_S) == 0
    finally:
        kill_session(running.pid)


def _called(command: str, directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # these tests are often started by make themselves, and a make inside make talks about its directories
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        shlex.split(command),
        cwd=directory,
        env=outside | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
