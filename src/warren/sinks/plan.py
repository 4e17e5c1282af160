"""Which samples a batch of a sink's query writes: noted before it begins, so that a repeated batch is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import structlog

from warren import durable

log = structlog.get_logger("warren.sinks")

VERSION: Final = 1


class Plan(msgspec.Struct, frozen=True):
    """One batch."""

    # Spark's number of the batch
    batch: int
    # the last sample before this batch; all of them up to here are written
    done: int
    samples: tuple[int, ...]
    version: int = VERSION

    @property
    def last(self) -> int:
        """The last sample that is written when this batch is."""
        return max((self.done, *self.samples))


class PlanFile:
    """The plan that was made last."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Plan | None:
        """None when there is none, or none that can be used: the sink then begins with the oldest sample."""
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=Plan)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            log.warning("a sink's plan cannot be read", path=str(self._path), error=str(error))
            return None
        if found.version != VERSION:
            log.warning("a sink's plan is of another version", path=str(self._path), version=found.version)
            return None
        return found

    def write(self, plan: Plan) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        durable.write(self._path, msgspec.json.encode(plan))


def highest(sinks: Path) -> int:
    """The highest sample that any sink ever had in a plan, of those configured and those that were; 0: none."""
    found = [PlanFile(path).read() for path in sinks.glob("*/plan.json")]
    return max((plan.last for plan in found if plan is not None), default=0)
