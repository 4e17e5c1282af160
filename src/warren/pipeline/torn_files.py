"""Files of Spark's that a power cut left empty or cut off. Spark does not sync them, and fails on them for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger("warren.pipeline")

# what a trigger is about to read, and that it is done
_OFFSETS: Final = "offsets"
_COMMITS: Final = "commits"


def remove_torn_files(checkpoint: Path) -> None:
    """Remove the newest trigger's files if they cannot be read: that trigger is repeated, as after a crash.

    Without its offsets a trigger is planned afresh from where the one before it ended; without its commit it is run
    again with the same offsets. In both cases the state is that of the trigger before.
    """
    newest = _newest(checkpoint)
    if newest is None:
        return
    offsets, commit = (checkpoint / directory / str(newest) for directory in (_OFFSETS, _COMMITS))
    if _is_torn(offsets):
        # the commit too: Spark refuses one without offsets
        _remove(offsets, commit)
    elif _is_torn(commit):
        _remove(commit)


def _newest(checkpoint: Path) -> int | None:
    numbers = [
        int(path.name)
        for directory in (_OFFSETS, _COMMITS)
        for path in (checkpoint / directory).glob("[0-9]*")
        if path.name.isdigit()
    ]
    return max(numbers, default=None)


def _is_torn(path: Path) -> bool:
    """Spark's form: a version such as `v1`, then lines of JSON."""
    try:
        version, *lines = path.read_text().splitlines() or [""]
        for line in lines:
            json.loads(line)
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return not version.startswith("v") or not lines


def _remove(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            log.warning(
                "removed a file that a power cut left incomplete; its trigger is repeated", path=str(path)
            )
        path.unlink(missing_ok=True)
        # Hadoop's checksum of it
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
