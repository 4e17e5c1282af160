"""A kept command ends with whoever asked for it, however that one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.processes import alive, eventually

from warren.demo import keeper

SOON_S = 20.0

# A program that has a command kept and says the process ids of both; {first} runs before, {then} after.
PARENT = """
import os, subprocess, sys, threading, time
{first}
kept = subprocess.Popen(
    [sys.executable, "-I", "-S", {keeper!r}, str(os.getpid()), {remove!r}, "sleep", "600"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
)
print(kept.pid, int(kept.stdout.readline()), flush=True)
{then}
time.sleep(600)
"""

FORK_THAT_HOLDS_THE_PIPE = """
if os.fork() == 0:
    time.sleep(600)
    os._exit(0)
"""


class Family:
    """A parent, its keeper and the command that is kept."""

    def __init__(self, first: str = "", then: str = "", remove: str = "-") -> None:
        program = PARENT.format(
            first=textwrap.dedent(first), then=textwrap.dedent(then), keeper=keeper.__file__, remove=remove
        )
        self.parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert self.parent.stdout is not None
        self.keeper, self.command = map(int, self.parent.stdout.readline().split())

    def end(self) -> None:
        """Whatever the test left."""
        for process in psutil.Process(self.parent.pid).children(recursive=True):
            process.kill()
        self.parent.kill()
        self.parent.communicate()
        for pid in (self.keeper, self.command):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def families() -> Iterator[list[Family]]:
    """Those of the test, ended with it."""
    made: list[Family] = []
    yield made
    for family in made:
        family.end()


def family(families: list[Family], **arguments: str) -> Family:
    """A new family whose command runs."""
    made = Family(**arguments)
    families.append(made)
    assert alive(made.command)
    return made


def test_a_parent_killed_with_9_takes_the_command_along(families: list[Family]) -> None:
    made = family(families)
    made.parent.kill()
    assert eventually(lambda: not alive(made.command) and not alive(made.keeper), SOON_S)


def test_a_fork_that_keeps_the_pipe_open_does_not_keep_the_command(families: list[Family]) -> None:
    made = family(families, then=FORK_THAT_HOLDS_THE_PIPE)
    parent = psutil.Process(made.parent.pid)
    assert eventually(lambda: len(parent.children()) == 2, SOON_S)
    holder = next(child for child in parent.children() if child.pid != made.keeper)
    made.parent.kill()
    try:
        assert eventually(lambda: not alive(made.command) and not alive(made.keeper), SOON_S)
        assert alive(holder.pid)
    finally:
        holder.kill()


def test_a_keeper_killed_with_9_takes_the_command_along(families: list[Family]) -> None:
    made = family(families)
    os.kill(made.keeper, signal.SIGKILL)
    assert eventually(lambda: not alive(made.command), SOON_S)


def test_a_temporary_directory_goes_when_the_parent_was_killed(
    families: list[Family], tmp_path: Path
) -> None:
    directory = tmp_path / "temporary"
    directory.mkdir()
    made = family(families, remove=str(directory))
    made.parent.kill()
    assert eventually(lambda: not directory.exists(), SOON_S)


def start_keeper(*command: str, code: str | None = None) -> subprocess.Popen[bytes]:
    """A keeper whose parent is this process."""
    program = ["-c", code] if code else [keeper.__file__]
    return subprocess.Popen(
        [sys.executable, *program, str(os.getpid()), "-", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def pid_of(kept: subprocess.Popen[bytes]) -> int:
    """The command's process id."""
    assert kept.stdout is not None
    return int(kept.stdout.readline())


def test_the_end_of_the_thread_that_asked_is_not_the_end_of_the_command() -> None:
    started: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(target=lambda: started.append(start_keeper("sleep", "600")))
    thread.start()
    thread.join()
    with started[0] as kept:
        pid = pid_of(kept)
        assert not eventually(lambda: not alive(pid), 3 * keeper.LOOK_S)
        kept.communicate()
    assert not alive(pid)


def test_closing_the_pipe_ends_the_command_politely() -> None:
    with start_keeper("sh", "-c", "trap 'exit 7' TERM; echo ready >&2; while :; do sleep 0.05; done") as kept:
        pid = pid_of(kept)
        # the shell needs a moment before it can catch anything
        assert eventually(lambda: bool(psutil.Process(pid).children()), SOON_S)
        kept.communicate()
        assert kept.returncode == 7
    assert not alive(pid)


def test_a_command_that_will_not_end_is_ended_by_force() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(keeper.__file__).parent)!r}); import keeper;"
        "keeper.GRACE_S = 0.2; sys.exit(keeper.main(sys.argv))"
    )
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    with start_keeper(sys.executable, "-c", stubborn, code=code) as kept:
        pid = pid_of(kept)
        assert eventually(lambda: "SigIgn" in signals_ignored(pid), SOON_S)
        kept.communicate()
        assert kept.returncode == 128 + signal.SIGKILL
    assert not alive(pid)


def signals_ignored(pid: int) -> str:
    """The kernel's line about it, once SIGTERM is among them."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    return line if int(line.split()[1], 16) & (1 << (signal.SIGTERM - 1)) else ""


def test_a_command_that_ends_by_itself_ends_the_keeper_with_its_code() -> None:
    with start_keeper("sh", "-c", "exit 3") as kept:
        assert kept.wait(SOON_S) == 3
