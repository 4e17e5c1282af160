"""Files that survive a power cut: on the disk before they have their name, and there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a file, or replace it."""
    draft = path.with_name(f"{path.name}.draft")
    draft.write_bytes(content)
    publish(draft, path)


def publish(draft: Path, path: Path) -> None:
    """Give a complete file its name."""
    sync(draft)
    draft.rename(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the file or directory is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
