"""Head and tail of every topic partition of a cluster, each trigger: how a look at the brokers is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warren.clock import LookClock, Moment, jump_sentence, monotonic_ms, now_ms
from warren.cluster.missing import MissingPlaces, Place
from warren.cluster.requests import Requests
from warren.kafka.login import Property


@dataclass(frozen=True, slots=True)
class HeadsSettings:
    """How to ask one cluster; travels to the workers, secrets included, and is never printed."""

    client: Mapping[str, Property]
    topic_refresh_ms: int
    # where the API's wishes wait, see `Requests`
    requests: Path

    def __repr__(self) -> str:
        return f"HeadsSettings({self.client['bootstrap.servers']})"


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the brokers."""

    # groups are judged as of this moment: everything that was committed before it has been read. 0: there is none yet
    as_of_ms: int
    # the look's own moment by two more clocks: see `warren.clock.LookClock`
    steady_ms: int
    expiry_ms: int
    # what is wrong with our own clock; empty when nothing is
    clock_error: str
    # the readers know nothing yet: tell them everything
    full: bool
    # wishes of the API, as JSON
    requests: bytes | None
    # with this trigger everything has been read that was there when this process looked first
    caught_up: bool = False
    # the brokers that have the commits did not answer
    blind: bool = False
    # topic partitions that the lists of topics lack, to be asked for
    missing: tuple[Place, ...] = ()
    # what is wrong with the consumer modules, and how many records are still to be read after this trigger
    error: str = ""
    left: int = 0


class LookPlanner:
    """Plans looks; the brokers are asked in the task.

    The commits of the same trigger are fixed before the tasks run, so no head is older than a commit of its batch.
    """

    def __init__(self, settings: HeadsSettings) -> None:
        self._settings = settings
        self._requests = Requests(settings.requests)
        self._missing = MissingPlaces(settings.requests)
        self._clock: LookClock | None = None
        self._looked = False

    def first(self) -> dict[str, Any]:
        """The offset before the first look."""
        return {"number": 0, "at": 0, "steady": 0, "expiry": 0, "jumped": 0, "request": 0}

    def advanced(self, start: Mapping[str, Any]) -> dict[str, Any]:
        """The offset after the next look: another one each time, so that every trigger has something to do."""
        if self._clock is None:
            last = Moment(start["at"], start["steady"], start["expiry"]) if start["at"] else None
            self._clock = LookClock(last)
        moment = self._clock.look(now_ms(), monotonic_ms())
        newest = self._requests.newest(at_least=start["request"])
        return {
            "number": start["number"] + 1,
            "at": moment.wall_ms,
            "steady": moment.steady_ms,
            "expiry": moment.expiry_ms,
            "jumped": moment.jumped_ms,
            "request": newest,
        }

    def look(self, start: Mapping[str, Any], end: Mapping[str, Any], as_of_ms: int, **consumers: Any) -> Look:
        """The look between two offsets; what else it carries is said by those who plan the commits."""
        # the planner is new with each start of the query, and so are those who wait for its first answer
        full, self._looked = not self._looked, True
        return Look(
            as_of_ms,
            end["steady"],
            end["expiry"],
            jump_sentence(end["jumped"]),
            full,
            self._requests.between(start["request"], end["request"]),
            missing=self._missing.asked(),
            **consumers,
        )

    def done(self, end: Mapping[str, Any]) -> None:
        """The look has been carried out, and the requests with it."""
        self._requests.forget(end["request"])
