"""The pipe between a benchmark and its child processes: JSON objects, one per line, both ways."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

import psutil

from warren.errors import WarrenError

# time limit for a child to exit after its pipe is closed
GRACE_S: Final = 20.0
# a child without a message for this long hangs
PATIENCE_S: Final = 600.0

FAILED: Final = "failed"

Words = dict[str, Any]


class BenchError(WarrenError):
    """A benchmark could not be run to its end."""


class Child:
    """A process that a benchmark starts, as a context manager: all its descendants are killed at the end."""

    def __init__(self, module: str, task: Mapping[str, Any], directory: Path) -> None:
        """`directory`: for the log of its standard error, and its temporary files."""
        self._module = module
        self._task = task
        self._directory = directory
        self._errors = directory / f"{module.rpartition('.')[2]}.log"
        self._events: queue.Queue[Words | None] = queue.Queue()

    def __enter__(self) -> Self:
        with self._errors.open("ab") as errors:
            # seconds since the epoch
            self.started = time.time()
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"TMPDIR": str(self._directory)},
                # the parent handles Ctrl-C and closes the pipe
                start_new_session=True,
            )
        threading.Thread(target=self._listen, daemon=True).start()
        self._send(self._task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        descendants = self._descendants()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            # after an error the child is killed at once
            self._process.wait(GRACE_S if error is None else GRACE_S / 4)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for each in descendants:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, **fields: Any) -> None:
        """Send a command to the child."""
        self._send({"do": command, **fields})

    def hear(
        self,
        event: str,
        timeout_s: float = PATIENCE_S,
        other: Callable[[Words], object] = lambda _event: None,
    ) -> Words:
        """Wait for an event of the child; `other` gets the events before it."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                found = self._events.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise BenchError(
                    f"{self._module} did not report '{event}' within {timeout_s:.0f} s"
                ) from None
            if found is None:
                raise BenchError(f"{self._module} ended before '{event}': {self._last_error()}")
            if found["event"] == FAILED:
                raise BenchError(str(found["reason"]))
            if found["event"] == event:
                return found
            other(found)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise BenchError(f"{self._module} has ended: {self._last_error()}") from None

    def _listen(self) -> None:
        try:
            if self._process.stdout is not None:
                for line in self._process.stdout:
                    self._events.put(json.loads(line))
        finally:
            # also after invalid JSON: `hear` must not wait for more
            self._events.put(None)

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _last_error(self) -> str:
        lines = [line for line in self._errors.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else "its log is empty"


class Parent:
    """The child's end of the pipe, which is its standard output; other output goes to standard error."""

    def __init__(self) -> None:
        self._out: IO[bytes] = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._commands: queue.Queue[Words | None] = queue.Queue()
        # set by a command "stop", and when the parent is gone
        self.stop = threading.Event()
        self.task: Words = json.loads(sys.stdin.buffer.readline() or b"{}")
        threading.Thread(target=self._listen, daemon=True).start()

    def tell(self, event: str, **fields: Any) -> None:
        """Send an event; the parent may have ended."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._out.write(json.dumps({"event": event, **fields}).encode() + b"\n")

    def told(self) -> Words | None:
        """The next command; None: there will be no more."""
        return self._commands.get()

    def _listen(self) -> None:
        for line in sys.stdin.buffer:
            command = json.loads(line)
            if command["do"] == "stop":
                self.stop.set()
            self._commands.put(command)
        self.stop.set()
        self._commands.put(None)


def as_child(main: Callable[[Parent], None]) -> None:
    """Run a child's main function; its errors are sent to the parent."""
    parent = Parent()
    try:
        main(parent)
    except WarrenError as error:
        parent.tell(FAILED, reason=str(error))
        sys.exit(1)
