"""A process that has loaded all that Spark's Python processes need: each of those is a copy of it, made in no time.

It listens for stand-ins (`stand_in.py`), one for each process that Spark starts. What is loaded is in memory once.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from warren.cache import cache_directory
from warren.pipeline import stand_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

# what Spark's planning and tasks run, beside our own sources and operator
_LOADED: Final = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
    "warren.cluster.framing",
    "warren.cluster.source",
    "warren.consumer.reading",
    "warren.consumer.source",
    "warren.storage.operator",
)
# the kernel reads no more of a script's first line, and takes no longer name of a socket
_LONGEST_LINE: Final = 200
_LONGEST_ADDRESS: Final = 100
# what people see in `top`, 15 letters at most: who plans, who does the work
_SEEDLING: Final = "warren-seedling"
_PLANNER: Final = "warren-planner"
WORKER: Final = "warren-worker"
_WORKERS_MODULE: Final = "warren.pipeline.daemon"
# stand-ins that may wait
_BACKLOG: Final = 32
# how long a stand-in may take to say what it wants
_PATIENCE_S: Final = 5.0

# the one of this process, once it is needed: it lives until standard input tells it that this process has ended
_planted: tuple[subprocess.Popen[bytes], Path] | None = None


@contextmanager
def planted(environ: MutableMapping[str, str]) -> Iterator[None]:
    """While Spark starts: it is told to have its Python processes made from a seedling, where that can be."""
    directory = None if "PYSPARK_PYTHON" in environ else _plant(environ)
    ours = {} if directory is None else _variables(directory)
    environ.update(ours)
    try:
        yield
    finally:
        # programs that this process starts later are no business of Spark's
        for name in ours:
            del environ[name]


def _variables(directory: Path) -> dict[str, str]:
    return {"PYSPARK_PYTHON": str(directory / "python"), stand_in.ADDRESS: str(directory / "socket")}


def _plant(environ: Mapping[str, str]) -> Path | None:
    global _planted  # noqa: PLW0603 - Java, which knows of it, is one for the whole process too
    if _planted is not None:
        return _planted[1]
    if len(sys.executable) > _LONGEST_LINE or " " in sys.executable:
        return None
    # not where old files are swept away: Spark may need it after weeks
    place = cache_directory() / "seedlings"
    place.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=place))
    script = directory / "python"
    script.write_text(f"#!{sys.executable} -IS\n{Path(stand_in.__file__).read_text()}")
    script.chmod(0o700)
    if len(str(directory)) > _LONGEST_ADDRESS or not os.access(script, os.X_OK):
        # also where nothing may be run from that file system
        shutil.rmtree(directory)
        return None
    # opened here: who comes before the seedling has loaded everything can wait for it
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "socket"))
        listening.listen(_BACKLOG)
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory), str(listening.fileno())],
            # Spark wants the same hashes in all its processes
            env={**environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
        )
    _planted = process, directory
    return directory


class Seedling:
    """Makes copies of its process for those who ask; in one thread, since a copy has no other."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        # pid of a copy: the connection to its stand-in
        self._copies: dict[int, socket.socket] = {}

    def grow(self) -> None:
        """Until standard input ends, with the process that has the other end."""
        ended, told = os.pipe()
        os.set_blocking(told, False)
        signal.set_wakeup_fd(told)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            for source in (sys.stdin.fileno(), ended, self._listening):
                selector.register(source, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == sys.stdin.fileno():
                        return
                    if key.fd == ended:
                        os.read(ended, 4096)
                        self._bury(selector)
                    elif key.fileobj is self._listening:
                        self._copy(selector)
                    else:
                        self._left(key.data, selector)

    def _copy(self, selector: selectors.BaseSelector) -> None:
        connection, _ = self._listening.accept()
        try:
            connection.settimeout(_PATIENCE_S)
            size, streams, _, _ = socket.recv_fds(connection, 4, 3)
            wanted = json.loads(_received(connection, int.from_bytes(size, "big")))
        except (OSError, ValueError):
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            selector.close()
            self._listening.close()
            for each in (connection, *self._copies.values()):
                each.close()
            _become(streams, *wanted)
        for stream in streams:
            os.close(stream)
        self._copies[pid] = connection
        selector.register(connection, selectors.EVENT_READ, pid)

    def _left(self, pid: int, selector: selectors.BaseSelector) -> None:
        """Spark ended the stand-in: what it stood for goes too."""
        selector.unregister(self._copies[pid])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def _bury(self, selector: selectors.BaseSelector) -> None:
        """Tell stand-ins how their copies ended."""
        while self._copies:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            connection = self._copies.pop(pid)
            with contextlib.suppress(KeyError):
                selector.unregister(connection)
            with contextlib.suppress(OSError):
                connection.send(bytes([os.waitstatus_to_exitcode(status) & 0xFF]))
            connection.close()


def _received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            raise ConnectionError("the stand-in left before it said what it wanted")
        found += piece
    return found


def _become(streams: Sequence[int], words: list[str], environ: dict[str, str], directory: str) -> NoReturn:
    """Go on as the process that was asked for: `-m module arguments`."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(directory)
        path = [each for each in environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        sys.path[:0] = [each for each in path if each not in sys.path]
        _, module, *rest = words
        _call(WORKER if module == _WORKERS_MODULE else _PLANNER)
        sys.argv = [module, *rest]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _call(name: str) -> None:
    """Name this process; only Linux has names."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def main(directory: Path, listening: socket.socket) -> None:
    _call(_SEEDLING)
    try:
        for name in _LOADED:
            importlib.import_module(name)
        # copies share what is never written to
        gc.freeze()
        Seedling(listening).grow()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
