"""The results of a benchmark: figures with their targets, and the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Better(StrEnum):
    """Whether lower or higher values are better."""

    LOWER = "at most"
    HIGHER = "at least"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number; without a target it is for information only."""

    name: str
    value: float
    unit: str = ""
    target: float | None = None
    better: Better = Better.LOWER

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without a target."""
        if self.target is None:
            return None
        return self.value <= self.target if self.better is Better.LOWER else self.value >= self.target

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "target": self.target,
            "better": self.better.value if self.target is not None else None,
            "reached": self.reached,
        }


@dataclass(frozen=True)
class Report:
    """All results of one benchmark."""

    name: str
    began: datetime
    # the parameters: commits, groups, seconds and the like
    sizes: Mapping[str, Any]
    figures: Sequence[Figure]
    machine: Mapping[str, Any]
    # the raw data of the figures
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether no target was missed."""
        return all(figure.reached is not False for figure in self.figures)

    @property
    def stem(self) -> str:
        """The name of its files, without the extension."""
        return f"{self.name}-{self.began:%Y%m%dT%H%M%SZ}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "began": self.began.isoformat(),
            "sizes": dict(self.sizes),
            "figures": [figure.to_dict() for figure in self.figures],
            "machine": dict(self.machine),
            "detail": dict(self.detail),
        }

    def save(self, directory: Path) -> Path:
        """Write it as JSON; returns the path."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.stem}.json"
        path.write_text(json.dumps(self.to_dict(), indent=2) + "\n")
        return path


def percentiles(values: Sequence[float] | NDArray[Any], *wanted: int) -> dict[str, float]:
    """p50, p99 and the like, with the number of values and the greatest; empty when there are none."""
    if not len(values):
        return {}
    found = np.percentile(np.asarray(values, dtype=np.float64), wanted)
    named = {f"p{rank}": round(float(value), 3) for rank, value in zip(wanted, found, strict=True)}
    return {"count": len(values), **named, "max": round(float(np.max(values)), 3)}
