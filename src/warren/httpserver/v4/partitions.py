"""Partitions of a group in the JSON of `/v4`."""

from __future__ import annotations

from typing import Any

import msgspec

from warren.httpserver.v4 import shapes
from warren.snapshot.model import PartitionStatus, PartitionWindow


def partition_fields(part: PartitionStatus) -> dict[str, Any]:
    shown = {"status": part.status.name, "complete": round(part.complete, 6)}
    return msgspec.structs.asdict(part) | shown


def partition_window(found: PartitionWindow) -> shapes.PartitionWindow:
    return shapes.PartitionWindow(**partition_fields(found.partition), window=list(found.window))
