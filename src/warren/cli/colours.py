"""The colours of statuses, the same in every table."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from warren.common.status import Status

_STYLES: Final = {Status.OK: "green", Status.WARN: "yellow"}


def coloured(status: Status) -> Text:
    """The status's name in its colour."""
    return Text(status.name, _STYLES.get(status, "bold red"))
