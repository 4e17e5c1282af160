"""What a power cut does to the checkpoint of a query: files that were not synced are there, and empty."""

from __future__ import annotations

import json
from pathlib import Path


def power_cut(checkpoint: Path) -> int:
    """Empty what is not in the list of synced files, as if the system had been started anew; how many files."""
    path = checkpoint.parent / "synced"
    listed = json.loads(path.read_text())
    path.write_text(json.dumps(listed | {"boot": "the one before"}))
    lost = [
        each
        for each in checkpoint.rglob("*")
        if each.is_file() and listed["files"].get(str(each.relative_to(checkpoint))) != each.stat().st_size
    ]
    for each in lost:
        each.write_bytes(b"")
    return len(lost)
