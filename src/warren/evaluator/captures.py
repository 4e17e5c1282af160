"""Cases from JSON: recorded windows, one object each, and responses of `/v3/kafka/CLUSTER/consumer/GROUP`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np

from warren.common.sentinels import UNKNOWN
from warren.errors import WarrenError
from warren.evaluator.cases import Case, Entry
from warren.evaluator.verdict import RULES
from warren.storage.windows import Commits, Windows, place

# the rules add and subtract two of these in 64 bits
_BOUND: Final = 2**61
Int64 = Annotated[int, msgspec.Meta(ge=-_BOUND, le=_BOUND)]
Count = Annotated[int, msgspec.Meta(ge=0, le=_BOUND)]
# far above any sensible window; it only bounds the arrays that invalid input can allocate
Intervals = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

_CONSUMER_PATH: Final = re.compile(r"/v3/kafka/[^/]+/consumer/([^/]+)$")


class CaptureError(WarrenError):
    """An object that is not a case."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values for what a capture does not contain."""

    now_ms: int
    # the caller set the time: it takes precedence over the time at which a response was recorded
    now_is_given: bool = False
    # not given: that of the rules
    allowed_lag: int | None = None
    minimum_complete: float = 0.0
    # class-name of the evaluator; None: Burrow's rules for recorded windows, Warren's default for responses
    class_name: str | None = None


class _Entry(msgspec.Struct):
    offset: Int64
    timestamp: Int64
    lag: Count | None = None
    # only in Warren's own responses and recordings
    floor: Count | None = None


class _Commit(msgspec.Struct):
    offset: Int64
    timestamp: Int64
    order: Count
    seen_ms: Int64


class _StoredHead(msgspec.Struct):
    offset: Count
    at_ms: Int64
    # how often in a row it was stored
    n: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


class _Window(msgspec.Struct):
    """One line of recorded windows; Burrow's own result may be in it too, and is ignored."""

    id: str | int
    window: list[_Entry | None] | None = None
    broker_ring: list[Count] | None = None
    broker_offsets: list[_StoredHead] = []
    commits_written: list[_Commit] | None = None
    intervals: Intervals | None = None
    # in seconds
    min_distance: Count = 0
    allowed_lag: Count | None = None
    minimum_complete: float | None = None
    now_ms: Int64 | None = None
    evaluated_at_ms: Int64 | None = None


class _Partition(msgspec.Struct):
    offsets: list[_Entry | None]
    current_lag: Count = msgspec.field(name="current-lag")
    # only in Warren's responses
    head: Count | None = None


class _Request(msgspec.Struct):
    url: str = ""


class _Detail(msgspec.Struct):
    """A response about one group, with all its windows."""

    topics: dict[str, list[_Partition | None]]
    request: _Request = msgspec.field(default_factory=_Request)


def cases(document: Any, defaults: Defaults) -> Iterator[Case]:
    """The cases in one JSON value: a recorded window, a response, or a capture that contains a response."""
    if not isinstance(document, dict):
        raise CaptureError(f"an object was expected, not {_kind(document)}")
    try:
        if "topics" in document:
            yield from _of_detail(msgspec.convert(document, _Detail), defaults)
        elif isinstance(document.get("body"), dict):
            yield from cases(document["body"], _at(document, defaults))
        elif "window" in document or "commits_written" in document:
            yield _of_window(msgspec.convert(document, _Window), defaults)
        else:
            raise CaptureError(_not_a_case(document))
    except msgspec.ValidationError as error:
        raise CaptureError(str(error)) from error


def _of_window(line: _Window, defaults: Defaults) -> Case:
    """A recorded window, or the one that results from its commits."""
    intervals = line.intervals or len(line.window or ()) or 1
    ring = line.broker_ring
    if ring is None:
        stored = [head.offset for head in line.broker_offsets for _ in range(min(head.n, intervals))]
        ring = stored[-intervals:]
    times = (line.evaluated_at_ms, line.now_ms, defaults.now_ms)
    class_name = defaults.class_name or "caching"
    return Case(
        name={"id": line.id},
        entries=_written(line, intervals) if line.window is None else _entries(line.window, "window"),
        intervals=max(intervals, len(line.window or ())),
        head=ring[-1] if ring else UNKNOWN,
        samples=tuple(ring),
        now_ms=next(time for time in times if time is not None),
        allowed_lag=_allowed(defaults, class_name) if line.allowed_lag is None else line.allowed_lag,
        minimum_complete=(
            defaults.minimum_complete if line.minimum_complete is None else line.minimum_complete
        ),
        class_name=class_name,
    )


def _of_detail(answer: _Detail, defaults: Defaults) -> Iterator[Case]:
    """One case per partition; a missing head is computed from the last commit and the current lag."""
    path = _CONSUMER_PATH.search(urlsplit(answer.request.url).path)
    group: dict[str, str | int] = {"group": unquote(path[1])} if path else {}
    class_name = defaults.class_name or "trend"
    for topic, partitions in answer.topics.items():
        for number, partition in enumerate(partitions):
            if partition is None:
                continue
            entries = _entries(partition.offsets, f"topics.{topic}[{number}].offsets")
            head = partition.head
            if head is None:
                head = entries[-1].offset + partition.current_lag if entries else UNKNOWN
            yield Case(
                name={**group, "topic": topic, "partition": number},
                entries=entries,
                intervals=max(len(partition.offsets), 1),
                head=head,
                samples=(),
                now_ms=defaults.now_ms,
                allowed_lag=_allowed(defaults, class_name),
                minimum_complete=defaults.minimum_complete,
                class_name=class_name,
            )


def _allowed(defaults: Defaults, class_name: str) -> int:
    """The allowed lag that was given, or that of the rules."""
    return RULES[class_name].allowed_lag if defaults.allowed_lag is None else defaults.allowed_lag


def _entries(window: list[_Entry | None], where: str) -> tuple[Entry, ...]:
    """The window without its leading empty slots."""
    entries = []
    for entry in dropwhile(lambda slot: slot is None, window):
        if entry is None:
            raise CaptureError(f"an empty slot follows an entry - at `$.{where}`; empty slots come first")
        entries.append(_entry(entry))
    return tuple(entries)


def _entry(entry: _Entry) -> Entry:
    lag, floor = (UNKNOWN if each is None else each for each in (entry.lag, entry.floor))
    return Entry(entry.offset, entry.timestamp, lag, floor)


def _written(line: _Window, intervals: int) -> tuple[Entry, ...]:
    """The window that results from these commits, in the order in which they were read.

    As in Burrow, a lag is against the head that was stored last, and only the newest commit so far has one.
    """
    window = Windows.empty(1, intervals)
    for commit in line.commits_written or ():
        heads = [head.offset for head in line.broker_offsets if head.at_ms <= commit.seen_ms]
        if not heads:
            continue
        newest = commit.order > window.order[0, -1]
        lag = max(heads[-1] - commit.offset, 0) if newest else UNKNOWN
        values = (0, commit.offset, commit.timestamp, commit.seen_ms, lag, UNKNOWN, commit.order)
        commits = Commits(*(np.array([value], dtype=np.int64) for value in values))
        window, _ = place(window, commits, line.min_distance * 1000)
    first = intervals - int(window.filled[0])
    columns = zip(window.offset[0, first:], window.timestamp[0, first:], window.lag[0, first:], strict=True)
    return tuple(Entry(int(offset), int(timestamp), int(lag)) for offset, timestamp, lag in columns)


def _at(capture: dict[str, Any], defaults: Defaults) -> Defaults:
    """The defaults at the time of the capture, unless the caller set the time."""
    if defaults.now_is_given or capture.get("at_ms") is None:
        return defaults
    return replace(defaults, now_ms=msgspec.convert(capture["at_ms"], Int64))


def _not_a_case(document: dict[str, Any]) -> str:
    """The error message for an object that has neither form."""
    if document.get("error") is True:
        return f"the response is an error: {document.get('message', 'no message')}"
    if isinstance(document.get("status"), dict):
        return "a response of /status or /lag has no windows: request /v3/kafka/CLUSTER/consumer/GROUP itself"
    return "neither a recorded window (`id`, `window`) nor a response of /v3/kafka/CLUSTER/consumer/GROUP"


def _kind(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
