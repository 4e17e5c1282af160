"""What a stop or a crash left of a query's newest trigger in Spark's checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Final

# what each trigger is about to read, and that it is done: a file for each, named by its number
OFFSETS: Final = "offsets"
COMMITS: Final = "commits"


def newest(directory: Path) -> int | None:
    """The number of the newest trigger that has a file there."""
    return max((int(path.name) for path in directory.glob("[0-9]*") if path.name.isdecimal()), default=None)


def forget_unfinished(checkpoint: Path) -> None:
    """Remove the plan of a trigger that was cut off, so that it is planned afresh from where the one before it ended.

    Spark would repeat it as it was planned, before anything else: if it has records to read and the brokers are down,
    there is no snapshot until they are up. Only for the first start in a process: what still runs of a trigger that
    failed in this one may store its state later. The very first trigger stays: where reading begins is in its plan.
    """
    planned, done = newest(checkpoint / OFFSETS), newest(checkpoint / COMMITS)
    if planned is None or done is None or planned != done + 1:
        return
    # the state goes first: another one is stored under its number
    for suffix in ("zip", "changelog"):
        for path in (checkpoint / "state").glob(f"*/*/{planned + 1}.{suffix}"):
            _unlink(path)
    _unlink(checkpoint / OFFSETS / str(planned))


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
    # Hadoop's checksum of it
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
