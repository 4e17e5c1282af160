"""Polled heads as frames; runs in tasks."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from warren.cluster.survey import Survey, Surveyor
from warren.common import frames
from warren.common.checkpoint import OWNER_BUCKETS, WINDOW_BUCKETS
from warren.common.look import LookTaken
from warren.kafka.brokers import Brokers

if TYPE_CHECKING:
    from warren.cluster.source import Look
    from warren.kafka.login import Property

# time limit of a poll, so that a trigger never waits longer for the brokers
SURVEY_TIMEOUT_S: Final = 5.0
# topics that an error message names
_NAMED: Final = 5


@cache
def cached_surveyor(client: tuple[tuple[str, Property], ...], topic_refresh_ms: int) -> Surveyor:
    """The surveyor of a cluster, kept between triggers in the worker process that Spark reuses.

    Bounded: settings do not change while Spark runs.
    """
    return Surveyor(Brokers(dict(client)), topic_refresh_ms, SURVEY_TIMEOUT_S)


def framed(survey: Survey, look: Look) -> pa.RecordBatch:
    """The survey as rows, one for each bucket, also for those without topic partitions."""
    metadata = {
        "at_ms": str(survey.at_ms),
        "steady_ms": str(look.steady_ms),
        "expiry_ms": str(look.expiry_ms),
        "complete": str(int(survey.complete)),
        "gone": json.dumps(survey.gone),
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
    everywhere = range(WINDOW_BUCKETS + OWNER_BUCKETS)
    found: list[frames.Frame] = []
    # a failed poll is not sent to buckets, unless they report everything
    for number in everywhere if look.full or not look.blind else ():
        share = batch.take(pa.array(np.flatnonzero(bucket == number)))
        payload = frames.pack(dict(zip(share.schema.names, share.columns, strict=True)), metadata)
        found.append((number, frames.HEADS, payload))
    # the result of the poll as a whole is sent once
    found.append((WINDOW_BUCKETS, frames.LOOK, msgspec.json.encode(_taken(survey, look))))
    if look.requests is not None:
        found += [(number, frames.REQUESTS, look.requests) for number in everywhere]
    return frames.rows(found)


def _taken(survey: Survey, look: Look) -> LookTaken:
    errors = [error for error in (look.clock_error, look.error, survey.error, _not_seen(survey)) if error]
    return LookTaken(
        look.as_of_ms,
        "; ".join(errors),
        caught_up=look.caught_up and not survey.error,
        blind=look.blind or look.unanswered or bool(survey.error) or bool(look.clock_error),
        partly_blind=look.partly_blind,
        left=look.left,
        polled=look.polled,
    )


def _not_seen(survey: Survey) -> str:
    """The error message for topics that the lists lack, though the brokers do not report that they do not exist."""
    if not survey.hidden:
        return ""
    some = ", ".join(survey.hidden[:_NAMED])
    more = f" and {len(survey.hidden) - _NAMED} more" if len(survey.hidden) > _NAMED else ""
    return (
        f"The brokers do not list topics that groups have committed on: {some}{more}. What is known of them is kept. "
        f"If Warren is not allowed to see them, {survey.remedy}"
    )
