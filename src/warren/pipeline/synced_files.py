"""Which files of a query's checkpoint are on the disk.

Spark does not sync what it writes. After a power cut the files of the last half minute may be empty, and Spark fails on
one that is, at every start. So Warren syncs them, and keeps a list of those that are on the disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import structlog

from warren import durable
from warren.pipeline.unfinished import COMMITS, newest

log = structlog.get_logger("warren.pipeline")

# beside the query's directory
_FILE: Final = "synced"
# what Spark is writing; it gets its name when it is whole, and stays for ever when Spark is killed before
_DRAFT: Final = ".tmp"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class Listed(msgspec.Struct, frozen=True):
    """What is on the disk."""

    # the start of the system in which it was synced: until the next one all files are whole, listed or not
    boot: str
    # path below the checkpoint: size
    files: dict[str, int]


class SyncedFiles:
    """The checkpoint of one query, with its list."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint.parent / _FILE
        # file: inode, size and time of the last change when it was synced
        self._synced: dict[Path, tuple[int, int, int]] = {}
        self._trigger: int | None = None

    def restore(self) -> None:
        """Before the first start in a process: remove what Spark has not finished and, if the system has been started
        anew, what is not in the list. The query goes back to the last trigger that is whole, and reads again what came
        after it."""
        whole = self._whole()
        lost = 0
        for path, now in self._files():
            if path.suffix == _DRAFT:
                path.unlink(missing_ok=True)
            elif whole is not None and whole.get(self._name(path)) != now.st_size:
                path.unlink(missing_ok=True)
                lost += 1
        if lost:
            log.warning(
                "the system has been started anew: removed what may not have been on the disk; it is read again",
                checkpoint=str(self._checkpoint),
                files=lost,
            )

    def sync(self) -> int | None:
        """The number of the last trigger, once all of it is on the disk; None when there is no new one."""
        trigger = newest(self._checkpoint / COMMITS)
        if trigger in (None, self._trigger):
            return None
        synced: dict[Path, tuple[int, int, int]] = {}
        directories = set[Path]()
        for path, now in self._files():
            if path.suffix == _DRAFT:
                continue
            identity = (now.st_ino, now.st_size, now.st_mtime_ns)
            if self._synced.get(path) != identity:
                try:
                    durable.sync(path)
                except FileNotFoundError:
                    # Spark does not need it any more
                    continue
                directories.add(path.parent)
            synced[path] = identity
        for directory in directories | self._above(directories):
            durable.sync(directory)
        self._write(Listed(boot(), {self._name(path): size for path, (_, size, _) in synced.items()}))
        self._synced, self._trigger = synced, trigger
        return trigger

    def _above(self, directories: set[Path]) -> set[Path]:
        """The directories that have new ones in them."""
        new = directories - {path.parent for path in self._synced}
        top = self._checkpoint.parent
        return {above for each in new for above in each.parents if above.is_relative_to(top)}

    def _whole(self) -> dict[str, int] | None:
        """The files that are whole, with their sizes; None: all of them, or nobody knows."""
        listed, running = self._listed(), boot()
        if listed is None or (running and listed.boot == running):
            return None
        commits = [name for name in listed.files if name.startswith(f"{COMMITS}/")]
        if commits and not any((self._checkpoint / name).exists() for name in commits):
            # the list is that of triggers long ago: an earlier version of Warren ran since, or nothing could be synced
            return None
        return listed.files

    def _listed(self) -> Listed | None:
        """None for a checkpoint without a list, as those of earlier versions are."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Listed)
        except FileNotFoundError:
            if not self._checkpoint.exists():
                # a new one, of which nothing is on the disk yet
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._write(Listed(boot(), {}))
        except msgspec.DecodeError as error:
            log.warning("list of synced files cannot be read", file=str(self._path), error=str(error))
        return None

    def _write(self, listed: Listed) -> None:
        durable.write(self._path, msgspec.json.encode(listed))

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for directory, below, names in os.walk(self._checkpoint):
            # commits before state: what a trigger has written before its commit is then found, too
            below.sort()
            for name in names:
                path = Path(directory, name)
                with contextlib.suppress(FileNotFoundError):
                    yield path, path.stat()

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._checkpoint))


def boot() -> str:
    """Which start of the system this is; empty where it does not tell."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
