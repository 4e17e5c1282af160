"""Samples as records in a Kafka topic, each sample in a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from warren.kafka.client import client_properties
from warren.sinks.changelog import Changelog
from warren.sinks.changes import changed
from warren.sinks.kafka_position import PositionFile
from warren.sinks.kafka_producer import SampleProducer
from warren.sinks.kafka_records import records
from warren.sinks.kafka_target import Target
from warren.sinks.writer import Batch, PlainKind, Written

if TYPE_CHECKING:
    from warren.config import Settings
    from warren.config.modules import KafkaSink


@dataclass(frozen=True)
class KafkaKind(PlainKind):
    """What a process needs to write."""

    name: str
    target: Target
    position: str
    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sink: KafkaSink, settings: Settings) -> KafkaKind:
        name = next((name for name, each in settings.sink.items() if each is sink), "kafka")
        directory = (
            Path(settings.spark.checkpoint_dir).absolute() / "sinks" / "queries" / quote(name, safe=" ")
        )
        return cls(
            name,
            Target(
                client_properties(settings, sink.client_profile, sink.servers),
                sink.topic,
                sink.timeout,
                sink.compression,
                sink.batch_size,
                sink.transactions,
                sink.create_topic,
                compacted=sink.level == "changes",
            ),
            str(directory / "kafka.json"),
            tuple(sorted(sink.tags.items())),
        )

    def tables(self) -> Sequence[str]:
        return (*super().tables(), "reasons") if self.target.compacted else super().tables()

    def writer(self) -> KafkaWriter | ChangesWriter:
        producer = SampleProducer(self.target, PositionFile(Path(self.position), self.name))
        if self.target.compacted:
            return ChangesWriter(producer, Changelog(self.target), dict(self.tags))
        return KafkaWriter(producer, dict(self.tags))


class KafkaWriter:
    """A record for every row of a sample, and all of them in one transaction."""

    def __init__(self, producer: SampleProducer, tags: dict[str, str]) -> None:
        self._producer = producer
        self._tags = tags

    def write(self, batch: Batch) -> Written:
        rows = batch.tables.rows
        if not rows or not self._producer.begin(batch.number, batch.time_ms):
            return Written(rows)
        sent = self._producer.send(
            batch.number, batch.time_ms, records(batch.tables, batch.number, self._tags)
        )
        return Written(sent.rows, sent.rejected, sent.reason)


class ChangesWriter:
    """A record for every verdict that is not what the topic says it was."""

    def __init__(self, producer: SampleProducer, changelog: Changelog, tags: dict[str, str]) -> None:
        self._producer = producer
        self._changelog = changelog
        self._tags = tags
        # the producer with which the changelog was read; 0: it has to be read
        self._read_with = 0

    def write(self, batch: Batch) -> Written:
        if not self._producer.begin(batch.number, batch.time_ms):
            self._read_with = 0
            return Written(0)
        if not self._producer.alone or self._read_with != self._producer.starts:
            self._changelog.catch_up()
            self._read_with = self._producer.starts
        found, after = changed(batch.tables, self._changelog.state, batch.number, self._tags)
        if not found:
            return Written(0)
        # until it is written, nobody knows
        self._read_with = 0
        sent = self._producer.send(batch.number, batch.time_ms, found)
        self._changelog.state = after
        self._read_with = self._producer.starts
        return Written(sent.rows, sent.rejected, sent.reason)
