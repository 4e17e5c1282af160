"""Samples as records in a Kafka topic, each sample in a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from warren.kafka.client import client_properties
from warren.sinks.kafka_position import PositionFile
from warren.sinks.kafka_producer import SampleProducer, Target
from warren.sinks.kafka_records import records
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
    level: str
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
            sink.level,
            tuple(sorted(sink.tags.items())),
        )

    def writer(self) -> KafkaWriter:
        positions = PositionFile(Path(self.position), self.name)
        return KafkaWriter(SampleProducer(self.target, positions), dict(self.tags))


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
