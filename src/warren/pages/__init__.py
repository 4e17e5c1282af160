"""The web pages as files: HTML, style sheets and modules that a browser takes as they are. Nothing is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

# ending of a file's name: what it is; other files are not for browsers
TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def read() -> dict[str, bytes]:
    """Path below this directory: content."""
    return dict(sorted(_read(files(__name__), "")))


def _read(directory: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for each in directory.iterdir():
        if each.is_dir():
            yield from _read(each, f"{path}{each.name}/")
        elif each.name.rpartition(".")[2] in TYPES:
            yield path + each.name, each.read_bytes()
