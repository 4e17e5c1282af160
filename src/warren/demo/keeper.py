"""Runs one command and makes sure that it ends with its parent process.

Started as a script of its own (no imports of Warren, so that it is up in milliseconds):

    keeper.py PARENT_PID DIRECTORY_TO_REMOVE|- COMMAND...

It writes the command's process id to its standard output. When its standard input closes, on SIGTERM, or when the
parent is gone, it ends the command: with SIGTERM, and with SIGKILL after GRACE_S.

The parent may be killed with -9: the kernel closes its end of the pipe, and if a fork of the parent holds
that open, the keeper sees that its parent's process id has changed. The keeper may be killed with -9: the kernel
then ends the command. That signal is bound to the thread that forked: hence a separate process with one thread.
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
    """Called in the child before the command starts. Other systems than Linux have only the pipe."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for_the_end(child: subprocess.Popen[bytes], parent: int) -> None:
    """Return when the child has ended or should: the pipe closed, a SIGTERM came, or the parent is gone."""
    wakeup, sender = socket.socketpair()
    wakeup.setblocking(False)
    sender.setblocking(False)
    terminated = []
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: terminated.append(True))
    while child.poll() is None and not terminated and os.getppid() == parent:
        ready, _, _ = select.select([0, wakeup.fileno()], [], [], LOOK_S)
        if 0 in ready and os.read(0, 4096) == b"":
            return
        if wakeup.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                wakeup.recv(4096)


def main(argv: list[str]) -> int:
    """Run the command until it ends; returns its exit code."""
    parent, remove, command = int(argv[1]), argv[2], argv[3:]
    # the parent handles the terminal's Ctrl-C and closes the pipe
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
