"""Runs one command and makes sure that it ends with its parent process.

Started as a script of its own (no imports of Warren, so that it is up in milliseconds):

    keeper.py PARENT_PID DIRECTORY_TO_REMOVE|- COMMAND...

It writes the command's process id to its standard output. When its standard input closes, when it is told to
terminate, or when the parent is gone, it ends the command: politely first, by force after GRACE_S.

The parent may be killed with -9: its end of the pipe closes by itself, and should a fork of the parent hold
that open, the change of our parent's process id tells. The keeper may be killed with -9: the kernel then ends
the command. That signal is bound to the thread that forked: hence a process of its own with one thread only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from typing import Final

GRACE_S: Final = 8.0
# interval of checks for a dead parent whose pipe is kept open by a fork
LOOK_S: Final = 0.5
PR_SET_PDEATHSIG: Final = 1


def die_with_the_keeper() -> None:
    """Called in the child before the command starts. Elsewhere than on Linux the pipe alone must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for_the_end(child: subprocess.Popen[bytes], parent: int) -> None:
    """Return when the child has ended or should: the pipe closed, a SIGTERM came, or the parent is gone."""
    woken, wakes = socket.socketpair()
    woken.setblocking(False)
    wakes.setblocking(False)
    terminated = []
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: terminated.append(True))
    while child.poll() is None and not terminated and os.getppid() == parent:
        ready, _, _ = select.select([0, woken.fileno()], [], [], LOOK_S)
        if 0 in ready and os.read(0, 4096) == b"":
            return
        if woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)


def main(argv: list[str]) -> int:
    """Keep the command until its end; the answer is its exit code."""
    parent, remove, command = int(argv[1]), argv[2], argv[3:]
    # the terminal's Ctrl-C is the parent's business, who will close the pipe
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=die_with_the_keeper,  # noqa: PLW1509 (this process has one thread)
    )
    os.write(1, f"{child.pid}\n".encode())
    os.close(1)
    wait_for_the_end(child, parent)
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
    code = child.wait()
    if remove != "-" and os.getppid() != parent:
        shutil.rmtree(remove, ignore_errors=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
