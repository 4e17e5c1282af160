"""Polled commits as frames; runs in tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from warren.common import frames
from warren.common.checkpoint import OWNER_BUCKETS, WINDOW_BUCKETS
from warren.common.group_records import GroupRecord, PolledMember, PolledOwners
from warren.consumer.commit_frames import framed
from warren.consumer.polling import label
from warren.kafka.batch import CommitKeys, Commits, Decoded

if TYPE_CHECKING:
    from warren.common.owner import Holder
    from warren.consumer.polling import Owners, PolledSettings, PollTask


def read(settings: PolledSettings, task: PollTask) -> pa.RecordBatch:
    """What a trigger has taken from one poller: reduced, and split by bucket."""
    poll, name = task.poll, label(settings)
    keys = {commit[:3]: None for commit in poll.commits}
    index = {key: number for number, key in enumerate(keys)}
    groups, topics, partitions = zip(*keys, strict=True) if keys else ((), (), ())
    count = len(poll.commits)
    commits = Commits(
        np.array([index[commit[:3]] for commit in poll.commits], dtype=np.int32),
        _ints([commit.offset or 0 for commit in poll.commits]),
        _ints([commit.timestamp_ms for commit in poll.commits]),
        np.arange(task.order + 1, task.order + 1 + count),
        _ints([commit.found_ms for commit in poll.commits]),
        np.array([commit.offset is None for commit in poll.commits], dtype=np.bool_),
    )
    decoded = Decoded(
        commits,
        CommitKeys(
            pa.array(groups, pa.string()),
            pa.array(topics, pa.string()),
            np.array(partitions, dtype=np.int32),
        ),
        list(_owner_records(poll.owners, name, task.order)),
        dict(poll.skipped),
        poll.denied,
    )
    metadata = {
        "after_ms": str(task.after_ms),
        "before_ms": str(task.before_ms),
        "consumer": name,
        "polled": "timed" if settings.timed else "untimed",
    }
    batch = framed(decoded, settings.intervals, settings.min_distance_ms, metadata, count)
    listed = [
        *(_listed(decoded.keys, name) if poll.complete else ()),
        *(_with_owners(poll.owners.keys() | poll.owners_unseen, name) if poll.first else ()),
    ]
    return pa.concat_batches([batch, frames.rows(listed)]) if listed else batch


def _listed(keys: CommitKeys, consumer: str) -> Iterator[frames.Frame]:
    """All keys that a consumer has, for every bucket of windows."""
    bucket = frames.bucket_of(keys.topic, keys.partition)
    for number in range(WINDOW_BUCKETS):
        rows = pa.array(np.flatnonzero(bucket == number))
        columns = {
            "group": keys.group.take(rows),
            "topic": keys.topic.take(rows),
            "partition": pa.array(keys.partition).take(rows),
        }
        yield number, frames.LISTED, frames.pack(columns, {"consumer": consumer}, compress=True)


def _with_owners(groups: Collection[str], consumer: str) -> Iterator[frames.Frame]:
    """All groups that have owners by a consumer, for every bucket of owners.

    Also when the poll is not complete: an owner that was only hidden is found again, unlike a window.
    """
    for number in range(WINDOW_BUCKETS, WINDOW_BUCKETS + OWNER_BUCKETS):
        group = [each for each in groups if frames.owner_bucket_of(each) == number]
        yield (
            number,
            frames.LISTED,
            frames.pack({"group": pa.array(group, pa.string())}, {"consumer": consumer}),
        )


def _owner_records(owners: Mapping[str, Owners], consumer: str, order: int) -> Iterator[GroupRecord]:
    for group, held in owners.items():
        # holder: topic: partitions
        shares: defaultdict[Holder, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for (topic, partition), holder in held.items():
            shares[holder][topic].append(partition)
        members = (
            PolledMember(*holder, {topic: tuple(sorted(partitions)) for topic, partitions in topics.items()})
            for holder, topics in shares.items()
        )
        yield PolledOwners(group, order, consumer, tuple(members))


def _ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)
