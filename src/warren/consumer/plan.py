"""Which records of the offsets topic a trigger reads: pure planning over positions, so that every range is fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

# error message for a topic that does not exist
NOT_THERE: Final = (
    "its offsets topic does not exist (yet): no group has committed, or `offsets-topic` is wrong"
)


@dataclass(frozen=True, slots=True)
class Position:
    """How far the offsets topic has been read; stored in Spark's checkpoint."""

    # by partition: the next offset to read
    next: tuple[int, ...] = ()
    # by partition: added to a record's offset to get its order. A group's commits move to another partition when the
    # topic grows, and start at 0 when it is recreated: the order must keep increasing
    shift: tuple[int, ...] = ()
    # by partition: next and end of the history that is read after the present (backfill-earliest)
    back: tuple[tuple[int, int], ...] = ()
    # our clock when the end offsets were requested, and when the response came
    asked_ms: int = 0
    at_ms: int = 0
    # everything up to the end offsets at `asked_ms` has been read
    live: bool = False
    # records still to be read after this position
    left: int = 0
    # the error: the topic does not exist, or nothing could be planned; empty: none
    error: str = ""
    # the topic's id at the last poll; "" where the brokers have none
    topic_id: str = ""
    # by partition: where this trigger begins, when that is not where the last one ended. The first one has it too:
    # Spark requests the initial offset again when a start ends before its first trigger, and it may have changed
    begin: tuple[int, ...] = ()
    # partitions were added, and the older ones still have their old shifts
    grown: bool = False
    # records that the trigger which ends here reads
    reads: int = 0
    # everything that was written before this moment of our clock has been read; 0: not yet
    as_of_ms: int = 0
    # by partition: while there is more than a trigger reads, the end offset at `goal_ms`. When it is reached `as_of_ms`
    # advances, also where there is always more
    goal: tuple[int, ...] = ()
    goal_ms: int = 0
    # the brokers did not respond: nothing was planned
    silent: bool = False
    # partitions of which this trigger reads what comes after an open transaction, committed or not
    uncommitted: tuple[int, ...] = ()

    def to_offset(self) -> dict[str, Any]:
        """For Spark: short, since Spark runs regular expressions over it."""
        return {
            "next": _joined(self.next),
            "shift": _joined(self.shift) if any(self.shift) else "",
            "back": ",".join(f"{at}-{end}" for at, end in self.back),
            "asked": self.asked_ms,
            "at": self.at_ms,
            "live": self.live,
            "left": self.left,
            "error": self.error,
            "id": self.topic_id,
            "begin": _joined(self.begin),
            "grown": self.grown,
            "reads": self.reads,
            "as_of": self.as_of_ms,
            "goal": _joined(self.goal),
            "goal_at": self.goal_ms,
            "silent": self.silent,
            "uncommitted": _joined(self.uncommitted),
        }

    @property
    def partly_blind(self) -> bool:
        """Brokers responded, and partitions that were read before have no leader, or are gone: `as_of_ms` stays."""
        return bool(self.error and self.next) and not self.silent

    def without_answer(self, error: str) -> Position:
        """Nothing could be planned: the position stays."""
        return replace(self, live=False, error=error, silent=True, begin=(), reads=0, uncommitted=())

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any]) -> Self:
        next_ = _split(offset["next"])
        return cls(
            next_,
            _split(offset["shift"]) or (0,) * len(next_),
            tuple(_span(part) for part in offset["back"].split(",") if part),
            offset["asked"],
            offset["at"],
            offset["live"],
            offset["left"],
            offset["error"],
            offset["id"],
            _split(offset["begin"]),
            offset["grown"],
            offset["reads"],
            offset["as_of"],
            _split(offset["goal"]),
            offset["goal_at"],
            offset["silent"],
            _split(offset["uncommitted"]),
        )


@dataclass(frozen=True, slots=True)
class LogEnds:
    """By partition: first and next offset as the brokers gave them; None: no leader, or no response."""

    start: tuple[int | None, ...]
    end: tuple[int | None, ...]
    asked_ms: int
    at_ms: int
    topic_id: str = ""
    # by partition: the last stable offset (start of the first open transaction, or the end); empty where it was not
    # requested. It is known for every partition whose end is
    stable: tuple[int | None, ...] = ()
    # partitions whose open transaction is no longer waited for
    overdue: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Range:
    """Records of one partition: from `begin`, before `end`."""

    partition: int
    begin: int
    end: int
    shift: int
    # records of aborted transactions are skipped; False: a transaction in it may still be open, and all is read
    committed: bool = True


def first_position(ends: LogEnds, start_latest: bool, backfill: bool) -> Position:
    """The first position of a new query: earliest or latest, with or without reading history later."""
    starts = tuple(start or 0 for start in ends.start)
    nexts = tuple(end or 0 for end in ends.stable or ends.end) if start_latest else starts
    back = tuple(zip(starts, nexts, strict=True)) if start_latest and backfill else ()
    return Position(
        nexts,
        (0,) * len(nexts),
        back,
        ends.asked_ms,
        ends.at_ms,
        live=start_latest,
        topic_id=ends.topic_id,
        begin=nexts,
        as_of_ms=ends.asked_ms if start_latest else 0,
    )


def advance(position: Position, ends: LogEnds, limit: int, *, with_history: bool = True) -> Position:
    """The position after the next trigger, at most `limit` records on; the present comes before history."""
    if position.begin != position.next:
        position = replace(position, begin=())
    position = _with_equal_orders(position) if position.grown and position.live else position
    if position.topic_id and position.topic_id == ends.topic_id:
        position = _cut(position, ends)
    else:
        position = _recreated(position, ends)
    position = _grown(position, ends)
    readable = _readable(position, ends)
    pending = [max((_at(readable, partition) or 0) - at, 0) for partition, at in enumerate(position.next)]
    taken = _share(pending, limit)
    older = [end - at for at, end in position.back]
    back_taken = _share(older, max(limit - sum(taken), 0) if with_history else 0)
    back = tuple((at + count, end) for (at, end), count in zip(position.back, back_taken, strict=True))
    known = None not in _filled(ends.end, len(position.next))
    planned = replace(
        position,
        next=tuple(at + count for at, count in zip(position.next, taken, strict=True)),
        back=back if any(end > at for at, end in back) else (),
        asked_ms=ends.asked_ms,
        at_ms=ends.at_ms,
        live=taken == pending and known and readable == ends.end,
        left=sum(pending) - sum(taken) + sum(older) - sum(back_taken),
        error=_wrong_with(ends, len(position.next)),
        silent=False,
        topic_id=ends.topic_id or position.topic_id,
        reads=sum(taken) + sum(back_taken),
        uncommitted=tuple(
            partition
            for partition, count in enumerate(taken)
            if count and position.next[partition] >= (_at(ends.stable or ends.end, partition) or 0)
        ),
    )
    return _read_up_to(planned, ends, known)


def _readable(position: Position, ends: LogEnds) -> tuple[int | None, ...]:
    """By partition: up to where it is read now. Records after an open transaction wait until that is overdue."""
    found = list(ends.end)
    for partition, stable in enumerate(ends.stable):
        end, at = found[partition], _at(position.next, partition) or 0
        if stable is None or end is None or stable >= end:
            continue
        # what was read past it is not read again
        past = at > stable or (at == stable and partition in ends.overdue)
        found[partition] = end if past else stable
    return tuple(found)


def _wrong_with(ends: LogEnds, size: int) -> str:
    """The error message for missing ends."""
    if not ends.end:
        return NOT_THERE
    silent = _filled(ends.end, max(size, len(ends.end))).count(None)
    return (
        f"{silent} of {max(size, len(ends.end))} partitions of its offsets topic have no leader that responds: "
        "groups are evaluated as of the last moment at which all of them did"
        if silent
        else ""
    )


def has_read(position: Position, ends: LogEnds) -> bool:
    """Whether everything up to these ends has been read, history included."""
    if position.error or position.back or not ends.end:
        return False
    if position.live:
        return True
    another = bool(position.topic_id and ends.topic_id and position.topic_id != ends.topic_id)
    return not another and _reached(position, tuple(end or 0 for end in ends.end)) and None not in ends.end


def _read_up_to(position: Position, ends: LogEnds, known: bool) -> Position:
    """The position with the moment up to which everything has been read."""
    if not ends.end and position.next:
        # deleted, or the broker does not list it yet: there may be commits elsewhere
        return position
    if position.live:
        return replace(position, as_of_ms=ends.asked_ms, goal=(), goal_ms=0)
    if position.goal and _reached(position, position.goal):
        position = replace(position, as_of_ms=position.goal_ms, goal=(), goal_ms=0)
    if not position.goal and known:
        return replace(position, goal=tuple(end or 0 for end in ends.end), goal_ms=ends.asked_ms)
    return position


def _reached(position: Position, ends: Sequence[int]) -> bool:
    return len(position.next) >= len(ends) and all(
        at >= end for at, end in zip(position.next, ends, strict=False)
    )


def ranges(start: Position, end: Position) -> list[Range]:
    """What a trigger reads between two positions."""
    return present(start, end) + history(start, end)


def present(start: Position, end: Position) -> list[Range]:
    """Of what a trigger reads, the records that were written since the one before."""
    # partitions that are new since the start begin at 0
    begins = end.begin or (start.next + (0,) * len(end.next))[: len(end.next)]
    found = [
        Range(partition, begin, stop, end.shift[partition], partition not in end.uncommitted)
        for partition, (begin, stop) in enumerate(zip(begins, end.next, strict=True))
    ]
    return [each for each in found if each.end > each.begin]


def history(start: Position, end: Position) -> list[Range]:
    """Of what a trigger reads, the records that were there before the first one."""
    # history is older than everything else, so its orders are its offsets; it ends when the topic is recreated
    back = () if end.begin and not any(end.begin) else start.back
    back_ends = end.back or tuple((stop, stop) for _, stop in back)
    found = [
        Range(partition, begin, stop, 0)
        for partition, ((begin, _), (stop, _)) in enumerate(zip(back, back_ends, strict=False))
    ]
    return [each for each in found if each.end > each.begin]


def assigned(found: Sequence[Range], tasks: int) -> list[tuple[Range, ...]]:
    """The ranges distributed over the tasks, with about the same number of records in each."""
    shares: list[list[Range]] = [[] for _ in range(tasks)]
    loads = [0] * tasks
    for each in sorted(found, key=lambda item: item.begin - item.end):
        lightest = loads.index(min(loads))
        shares[lightest].append(each)
        loads[lightest] += each.end - each.begin
    return [tuple(share) for share in shares if share]


def _grown(position: Position, ends: LogEnds) -> Position:
    """New partitions are read from their beginning, with orders above all existing ones."""
    more = len(ends.end) - len(position.next)
    if more <= 0:
        return position
    beyond = _highest_order(position, ends) if position.next else 0
    return replace(
        position,
        next=position.next + (0,) * more,
        begin=position.begin + (0,) * more if position.begin or not position.next else (),
        shift=position.shift + (beyond,) * more,
        grown=bool(position.next),
    )


def _with_equal_orders(position: Position) -> Position:
    """With more partitions a group may move to any of them, also to an old one: all continue from one order."""
    beyond = max(at + shift for at, shift in zip(position.next, position.shift, strict=True))
    return replace(position, shift=tuple(beyond - at for at in position.next), grown=False)


def _recreated(position: Position, ends: LogEnds) -> Position:
    """A recreated topic is read from its beginning, with orders above all earlier ones.

    It is detected by its id; with brokers without ids by a partition that ends before our position.
    """
    another = bool(position.topic_id and ends.topic_id)
    again = [
        another or (end is not None and end < at)
        for at, end in zip(position.next, _filled(ends.end, len(position.next)), strict=True)
    ]
    if not any(again):
        return position
    beyond = _highest_order(position, ends)
    nexts = tuple(0 if new else at for new, at in zip(again, position.next, strict=True))
    shifts = tuple(beyond if new else shift for new, shift in zip(again, position.shift, strict=True))
    if another:
        # it may have fewer partitions than the old one
        nexts, shifts = nexts[: len(ends.end)], shifts[: len(ends.end)]
    return replace(position, next=nexts, begin=nexts, shift=shifts, back=(), goal=())


def _cut(position: Position, ends: LogEnds) -> Position:
    """A log that ends before our position lost its last records with a broker: continue from its end."""
    nexts = tuple(
        at if end is None else min(at, end)
        for at, end in zip(position.next, _filled(ends.end, len(position.next)), strict=True)
    )
    if nexts == position.next:
        return position
    shifts = tuple(
        shift + at - begin for shift, at, begin in zip(position.shift, position.next, nexts, strict=True)
    )
    return replace(position, next=nexts, begin=nexts, shift=shifts, goal=())


def _filled(ends: tuple[int | None, ...], size: int) -> tuple[int | None, ...]:
    """Cut or padded with None to this size."""
    return (ends + (None,) * size)[:size]


def _highest_order(position: Position, ends: LogEnds) -> int:
    return max(
        max(at, _at(ends.end, partition) or 0) + position.shift[partition]
        for partition, at in enumerate(position.next)
    )


def _at(items: Sequence[Any], index: int) -> Any:
    return items[index] if index < len(items) else None


def _share(pending: Sequence[int], limit: int) -> list[int]:
    """All of it, or a proportional share of the limit for each partition."""
    total = sum(pending)
    if total <= limit:
        return list(pending)
    return [min(count, -(-count * limit // total)) for count in pending]


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _split(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


def _span(text: str) -> tuple[int, int]:
    at, _, end = text.partition("-")
    return int(at), int(end)
