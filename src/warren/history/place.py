"""Where the history is: the path of a parquet sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warren.config.modules import ParquetSink
from warren.errors import WarrenError
from warren.spelling import did_you_mean

if TYPE_CHECKING:
    from warren.config import Settings


class PlaceError(WarrenError):
    """The configuration does not say which history is meant."""

    exit_code = 2


def place(settings: Settings, sink: str | None) -> str:
    """The path of the sink, which need not be named where there is only one."""
    found = {name: each.path for name, each in settings.sink.items() if isinstance(each, ParquetSink)}
    if not found:
        raise PlaceError(
            "The configuration has no sink of class parquet, so there is no history: add one "
            "(docs/history.md), or say where a history is with --path."
        )
    if sink is not None:
        if sink not in found:
            raise PlaceError(
                f"There is no parquet sink {sink} in the configuration: "
                + did_you_mean(sink, found, f"there are: {', '.join(found)}.")
            )
        return found[sink]
    if len(found) > 1:
        raise PlaceError(
            f"There are several parquet sinks ({', '.join(found)}): say with --sink which one is meant."
        )
    return next(iter(found.values()))
