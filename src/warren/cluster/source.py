"""Spark data source `broker_offsets`: head and tail of every topic partition of a cluster, each trigger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from warren.cluster.requests import Requests
from warren.cluster.survey import Survey, Surveyor
from warren.kafka.brokers import Brokers, now_ms
from warren.kafka.login import Property
from warren.storage import frames

# nothing that the brokers do, or do not, holds a trigger up for longer than this
SURVEY_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class HeadsSettings:
    """How to ask one cluster; travels to the workers, secrets included, and is never printed."""

    client: Mapping[str, Property]
    topic_refresh_ms: int
    # between two samples that rule 3 looks at
    offset_refresh_ms: int
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
        return frames.ROW

    def streamReader(self, schema: Any) -> HeadsReader:  # noqa: N802 (Spark's names)
        return HeadsReader(self.settings)


@dataclass
class Look(InputPartition):
    """One look at the brokers."""

    # it is time for a sample that is kept
    sample: bool
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

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        return {"at": 0, "sampled": 0, "request": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802 (Spark's names)
        at = max(now_ms(), start["at"] + 1)
        due = at - start["sampled"] >= self._settings.offset_refresh_ms
        newest = Requests(self._settings.requests).newest(at_least=start["request"])
        return {"at": at, "sampled": at if due else start["sampled"], "request": newest}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        # the planner is new with each start of the query, and so are those who wait for its first answer
        full, self._planned = not self._planned, True
        requests = Requests(self._settings.requests).between(start["request"], end["request"])
        return [Look(end["sampled"] != start["sampled"], full, requests)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        settings = self._settings
        surveyor = kept_surveyor(tuple(sorted(settings.client.items())), settings.topic_refresh_ms)
        yield framed(surveyor.survey(now_ms()), cast("Look", partition))

    def commit(self, end: dict[str, Any]) -> None:
        Requests(self._settings.requests).forget(end["request"])


@lru_cache(maxsize=8)
def kept_surveyor(client: tuple[tuple[str, Property], ...], topic_refresh_ms: int) -> Surveyor:
    """The surveyor of a cluster, kept between triggers in the worker process that Spark reuses."""
    return Surveyor(Brokers(dict(client)), topic_refresh_ms, SURVEY_TIMEOUT_S)


def framed(survey: Survey, look: Look) -> pa.RecordBatch:
    """The survey as rows, one for each bucket: a bucket with no topic partition must know that, too."""
    words = {
        "at_ms": str(survey.at_ms),
        "complete": str(int(survey.complete)),
        "sample": str(int(look.sample)),
        "full": str(int(look.full)),
    }
    bucket = frames.bucket_of(survey.topic, survey.partition)
    columns = {
        "topic": survey.topic,
        "partition": survey.partition,
        "topic_id": survey.topic_id,
        "head": survey.head,
        "tail": survey.tail,
    }
    batch = pa.record_batch(columns)
    kinds, buckets, payloads = [], [], []
    everywhere = range(frames.WINDOW_BUCKETS + frames.OWNER_BUCKETS)
    for number in everywhere:
        share = batch.take(pa.array(np.flatnonzero(bucket == number)))
        # what is wrong is said once
        said = words | ({"error": survey.error} if number == frames.WINDOW_BUCKETS else {})
        buckets.append(number)
        kinds.append(frames.HEADS)
        payloads.append(frames.pack(dict(zip(share.schema.names, share.columns, strict=True)), said))
    if look.requests is not None:
        buckets += everywhere
        kinds += [frames.REQUESTS] * len(everywhere)
        payloads += [look.requests] * len(everywhere)
    return pa.record_batch(
        {
            "bucket": pa.array(buckets, pa.int32()),
            "kind": pa.array(kinds, pa.string()),
            "payload": pa.array(payloads, pa.binary()),
        }
    )
