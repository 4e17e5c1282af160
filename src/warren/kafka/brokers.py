"""Questions to the brokers with a time limit: which partitions there are, where they begin and end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from typing import Any, Final

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from warren.errors import WarrenError
from warren.kafka.login import Property, with_login

EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]

# topic partition: its offset; one that nobody could answer for is not in it
Offsets = dict[tuple[str, int], int]


class UnreachableError(WarrenError):
    """A Kafka cluster that does not answer."""


class Brokers:
    """One admin client, kept open, and the few questions that Warren asks with it."""

    def __init__(self, properties: Mapping[str, Property], timeout_s: float) -> None:
        quiet = {"log_level": 2, "reconnect.backoff.max.ms": 2000}
        self._client = AdminClient(with_login(properties) | quiet, logger=SILENT)
        self._servers = properties["bootstrap.servers"]
        self._timeout_s = timeout_s

    def partitions(self, topic: str | None = None) -> dict[str, list[int]]:
        """Topic: its partitions, of one topic or of all; a topic that is not there is not in it."""
        try:
            found = self._client.list_topics(topic, timeout=self._timeout_s)
        except KafkaException as error:
            raise UnreachableError(
                f"Kafka at {self._servers} does not answer ({error.args[0].str()}): is it up, and is the address right?"
            ) from error
        return {
            name: sorted(metadata.partitions)
            for name, metadata in found.topics.items()
            if metadata.partitions
        }

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Topic: its id, where the brokers have ids."""
        names = list(topics)
        if not names:
            return {}
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=self._timeout_s)
        return {name: str(description.topic_id) for name, description in self._answers(asked).items()}

    def offsets(self, asked: Iterable[tuple[str, int]], spec: OffsetSpec) -> Offsets:
        """Where these topic partitions begin or end."""
        request = {TopicPartition(topic, partition): spec for topic, partition in asked}
        if not request:
            return {}
        answers = self._client.list_offsets(request, request_timeout=self._timeout_s)
        return {
            (place.topic, place.partition): answer.offset for place, answer in self._answers(answers).items()
        }

    def _answers(self, futures: Mapping[Any, Any]) -> dict[Any, Any]:
        """What came in time and is no error."""
        done, _ = wait(futures.values(), timeout=self._timeout_s + 1)
        return {
            key: future.result()
            for key, future in futures.items()
            if future in done and future.exception() is None
        }


class _Silent:
    """A logger that takes librdkafka's lines and says nothing: our own words tell what is wrong."""

    def log(self, *_: object) -> None: ...


SILENT: Final = _Silent()


def now_ms() -> int:
    """Our clock."""
    return time.time_ns() // 1_000_000
