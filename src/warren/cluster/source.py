"""Spark data source `broker_offsets`: head and tail of every topic partition of a cluster, each trigger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from warren.clock import LookClock, Moment, jump_sentence, monotonic_ms, now_ms
from warren.cluster.requests import Requests
from warren.kafka.login import Property
from warren.storage.row import ROW

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class HeadsSettings:
    """How to ask one cluster; travels to the workers, secrets included, and is never printed."""

    client: Mapping[str, Property]
    topic_refresh_ms: int
    # where the API's wishes wait, see `Requests`
    requests: Path

    def __repr__(self) -> str:
        return f"HeadsSettings({self.client['bootstrap.servers']})"


class BrokerOffsets(DataSource):
    """Rows of frames; `settings` is set on a subclass per cluster, since Spark prints options."""

    settings: HeadsSettings

    @classmethod
    def name(cls) -> str:
        return "broker_offsets"

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema: Any) -> HeadsReader:  # noqa: N802 (Spark's names)
        return HeadsReader(self.settings)


@dataclass
class Look(InputPartition):
    """One look at the brokers."""

    # the moment as of which groups are judged, and the look's own by two more clocks: see `warren.clock.LookClock`
    as_of_ms: int
    steady_ms: int
    expiry_ms: int
    # what is wrong with our own clock; empty when nothing is
    clock_error: str
    # the readers know nothing yet: tell them everything
    full: bool
    # wishes of the API, as JSON
    requests: bytes | None


class HeadsReader(DataSourceStreamReader):
    """Its offset is the time, so that every trigger has something to do: the brokers are asked in the task.

    The commits of the same trigger are fixed before the tasks run, so no head is older than a commit of its batch.
    """

    def __init__(self, settings: HeadsSettings) -> None:
        self._settings = settings
        self._planned = False
        self._clock: LookClock | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        return {"at": 0, "steady": 0, "expiry": 0, "jumped": 0, "request": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802 (Spark's names)
        if self._clock is None:
            last = Moment(start["at"], start["steady"], start["expiry"]) if start["at"] else None
            self._clock = LookClock(last)
        moment = self._clock.look(now_ms(), monotonic_ms())
        # Spark takes an offset that has not changed for no news
        steady = max(moment.steady_ms, start["steady"] + 1)
        newest = Requests(self._settings.requests).newest(at_least=start["request"])
        return {
            "at": moment.wall_ms,
            "steady": steady,
            "expiry": moment.expiry_ms,
            "jumped": moment.jumped_ms,
            "request": newest,
        }

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        # the planner is new with each start of the query, and so are those who wait for its first answer
        full, self._planned = not self._planned, True
        requests = Requests(self._settings.requests).between(start["request"], end["request"])
        return [Look(end["at"], end["steady"], end["expiry"], jump_sentence(end["jumped"]), full, requests)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # tasks alone need this; Spark's planning processes load the rest of the module in half the time
        from warren.cluster.framing import framed, kept_surveyor  # noqa: PLC0415

        settings = self._settings
        surveyor = kept_surveyor(tuple(sorted(settings.client.items())), settings.topic_refresh_ms)
        yield framed(surveyor.survey(now_ms()), cast("Look", partition))

    def commit(self, end: dict[str, Any]) -> None:
        Requests(self._settings.requests).forget(end["request"])
