"""The stateful operator: a thin layer that keeps buckets in Spark's state store; the pure core changes them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from warren.common import frames
from warren.common.checkpoint import WINDOW_BUCKETS
from warren.common.group_filter import Watched
from warren.common.group_records import GroupRecord
from warren.common.request import Request
from warren.memory import release_memory
from warren.storage import bucket as core
from warren.storage import heads
from warren.storage.bucket import Bucket, CommitsSeen, GroupTombstones, HeadsSeen, Listed, WindowSettings
from warren.storage.journal import Journal

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# the frames of one bucket in one trigger: kind: payloads
Frames = dict[str, list[bytes]]

# frames that are passed to the driver unchanged
_PASSED_ON: Final = (frames.LOOK, frames.SKIPPED)


class WindowOperator(StatefulProcessor):
    """Called by Spark once per bucket in every trigger: polled heads go to every bucket."""

    def __init__(self, settings: WindowSettings, watched: Watched, scratch: str) -> None:
        """`scratch` names this machine's copies of the buckets; no other operator may have the same."""
        self._settings = settings
        self._watched = watched
        self._scratch = scratch

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._journal = Journal(handle, self._scratch)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 (Spark's names)
        (number,) = key
        incoming: Frames = defaultdict(list)
        for row in rows:
            incoming[row.kind].append(row.payload)
        changes = self._owners(incoming) if number >= WINDOW_BUCKETS else self._windows(number, incoming)
        passed = ((kind, payload) for kind in _PASSED_ON for payload in incoming[kind])
        for kind, payload in (*passed, *changes):
            yield Row(bucket=number, kind=kind, payload=payload)

    def close(self) -> None:
        """Called after a task's last bucket."""
        release_memory()

    def _windows(self, number: int, incoming: Frames) -> Iterator[tuple[str, bytes]]:
        full = _is_full(incoming)
        bucket = self._journal.load(number, self._settings)
        was_vacant = bucket.vacant
        if full:
            bucket.drop_unwatched(self._watched)
        apply_frames(bucket, incoming)
        if was_vacant and bucket.vacant:
            # most buckets of a small cluster are empty
            if bucket.unlisted:
                yield frames.SAMPLES, _samples(bucket)
            return
        changes = self._journal.store(number, bucket)
        yield frames.SAMPLES, _samples(bucket)
        if full:
            changes = core.changes(bucket, full=True)
        if changes is not None:
            yield frames.WINDOWS, changes

    def _owners(self, incoming: Frames) -> Iterator[tuple[str, bytes]]:
        full = _is_full(incoming)
        if not full and not any(incoming[kind] for kind in (frames.LISTED, frames.GROUPS, frames.REQUESTS)):
            return
        ownership = self._journal.load_owners()
        seen: set[str] = set()
        now_ms = max((int(each["expiry_ms"]) for each in _metadata(incoming)), default=0)
        for payload in incoming[frames.LISTED]:
            listed = frames.unpack(payload)
            groups = set(listed.column("group").to_pylist())
            seen |= ownership.keep_listed(frames.metadata(listed)["consumer"], groups)
        for payload in incoming[frames.GROUPS]:
            seen |= ownership.see(msgspec.msgpack.decode(payload, type=list[GroupRecord]), now_ms)
        seen |= ownership.forget(each.group for each in _requests(incoming) if each.topic is None)
        if full:
            seen |= ownership.forget(_unwatched(ownership.groups, self._watched))
            seen |= ownership.forget_polled(self._watched.keys())
        if seen:
            self._journal.store_owners(ownership)
        if seen or full:
            yield frames.OWNERS, ownership.report(ownership.groups.keys() | seen if full else seen)


def apply_frames(bucket: Bucket, incoming: Frames) -> None:
    """Everything that one trigger does to a bucket, in its order: heads, deletions, commits, expiry."""
    seen = [HeadsSeen.read(payload) for payload in incoming[frames.HEADS]]
    arrivals = [CommitsSeen.read(payload) for payload in incoming[frames.COMMITS]]
    for each in seen:
        bucket.apply_heads(each)
    expiry_ms = max((each.expiry_ms for each in seen), default=0)
    requests = _requests(incoming)
    if requests:
        bucket.apply_requests(requests)
    tombstones = [GroupTombstones.read(payload) for payload in incoming[frames.TOMBSTONES]]
    for tombstone in tombstones:
        bucket.apply_tombstones(tombstone)
        arrivals = [arrival.newer_than(tombstone) for arrival in arrivals]
    for payload in incoming[frames.LISTED]:
        bucket.keep_listed(Listed.read(payload))
    complete = any(each.complete for each in seen)
    for arrival in arrivals:
        bucket.apply_commits(arrival, expiry_ms, complete)
    bucket.expire(expiry_ms)


def _metadata(incoming: Frames) -> list[dict[str, str]]:
    return [frames.metadata(frames.unpack(each)) for each in incoming[frames.HEADS]]


def _is_full(incoming: Frames) -> bool:
    """Whether everything is reported, as after a start, when the driver has no windows yet."""
    return any(each["full"] == "1" for each in _metadata(incoming))


def _unwatched(groups: Iterable[str], watched: Watched) -> list[str]:
    """Groups that no consumer monitors."""
    return [group for group in groups if not any(each.accepts(group) for each in watched.values())]


def _requests(incoming: Frames) -> list[Request]:
    return [
        request
        for payload in incoming[frames.REQUESTS]
        for request in msgspec.json.decode(payload, type=list[Request])
    ]


def _samples(bucket: Bucket) -> bytes:
    """For the driver: every topic partition, its head, tail and the lowest of the samples of its head."""
    return frames.pack(
        {
            "topic": bucket.topic,
            "partition": bucket.partition,
            "topic_id": bucket.topic_id,
            "listed": bucket.listed,
            "seen": bucket.seen,
            "lowest": heads.lowest(bucket.heads, bucket.settings.refresh_ms),
            "head": bucket.heads.newest_offset,
            "tail": bucket.tail,
        },
        {"missing": json.dumps(bucket.missing_from_lists()), "unlisted": json.dumps(bucket.unlisted)},
    )
