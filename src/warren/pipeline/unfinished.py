"""What a stop, a crash or a power cut left of a query's newest trigger in Spark's checkpoint."""

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
    """Remove the newest files of triggers if they are empty or cut off: Spark does not sync them, and fails on them
    for ever. That trigger is repeated, as after a crash.

    Without its offsets a trigger is planned afresh from where the one before it ended; without its commit it is run
    again with the same offsets. In both cases the state is that of the trigger before.
    """
    newest = _newest(checkpoint)
    if newest is None:
        return
    before = checkpoint / _COMMITS / str(newest - 1)
    if _is_torn(before):
        # written a moment before the newest plan, which rests on it
        _warn(before)
        _remove(checkpoint, newest)
        _unlink(before)
        newest -= 1
    offsets, commit = (checkpoint / directory / str(newest) for directory in (_OFFSETS, _COMMITS))
    if _is_torn(offsets):
        _warn(offsets)
        # the commit too: Spark refuses one without offsets
        _remove(checkpoint, newest)
    elif _is_torn(commit):
        _warn(commit)
        _unlink(commit)


def forget_unfinished(checkpoint: Path) -> None:
    """Remove the plan of a trigger that was cut off, so that it is planned afresh from where the one before it ended.

    Spark would repeat it as it was planned, before anything else: if it has records to read and the brokers are down,
    there is no snapshot until they are up. Only for the first start in a process: what still runs of a trigger that
    failed in this one may store its state later. The very first trigger stays: where reading begins is in its plan.
    """
    newest = _newest(checkpoint)
    if newest is None or (checkpoint / _COMMITS / str(newest)).exists():
        return
    if (checkpoint / _COMMITS / str(newest - 1)).exists():
        _remove(checkpoint, newest)


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


def _remove(checkpoint: Path, trigger: int) -> None:
    """Remove all that is stored of a trigger. Its state goes first: another one is stored under its number."""
    for suffix in ("zip", "changelog"):
        for path in (checkpoint / "state").glob(f"*/*/{trigger + 1}.{suffix}"):
            _unlink(path)
    for directory in (_COMMITS, _OFFSETS):
        _unlink(checkpoint / directory / str(trigger))


def _warn(path: Path) -> None:
    log.warning("removed a file that a power cut left incomplete; its trigger is repeated", path=str(path))


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
    # Hadoop's checksum of it
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
