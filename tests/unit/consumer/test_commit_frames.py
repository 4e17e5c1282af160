"""Decoded records as frames: cut to what a window holds, each share in the bucket of its topic partition."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from tests.integration.pipeline.hands import Record, commit, commit_key, group_tombstone

from warren.common import frames
from warren.common.checkpoint import WINDOW_BUCKETS
from warren.common.group_records import GroupDeleted, GroupRecord
from warren.consumer.commit_frames import framed
from warren.kafka import messages
from warren.kafka.batch import RawRecords, decode
from warren.kafka.codec import encode
from warren.storage.bucket import CommitsSeen

OBSERVED = 1_700_000_000_000


def frames_of(records: list[Record], intervals: int = 3, **accept: Any) -> dict[tuple[int, str], list[bytes]]:
    """(bucket, kind): payloads."""
    raw = RawRecords(
        pa.array([key for key, _ in records], pa.binary()),
        pa.array([value for _, value in records], pa.binary()),
        np.arange(len(records)),
        OBSERVED,
    )
    decoded = decode(raw, accept.get("accepts", lambda _: True))
    batch = framed(
        decoded, intervals, 0, {"after_ms": "5", "before_ms": "9", "consumer": "mine"}, len(records)
    )
    assert batch.schema.names == ["bucket", "kind", "payload"]
    found: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    for row in batch.to_pylist():
        found[row["bucket"], row["kind"]].append(row["payload"])
    return found


def commits(found: dict[tuple[int, str], list[bytes]]) -> list[tuple[int, str, str, int, int, bool]]:
    """Bucket, group, topic, partition, offset, deleted of every commit, in its order."""
    rows = []
    for (bucket, kind), payloads in found.items():
        for payload in payloads if kind == frames.COMMITS else []:
            seen = CommitsSeen.read(payload)
            assert (seen.after_ms, seen.before_ms) == (5, 9)
            assert set(seen.observed_at.tolist()) == {OBSERVED}
            columns = (
                seen.order.tolist(),
                seen.group.to_pylist(),
                seen.topic.to_pylist(),
                seen.partition.tolist(),
                seen.offset.tolist(),
                seen.deleted.tolist(),
            )
            rows += [(order, (bucket, *rest)) for order, *rest in zip(*columns, strict=True)]
    return [row for _, row in sorted(rows)]


def bucket_of(topic: str, partition: int) -> int:
    return int(frames.bucket_of(pa.array([topic]), np.array([partition]))[0])


def test_commits_go_to_the_bucket_of_their_topic_partition() -> None:
    found = frames_of([commit(group, topic, 7, partition=2) for group in "ab" for topic in ("t", "u")])
    assert commits(found) == [
        (bucket_of(topic, 2), group, topic, 2, 7, False) for group in "ab" for topic in ("t", "u")
    ]


@pytest.mark.parametrize(("intervals", "kept"), [(3, [7, 8, 9]), (1, [9])])
def test_a_batch_is_cut_to_what_a_window_can_hold(intervals: int, kept: list[int]) -> None:
    found = frames_of([commit("g", "t", offset) for offset in range(10)], intervals)
    assert [row[4] for row in commits(found)] == kept


def test_a_deleted_commit_goes_along_and_makes_older_ones_superfluous() -> None:
    found = frames_of([commit("g", "t", 1), (commit_key("g", "t"), None), commit("g", "t", 2)])
    assert [row[4:] for row in commits(found)] == [(0, True), (2, False)]


def test_that_a_group_is_gone_concerns_every_bucket_of_windows_and_its_owners() -> None:
    found = frames_of([commit("g", "t", 1), group_tombstone("g")])
    told = {bucket for bucket, kind in found if kind == frames.TOMBSTONES}
    assert told == set(range(WINDOW_BUCKETS))
    (grave,) = found[0, frames.TOMBSTONES]
    assert frames.unpack(grave).to_pydict() == {"group": ["g"], "order": [1]}
    (payload,) = found[frames.owner_bucket_of("g"), frames.GROUPS]
    assert msgspec.msgpack.decode(payload, type=list[GroupRecord]) == [GroupDeleted("g", 1, "classic")]


def test_a_group_that_changes_its_protocol_keeps_its_windows() -> None:
    living = encode(messages.CONSUMER_GROUP_KEY, 3, {"group": "g"})
    value = encode(messages.CONSUMER_GROUP_VALUE, 0, {"epoch": 1})
    found = frames_of([commit("g", "t", 1), group_tombstone("g"), (living, value)])
    assert not [kind for _, kind in found if kind == frames.TOMBSTONES]


def test_what_was_read_is_counted_even_when_nothing_is_left_of_it() -> None:
    found = frames_of([(b"", b""), commit("denied", "t", 1)], accepts=lambda group: group != "denied")
    assert list(found) == [(WINDOW_BUCKETS, frames.SKIPPED)]
    ((counted,),) = found.values()
    assert json.loads(counted) == {"records": 2, "denied": 1, "skipped": {"truncated key": 1}}
