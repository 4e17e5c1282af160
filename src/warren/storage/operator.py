"""The stateful operator: a thin shell that keeps buckets in Spark's state store; the pure core changes them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from warren.common import frames
from warren.common.group_filter import Watched
from warren.common.group_records import GroupRecord
from warren.common.request import Request
from warren.memory import give_back
from warren.storage import bucket as core
from warren.storage import heads
from warren.storage.bucket import Bucket, CommitsSeen, Graves, HeadsSeen, WindowSettings
from warren.storage.journal import Journal
from warren.storage.owners import OwnerBook

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# the frames of one bucket in one trigger: kind: payloads
Frames = dict[str, list[bytes]]

# frames that the readers get as they are, of the one bucket that they come to
_PASSED_ON: Final = (frames.LOOK, frames.SKIPPED)


class WindowOperator(StatefulProcessor):
    """Called by Spark once per bucket in every trigger: each look at the heads goes to every bucket."""

    def __init__(self, settings: WindowSettings, watched: Watched, scratch: str) -> None:
        """`scratch` names this machine's copies of the buckets; no other operator may have the same."""
        self._settings = settings
        self._watched = watched
        self._scratch = scratch

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._journal = Journal(handle, self._scratch)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 (Spark's names)
        (number,) = key
        news: Frames = defaultdict(list)
        for row in rows:
            news[row.kind].append(row.payload)
        changes = self._owners(news) if number >= frames.WINDOW_BUCKETS else self._windows(number, news)
        passed = ((kind, payload) for kind in _PASSED_ON for payload in news[kind])
        for kind, payload in (*passed, *changes):
            yield Row(bucket=number, kind=kind, payload=payload)

    def close(self) -> None:
        """Called after a task's last bucket."""
        give_back()

    def _windows(self, number: int, news: Frames) -> Iterator[tuple[str, bytes]]:
        full = _is_full(news)
        bucket = self._journal.load(number, self._settings)
        was_vacant = bucket.vacant
        if full:
            bucket.drop_unwatched(self._watched)
        follow(bucket, news)
        if was_vacant and bucket.vacant:
            # a small cluster leaves most buckets so
            return
        changes = self._journal.store(number, bucket)
        yield frames.SAMPLES, _samples(bucket)
        if full:
            changes = core.changes(bucket, full=True)
        if changes is not None:
            yield frames.WINDOWS, changes

    def _owners(self, news: Frames) -> Iterator[tuple[str, bytes]]:
        full = _is_full(news)
        if not full and not news[frames.GROUPS] and not news[frames.REQUESTS]:
            return
        book = OwnerBook.load(self._journal.load_parts()[0]) if self._journal.exists() else OwnerBook()
        seen: set[str] = set()
        now_ms = max((int(each["expiry_ms"]) for each in _metadata(news)), default=0)
        for payload in news[frames.GROUPS]:
            seen |= book.see(msgspec.msgpack.decode(payload, type=list[GroupRecord]), now_ms)
        seen |= book.forget(each.group for each in _requests(news) if each.topic is None)
        if full:
            seen |= book.forget(_unwatched(book.groups, self._watched))
        if seen:
            self._journal.store_parts(book.save())
        if seen or full:
            yield frames.OWNERS, book.report(book.groups.keys() | seen if full else seen)


def follow(bucket: Bucket, news: Frames) -> None:
    """Everything that one trigger does to a bucket, in its order: heads, deletions, commits, expiry."""
    seen = [HeadsSeen.read(payload) for payload in news[frames.HEADS]]
    arrivals = [CommitsSeen.read(payload) for payload in news[frames.COMMITS]]
    for each in seen:
        bucket.see_heads(each)
    expiry_ms = max((each.expiry_ms for each in seen), default=0)
    requests = _requests(news)
    if requests:
        bucket.forget(requests)
    graves = [Graves.read(payload) for payload in news[frames.TOMBSTONES]]
    for grave in graves:
        bucket.bury(grave)
        arrivals = [arrival.outliving(grave) for arrival in arrivals]
    complete = any(each.complete for each in seen)
    for arrival in arrivals:
        bucket.see_commits(arrival, expiry_ms, complete)
    bucket.expire(expiry_ms)


def _metadata(news: Frames) -> list[dict[str, str]]:
    return [frames.words(frames.unpack(each)) for each in news[frames.HEADS]]


def _is_full(news: Frames) -> bool:
    """Whether the readers know nothing yet, as after a start: they are told everything."""
    return any(each["full"] == "1" for each in _metadata(news))


def _unwatched(groups: Iterable[str], watched: Watched) -> list[str]:
    """Groups that no consumer watches."""
    return [group for group in groups if not any(each.accepts(group) for each in watched.values())]


def _requests(news: Frames) -> list[Request]:
    return [
        request
        for payload in news[frames.REQUESTS]
        for request in msgspec.json.decode(payload, type=list[Request])
    ]


def _samples(bucket: Bucket) -> bytes:
    """For the readers: every topic partition, its head, tail and the lowest of the samples of its head."""
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
        {"missing": json.dumps(bucket.missed())},
    )
