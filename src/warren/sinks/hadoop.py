"""Files on any file system that Spark can write, through Hadoop's own interface in the driver's Java."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from warren import durable
from warren.sinks.writer import TryAgainError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_Found = TypeVar("_Found")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# bytes that go to Java at once
_PIECE: Final = 1024 * 1024
# files that are not complete, or of no meaning to readers: everybody who reads a directory of Parquet leaves these out
UNFINISHED: Final = "_unfinished"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file or directory."""

    name: str
    bytes: int
    is_directory: bool


def absolute(path: str) -> str:
    """The path as Spark takes it: an address with a scheme, else a local one."""
    return path if _SCHEME.match(path) else str(Path(path).expanduser().absolute())


class Files:
    """A directory on some file system; names are relative to it. TryAgainError when the file system cannot."""

    def __init__(self, session: SparkSession, base: str) -> None:
        self.base = base.rstrip("/")
        context = session.sparkContext
        self._jvm: Any = context._jvm
        # the directory, where it is on a disk of this machine
        self.disk: Path | None = None
        self._fs = self._tried(lambda: self._opened(context))

    def exists(self, name: str) -> bool:
        return bool(self._tried(lambda: self._fs.exists(self._path(name))))

    def list(self, name: str = "") -> Sequence[FileInfo]:
        """What a directory holds, by name; nothing when it is not there."""

        def listed() -> list[FileInfo]:
            path = self._path(name)
            if not self._fs.exists(path):
                return []
            return [
                FileInfo(str(each.getPath().getName()), int(each.getLen()), bool(each.isDirectory()))
                for each in self._fs.listStatus(path)
            ]

        return sorted(self._tried(listed), key=lambda each: each.name)

    def read(self, name: str) -> bytes:
        def whole() -> bytes:
            stream = self._fs.open(self._path(name))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

        return self._tried(whole)

    def put(self, name: str, content: bytes) -> None:
        """The file is there whole or not at all; one that is there already stays."""
        disk = self.disk
        if disk is not None:
            return self._tried(lambda: put_on_disk(disk, name, content))
        if self.exists(name):
            return None
        unfinished = _unfinished(name)

        def written() -> None:
            stream = self._fs.create(self._path(unfinished), True)
            try:
                for begin in range(0, len(content), _PIECE):
                    stream.write(content[begin : begin + _PIECE])
                if stream.hasCapability("hsync"):
                    stream.hsync()
            finally:
                stream.close()

        self._tried(written)
        return self.move(unfinished, name)

    def move(self, source: str, target: str) -> None:
        def moved() -> bool:
            self._fs.mkdirs(self._path(target).getParent())
            return bool(self._fs.rename(self._path(source), self._path(target)))

        if not self._tried(moved):
            raise TryAgainError(f"{self.base}/{source} cannot be renamed to {target}.")

    def remove(self, name: str) -> None:
        """A file, or a directory with all that is in it; what is not there is no fault."""
        self._tried(lambda: self._fs.delete(self._path(name), True))

    def try_writing(self) -> bool:
        """Create a file in the directory, and delete it. Whether the directory was there; else it is deleted, too."""

        def tried() -> bool:
            there = bool(self._fs.exists(self._path("")))
            draft = self._path(f"_check-{uuid.uuid4().hex}")
            self._fs.create(draft, True).close()
            self._fs.delete(draft, False)
            if not there:
                # not what is in it: somebody may have begun to write
                self._fs.delete(self._path(""), False)
            return there

        return self._tried(tried)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.base}/{name}" if name else self.base)

    def _opened(self, context: Any) -> Any:
        found = self._path("").getFileSystem(context._jsc.hadoopConfiguration())
        if found.getScheme() != "file":
            return found
        self.disk = Path(str(self._path("").toUri().getPath()))
        # without files of checksums beside each file
        return found.getRawFileSystem()

    def _tried(self, step: Callable[[], _Found]) -> _Found:
        try:
            return step()
        except Py4JJavaError as error:
            raise TryAgainError(f"{self.base}: {error.java_exception.toString()}") from None
        except (Py4JError, OSError) as error:
            raise TryAgainError(f"{self.base}: {error}") from None


def put_on_disk(base: Path, name: str, content: bytes | pa.Buffer) -> None:
    """As `Files.put`, without Java, to which all bytes would go as text."""
    if (base / name).exists():
        return
    unfinished = base / _unfinished(name)
    for file in (unfinished, base / name):
        file.parent.mkdir(parents=True, exist_ok=True)
    unfinished.write_bytes(content)
    durable.publish(unfinished, base / name)


def _unfinished(name: str) -> str:
    return f"{UNFINISHED}/{name.replace('/', '_')}"
