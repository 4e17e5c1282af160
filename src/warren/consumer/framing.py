"""Decoded records as frames: cut to what a window can hold, and dealt to buckets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from warren.kafka.batch import Commits, Decoded, newest
from warren.kafka.groups import GroupDeleted, GroupRecord
from warren.storage import frames


def framed(
    decoded: Decoded, per_key: int | None, records: int, *, consumer: str, after_ms: int, before_ms: int
) -> pa.RecordBatch:
    """A batch of rows for the stateful operator; `consumer` is the module that reads."""
    commits = decoded.commits
    if per_key is not None:
        commits = commits.take(newest(commits, per_key))
    words = {"consumer": consumer, "after_ms": str(after_ms), "before_ms": str(before_ms)}
    found = [*_commits(decoded, commits, words), *_groups(decoded.groups)]
    found.append((frames.WINDOW_BUCKETS, frames.SKIPPED, _counts(decoded, records)))
    return frames.rows(found)


def _commits(decoded: Decoded, commits: Commits, words: dict[str, str]) -> Iterator[frames.Frame]:
    if not len(commits):
        return
    keys = decoded.keys
    bucket = frames.bucket_of(keys.topic, keys.partition)[commits.key]
    by_bucket = np.argsort(bucket, kind="stable")
    commits, bucket = commits.take(by_bucket), bucket[by_bucket]
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    for begin, end in zip(first, np.append(first[1:], len(bucket)), strict=True):
        share = commits.take(np.arange(begin, end))
        index = pa.array(share.key)
        columns: dict[str, Any] = {
            "group": keys.group.take(index).dictionary_encode(),
            "topic": keys.topic.take(index).dictionary_encode(),
            "partition": keys.partition[share.key],
            "offset": share.offset,
            "timestamp": share.timestamp,
            "committed_at": share.timestamp,
            "observed_at": share.observed_at,
            "order": share.order,
            "deleted": share.deleted,
        }
        yield int(bucket[begin]), frames.COMMITS, frames.pack(columns, words, small=True)


def _groups(records: list[GroupRecord]) -> Iterator[frames.Frame]:
    """Records about groups go to their owners' bucket; that a group is gone concerns every bucket of windows."""
    # bucket: its records
    shares: defaultdict[int, list[GroupRecord]] = defaultdict(list)
    for record in records:
        shares[frames.owner_bucket_of(record.group)].append(record)
    for bucket, share in shares.items():
        yield bucket, frames.GROUPS, msgspec.msgpack.encode(share)
    gone = [each for each in records if isinstance(each, GroupDeleted) and not each.converted]
    if gone:
        graves = frames.pack(
            {
                "group": pa.array([each.group for each in gone], pa.string()),
                "order": np.array([each.order for each in gone], dtype=np.int64),
            },
            small=True,
        )
        for bucket in range(frames.WINDOW_BUCKETS):
            yield bucket, frames.TOMBSTONES, graves


def _counts(decoded: Decoded, records: int) -> bytes:
    return msgspec.json.encode({"records": records, "denied": decoded.denied, "skipped": decoded.skipped})
