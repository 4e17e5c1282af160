"""Decoded records as frames: reduced to what windows need, one frame for each bucket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from warren.common import frames
from warren.common.checkpoint import WINDOW_BUCKETS
from warren.common.group_records import GroupDeleted, GroupRecord
from warren.consumer.reduction import newer_than, reduced
from warren.kafka.batch import Decoded


def framed(
    decoded: Decoded, intervals: int, min_distance_ms: int, metadata: Mapping[str, str], records: int
) -> pa.RecordBatch:
    """A batch of rows for the stateful operator; `metadata` is that of the commits, `records` how many were read."""
    found = [
        *_commits(decoded, intervals, min_distance_ms, metadata),
        *_groups(decoded.groups, metadata["consumer"]),
    ]
    found.append((WINDOW_BUCKETS, frames.SKIPPED, _counts(decoded, records)))
    return frames.rows(found)


def _commits(
    decoded: Decoded, intervals: int, min_distance_ms: int, metadata: Mapping[str, str]
) -> Iterator[frames.Frame]:
    keys = decoded.keys
    commits = newer_than(decoded.commits, keys, decoded.groups)
    chosen = reduced(commits, intervals, min_distance_ms)
    if not len(chosen.row):
        return
    bucket = frames.bucket_of(keys.topic, keys.partition)[commits.key[chosen.row]]
    by_bucket = np.argsort(bucket, kind="stable")
    commits, bucket = commits.take(chosen.row[by_bucket]), bucket[by_bucket]
    timestamp = chosen.timestamp[by_bucket]
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    for begin, end in zip(first, np.append(first[1:], len(bucket)), strict=True):
        share = commits.take(np.arange(begin, end))
        index = pa.array(share.key)
        columns: dict[str, Any] = {
            "group": keys.group.take(index).dictionary_encode(),
            "topic": keys.topic.take(index).dictionary_encode(),
            "partition": keys.partition[share.key],
            "offset": share.offset,
            # of the slot, and of the commit itself: another where several were merged
            "timestamp": timestamp[begin:end],
            "committed_at": share.timestamp,
            "observed_at": share.observed_at,
            "order": share.order,
            "deleted": share.deleted,
        }
        yield int(bucket[begin]), frames.COMMITS, frames.pack(columns, metadata, compress=True)


def _groups(records: list[GroupRecord], consumer: str) -> Iterator[frames.Frame]:
    """Group records go to the bucket of the group's owners; deletions of groups go to every bucket of windows."""
    # bucket: its records
    shares: defaultdict[int, list[GroupRecord]] = defaultdict(list)
    for record in records:
        shares[frames.owner_bucket_of(record.group)].append(record)
    for bucket, share in shares.items():
        yield bucket, frames.GROUPS, msgspec.msgpack.encode(share)
    gone = [each for each in records if isinstance(each, GroupDeleted) and not each.converted]
    if gone:
        tombstones = frames.pack(
            {
                "group": pa.array([each.group for each in gone], pa.string()),
                "order": np.array([each.order for each in gone], dtype=np.int64),
            },
            {"consumer": consumer},
            compress=True,
        )
        for bucket in range(WINDOW_BUCKETS):
            yield bucket, frames.TOMBSTONES, tombstones


def _counts(decoded: Decoded, records: int) -> bytes:
    return msgspec.json.encode({"records": records, "denied": decoded.denied, "skipped": decoded.skipped})
