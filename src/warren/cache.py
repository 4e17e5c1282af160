"""The directory for downloads, and locks between processes that use it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """WARREN_CACHE, or `warren` in the user's cache directory."""
    environ = os.environ if environ is None else environ
    if own := environ.get("WARREN_CACHE"):
        return Path(own).expanduser()
    if shared := environ.get("XDG_CACHE_HOME"):
        return Path(shared, "warren")
    return Path("~/.cache/warren").expanduser()


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file `path`; `on_wait` is called once when another process has it.

    The kernel frees the lock when its holder dies, so none is ever stale; the file itself stays, because
    removing it would let two processes hold locks on two files of one name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
