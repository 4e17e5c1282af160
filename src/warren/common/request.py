"""Delete requests of the API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """Delete a group, or one topic of it."""

    group: str
    topic: str | None = None
