"""The stateful operator: a thin shell that keeps buckets in Spark's state store; the pure core changes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from warren.kafka.groups import GroupRecord
from warren.storage import bucket as core
from warren.storage import frames, heads
from warren.storage.bucket import Bucket, CommitsSeen, Graves, HeadsSeen, WindowSettings
from warren.storage.journal import Journal
from warren.storage.memory import give_back
from warren.storage.owners import OwnerBook
from warren.storage.request import Request

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

# the frames of one bucket in one trigger: kind: payloads
Frames = dict[str, list[bytes]]

# frames that the readers get as they are
_PASSED_ON: Final = (frames.HEADS, frames.SKIPPED)


class WindowOperator(StatefulProcessor):
    """Called by Spark once per bucket with news; reads the state only when the news concern it."""

    def __init__(self, settings: WindowSettings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._journal = Journal(handle)

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
        said = frames.words(frames.unpack(news[frames.HEADS][-1])) if news[frames.HEADS] else {}
        full = said.get("full") == "1"
        if not full and said.get("sample") != "1" and not _concern_windows(news):
            return
        bucket = self._journal.load(self._settings)
        follow(bucket, news)
        changes = self._journal.store(number, bucket)
        yield frames.SAMPLES, _samples(bucket)
        if full:
            changes = core.changes(bucket, full=True)
        if changes is not None:
            yield frames.WINDOWS, changes

    def _owners(self, news: Frames) -> Iterator[tuple[str, bytes]]:
        full = any(frames.words(frames.unpack(each)).get("full") == "1" for each in news[frames.HEADS])
        if not full and not news[frames.GROUPS] and not news[frames.REQUESTS]:
            return
        book = OwnerBook.load(self._journal.load_parts()[0]) if self._journal.exists() else OwnerBook()
        seen: set[str] = set()
        for payload in news[frames.GROUPS]:
            seen |= book.see(msgspec.msgpack.decode(payload, type=list[GroupRecord]))
        seen |= book.forget(each.group for each in _requests(news) if each.topic is None)
        if seen:
            self._journal.store_parts(book.save())
        if seen or full:
            yield frames.OWNERS, book.report(book.groups.keys() | seen if full else seen)


def follow(bucket: Bucket, news: Frames) -> None:
    """Everything that one trigger does to a bucket, in its order: heads, farewells, commits, age."""
    seen = [HeadsSeen.read(payload) for payload in news[frames.HEADS]]
    arrivals = [CommitsSeen.read(payload) for payload in news[frames.COMMITS]]
    for each in seen:
        bucket.see_heads(each)
    now_ms = max([each.at_ms for each in seen] + [each.before_ms for each in arrivals], default=0)
    requests = _requests(news)
    if requests:
        bucket.forget(requests)
    graves = [Graves.read(payload) for payload in news[frames.TOMBSTONES]]
    for grave in graves:
        bucket.bury(grave)
        arrivals = [arrival.outliving(grave) for arrival in arrivals]
    complete = any(each.complete for each in seen)
    for arrival in arrivals:
        bucket.see_commits(arrival, now_ms, complete)
    bucket.expire(now_ms)


def _concern_windows(news: Frames) -> bool:
    return any(news[kind] for kind in (frames.COMMITS, frames.TOMBSTONES, frames.REQUESTS))


def _requests(news: Frames) -> list[Request]:
    return [
        request
        for payload in news[frames.REQUESTS]
        for request in msgspec.json.decode(payload, type=list[Request])
    ]


def _samples(bucket: Bucket) -> bytes:
    """For the readers: the lowest head sample of each topic partition, which rule 3 asks for, and where it ended."""
    return frames.pack(
        {
            "topic": bucket.topic,
            "partition": bucket.partition,
            "lowest": heads.lowest(bucket.heads),
            "head": bucket.heads.newest_offset,
            "tail": bucket.tail,
        }
    )
