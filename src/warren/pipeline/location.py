"""Where a checkpoint was made. Spark stores that path in it and fails, again and again, when it is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from warren import durable
from warren.errors import WarrenError

# beside the query's directory
_FILE: Final = "location"


class CheckpointMovedError(WarrenError):
    """The checkpoint was moved, or is mounted at another path."""


def check_location(checkpoint: Path) -> None:
    """Refuse a checkpoint that was moved; remember the path of any other."""
    file = checkpoint.parent / _FILE
    try:
        made_at = file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        made_at = ""
    # a link at the old path, or a copy whose original is still there, does for Spark
    if made_at and made_at != str(checkpoint) and not Path(made_at).exists():
        raise CheckpointMovedError(
            f"The checkpoint {checkpoint} was made at {made_at}, and Spark finds its files only there: move or mount "
            f"it there again, or remove {checkpoint.parent} to begin afresh."
        )
    if not made_at:
        file.parent.mkdir(parents=True, exist_ok=True)
        durable.write(file, f"{checkpoint}\n".encode())
