"""Spark data source `consumer_offsets`: the commits of a cluster, from its offsets topic through librdkafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from warren.clock import now_ms
from warren.consumer import plan
from warren.consumer.plan import LogEnds, Position, Range
from warren.kafka.brokers import EARLIEST, LATEST, Brokers, Limit, Topic, UnreachableError
from warren.kafka.login import Property
from warren.storage.row import ROW
from warren.storage.watch import GroupFilter

if TYPE_CHECKING:
    import pyarrow as pa

# how long the planner waits for the brokers before it lets the trigger go on without news
PLAN_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class OffsetsSettings:
    """How to read one offsets topic; travels to the workers, secrets included, and is never printed."""

    # the module's name
    consumer: str
    client: Mapping[str, Property]
    topic: str
    start_latest: bool
    backfill: bool
    # records that one trigger reads at most
    limit: int
    # tasks that read at the same time
    tasks: int
    # commits of one partition that a window can hold; None: any number, since near commits are merged later
    per_key: int | None
    # which groups to look at
    groups: GroupFilter

    def __repr__(self) -> str:
        return f"OffsetsSettings({self.topic})"


class ConsumerOffsets(DataSource):
    """Rows of frames; `settings` is set on a subclass per consumer module, since Spark prints options."""

    settings: OffsetsSettings

    @classmethod
    def name(cls) -> str:
        return "consumer_offsets"

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema: Any) -> OffsetsReader:  # noqa: N802 (Spark's names)
        return OffsetsReader(self.settings)


@dataclass
class Hand(InputPartition):
    """What one task reads."""

    ranges: tuple[Range, ...]
    # our clock: everything in it was written between the two
    after_ms: int
    before_ms: int


class OffsetsReader(DataSourceStreamReader):
    """Plans fixed ranges in Spark's planner process and reads them in tasks: a range read twice gives the same."""

    def __init__(self, settings: OffsetsSettings) -> None:
        self._settings = settings
        self._brokers: Brokers | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        settings = self._settings
        return plan.first_position(
            self._ends(first=True), settings.start_latest, settings.backfill
        ).to_offset()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802 (Spark's names)
        position = Position.from_offset(start)
        try:
            ends = self._ends()
        except UnreachableError as error:
            return position.without_news(str(error)).to_offset()
        return plan.advance(position, ends, self._settings.limit).to_offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first, last = Position.from_offset(start), Position.from_offset(end)
        after_ms = first.asked_ms if first.live else 0
        hands = plan.dealt(plan.ranges(first, last), self._settings.tasks)
        return [Hand(hand, after_ms, last.at_ms) for hand in hands]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # tasks alone need this; Spark's planning processes load the rest of the module in half the time
        from warren.consumer import reading  # noqa: PLC0415

        yield from reading.read(self._settings, cast("Hand", partition))

    def _ends(self, *, first: bool = False) -> LogEnds:
        """First and next offset of every partition; a partition without an answer is left for the next trigger."""
        settings = self._settings
        if self._brokers is None:
            self._brokers = Brokers(settings.client)
        limit = Limit(PLAN_TIMEOUT_S)
        asked = now_ms()
        topic = self._brokers.topic(settings.topic, limit) or Topic("", ())
        places = [(settings.topic, number) for number in topic.partitions]
        ends = self._brokers.offsets(places, LATEST, limit)
        if places and not ends:
            raise UnreachableError(
                f"No broker of {settings.client['bootstrap.servers']} gave an end of {settings.topic}"
            )
        starts = self._brokers.offsets(places, EARLIEST, limit) if first else {}
        return LogEnds(
            tuple(starts.get(place) for place in places),
            tuple(ends.get(place) for place in places),
            asked,
            now_ms(),
            topic.topic_id,
        )
