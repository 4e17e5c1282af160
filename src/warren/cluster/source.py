"""Plans the poll of heads and tails of a cluster in each trigger; the code calls one poll a look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warren.clock import LookClock, Moment, jump_message, monotonic_ms, now_ms
from warren.cluster.missing_partitions import MissingPartitions, TopicPartition
from warren.cluster.requests import Requests
from warren.common.look import PolledMoment
from warren.kafka.login import Property


@dataclass(frozen=True, slots=True)
class HeadsSettings:
    """How to poll one cluster; is sent to the workers, secrets included, and never printed."""

    client: Mapping[str, Property]
    topic_refresh_ms: int
    # directory of the API's delete requests, see `Requests`
    requests: Path

    def __repr__(self) -> str:
        return f"HeadsSettings({self.client['bootstrap.servers']})"


@dataclass(frozen=True, slots=True)
class Look:
    """One poll of the brokers."""

    # groups are evaluated as of this moment: everything committed before it has been read. 0: there is none yet
    as_of_ms: int
    # the look's own moment by two more clocks: see `warren.clock.LookClock`
    steady_ms: int
    expiry_ms: int
    # error of our own clock; empty: none
    clock_error: str
    # report everything: the driver has no windows yet
    full: bool
    # delete requests of the API, as JSON
    requests: bytes | None
    # with this trigger everything has been read up to the first end offsets that this process got
    caught_up: bool = False
    # the brokers of the offsets topic did not respond
    blind: bool = False
    # partitions of an offsets topic have no leader: `as_of_ms` stays, though heads are polled
    partly_blind: bool = False
    # there are polled consumers only, and none of them has an answer
    unanswered: bool = False
    # polled consumers, by their label
    polled: dict[str, PolledMoment] = field(default_factory=dict)
    # topic partitions that the lists of topics lack, to be checked
    missing: tuple[TopicPartition, ...] = ()
    # errors of the consumer modules, and the records still to be read after this trigger
    error: str = ""
    left: int = 0


class LookPlanner:
    """Plans polls; the brokers are polled in the task.

    The commits of the same trigger are fixed before the tasks run, so no head is older than a commit of its batch.
    """

    def __init__(self, settings: HeadsSettings) -> None:
        self._settings = settings
        self._requests = Requests(settings.requests)
        self._missing = MissingPartitions(settings.requests)
        self._clock: LookClock | None = None
        self._looked = False

    def first(self) -> dict[str, Any]:
        """The offset before the first poll."""
        return {"number": 0, "at": 0, "steady": 0, "expiry": 0, "jumped": 0, "request": 0}

    def advanced(self, start: Mapping[str, Any]) -> dict[str, Any]:
        """The offset after the next poll: a new one each time, so that Spark runs every trigger."""
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
        """The poll between two offsets; `consumers` are the fields from the planners of commits."""
        # the planner is created with each start of the query, and its first poll is a full one
        full, self._looked = not self._looked, True
        return Look(
            as_of_ms,
            end["steady"],
            end["expiry"],
            jump_message(end["jumped"]),
            full,
            self._requests.between(start["request"], end["request"]),
            missing=self._missing.read(),
            **consumers,
        )
