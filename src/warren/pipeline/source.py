"""The one Spark data source of a cluster: heads, and the commits of all its consumer modules.

A thin layer over the packages `cluster` and `consumer`. Its offset has the position of each consumer by name, so that
consumers come and go while the checkpoint stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from warren.clock import now_ms
from warren.cluster.source import HeadsSettings, Look, LookPlanner
from warren.common import checkpoint
from warren.common.look import PolledMoment
from warren.common.row import ROW
from warren.consumer.plan import Position
from warren.consumer.polling import PolledPosition, PolledSettings, PollPlanner, PollTask
from warren.consumer.source import OffsetsPlanner, OffsetsSettings, ReadTask
from warren.kafka.brokers import Brokers
from warren.pipeline.unfinished import OFFSETS, newest

if TYPE_CHECKING:
    import pyarrow as pa

# a task costs some 0.1 s whatever its size: fewer records than this are read by the task that polls the brokers
ONE_TASK_RECORDS: Final = 50_000


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What is read of one cluster; is sent to the workers, secrets included, and never printed."""

    heads: HeadsSettings
    # of every consumer module: those that read an offsets topic, and those that are polled
    offsets: tuple[OffsetsSettings, ...]
    polled: tuple[PolledSettings, ...] = ()


class ClusterSource(DataSource):
    """Rows of frames; `settings` is set on a subclass per cluster, since Spark prints options."""

    settings: SourceSettings

    @classmethod
    def name(cls) -> str:
        return "cluster"

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema: Any) -> ClusterReader:  # noqa: N802 (Spark's names)
        return ClusterReader(self.settings)


@dataclass
class Task(InputPartition):
    """What one task does."""

    look: Look | None
    read_tasks: tuple[ReadTask, ...]
    # few and small: they go with the look
    poll_tasks: tuple[PollTask, ...] = ()


class ClusterReader(DataSourceStreamReader):
    """Plans in Spark's planning process, which runs as long as the query; reads in tasks."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        # created where it is needed: readers are pickled for the tasks
        self._planner: _Planner | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        return self._planning().first()

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802 (Spark's names)
        return self._planning().advanced(start)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return list(self._planning().tasks(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # needed in tasks only; without it Spark's planning processes import this module in half the time
        from warren.cluster.head_frames import cached_surveyor, framed  # noqa: PLC0415
        from warren.cluster.survey import unseen  # noqa: PLC0415
        from warren.consumer.reader import read  # noqa: PLC0415

        task = cast("Task", partition)
        if task.look is not None and task.look.blind:
            # the planner has just timed out: a task that did so too would block a core
            yield framed(unseen(now_ms()), task.look)
        elif task.look is not None:
            heads = self._settings.heads
            surveyor = cached_surveyor(tuple(sorted(heads.client.items())), heads.topic_refresh_ms)
            yield framed(surveyor.survey(now_ms(), task.look.missing), task.look)
        settings = {each.name: each for each in self._settings.offsets}
        for read_task in task.read_tasks:
            yield from read(settings[read_task.consumer], read_task)
        if task.poll_tasks:
            from warren.consumer import polled_frames  # noqa: PLC0415

            polled = {each.name: each for each in self._settings.polled}
            for poll_task in task.poll_tasks:
                yield polled_frames.read(polled[poll_task.consumer], poll_task)

    def _planning(self) -> _Planner:
        if self._planner is None:
            self._planner = _Planner(self._settings)
        return self._planner


class _Planner:
    """The planners of heads and commits, with one offset for all of them."""

    def __init__(self, settings: SourceSettings) -> None:
        self._looks = LookPlanner(settings.heads)
        # modules that read the same servers share a client
        brokers: dict[tuple[Any, ...], Brokers] = {}
        # by consumer module
        self._consumers: dict[str, OffsetsPlanner] = {}
        for each in settings.offsets:
            key = tuple(sorted(each.client.items()))
            if key not in brokers:
                brokers[key] = Brokers(each.client)
            self._consumers[each.name] = OffsetsPlanner(each, brokers[key])
        self._polled = {each.name: PollPlanner(each) for each in settings.polled}
        self._asking = ThreadPoolExecutor(max(len(self._consumers), 1), "planner")

    def first(self) -> dict[str, Any]:
        return _offset(self._looks.first(), {})

    def advanced(self, start: Mapping[str, Any]) -> dict[str, Any]:
        """Where the next trigger ends; consumers that are not configured any more are dropped."""
        before = _positions(start)
        # in parallel: each may have to wait for its brokers
        asked = {
            name: self._asking.submit(planner.advanced, before.get(name))
            for name, planner in self._consumers.items()
        }
        polled_before = _polled_positions(start)
        after = {name: each.result().to_offset() for name, each in asked.items()} | {
            # these return at once
            name: planner.advanced(polled_before.get(name)).to_offset()
            for name, planner in self._polled.items()
        }
        return _offset(self._looks.advanced(start["look"]), after)

    def tasks(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Iterator[Task]:
        before, after = _positions(start), _positions(end)
        # a plan from before the start may have consumers that were removed since
        present = {name: position for name, position in after.items() if name in self._consumers}
        together = sum(position.reads for position in present.values()) <= ONE_TASK_RECORDS
        read_tasks = [
            read_task
            for name, position in present.items()
            for read_task in self._consumers[name].read_tasks(before.get(name), position, together=together)
        ]
        poll_before, poll_after = _polled_positions(start), _polled_positions(end)
        polled = {name: position for name, position in poll_after.items() if name in self._polled}
        poll_tasks = tuple(
            poll_task
            for name, position in polled.items()
            for poll_task in self._polled[name].poll_tasks(poll_before.get(name), position)
        )
        moments = {
            self._polled[name].label: PolledMoment(
                self._polled[name].as_of(poll_before.get(name), position),
                self._polled[name].blind(position),
                self._polled[name].unanswered(position),
            )
            for name, position in polled.items()
        }
        look = self._looks.look(
            start["look"],
            end["look"],
            as_of_ms=as_of(present.values()) if self._consumers else _earliest(moments.values()),
            caught_up=all(
                name in present and planner.caught_up(present[name])
                for name, planner in self._consumers.items()
            )
            and all(
                name in polled and planner.caught_up(polled[name]) for name, planner in self._polled.items()
            ),
            blind=any(position.silent for position in present.values()),
            partly_blind=any(position.partly_blind for position in present.values()),
            unanswered=not self._consumers and all(each.blind for each in moments.values()),
            polled=moments,
            error=_errors({**present, **polled}),
            left=sum(position.left for position in present.values()),
        )
        if together:
            yield Task(look, tuple(read_tasks), poll_tasks)
            return
        yield Task(look, (), poll_tasks)
        for read_task in read_tasks:
            yield Task(None, (read_task,))


def as_of(positions: Iterable[Position]) -> int:
    """The moment up to which everything has been read; 0: there is none yet.

    Consumers whose brokers have never responded have no groups to evaluate.
    """
    moments = [position.as_of_ms for position in positions if position.asked_ms]
    return min(moments, default=0)


def _earliest(moments: Iterable[PolledMoment]) -> int:
    """The earliest moment of polled consumers that have been polled; 0: there is none yet."""
    return min((each.as_of_ms for each in moments if each.as_of_ms), default=0)


def to_read(directory: Path) -> int:
    """Records that were still to be read before the trigger that was planned last."""
    offset = planned_last(directory)
    positions = _positions(offset).values() if offset else ()
    return sum(position.reads + position.left for position in positions)


def planned_last(directory: Path) -> dict[str, Any] | None:
    """The offset that was planned last, None when there is none; CheckpointFormatError when it is of another format."""
    last = newest(directory / OFFSETS)
    return None if last is None else planned(directory, last)


def planned(directory: Path, trigger: int) -> dict[str, Any]:
    """The offset that was planned for a trigger."""
    lines = (directory / OFFSETS / str(trigger)).read_text().splitlines()
    # a version, Spark's own settings, then an offset for each source
    try:
        offsets = [json.loads(line) for line in lines[2:]]
    except ValueError:
        offsets = []
    offset = offsets[0] if len(offsets) == 1 else {}
    checkpoint.check(offset.get("version"), offset.get("fingerprint"), f"The checkpoint {directory}")
    return cast("dict[str, Any]", offset)


def _errors(positions: Mapping[str, Position | PolledPosition]) -> str:
    """The errors, consumer by consumer."""
    return "; ".join(
        f"consumer {name}: {position.error}" for name, position in positions.items() if position.error
    )


def _offset(look: dict[str, Any], consumers: dict[str, Any]) -> dict[str, Any]:
    """What Spark keeps of a trigger: see `warren.common.checkpoint`."""
    return {
        "version": checkpoint.VERSION,
        "fingerprint": checkpoint.FINGERPRINT,
        "look": look,
        "consumers": consumers,
    }


def _positions(offset: Mapping[str, Any]) -> dict[str, Position]:
    return {name: Position.from_offset(each) for name, each in offset["consumers"].items() if "next" in each}


def _polled_positions(offset: Mapping[str, Any]) -> dict[str, PolledPosition]:
    return {
        name: PolledPosition.from_offset(each)
        for name, each in offset["consumers"].items()
        if "order" in each
    }
