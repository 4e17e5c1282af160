"""The data source of a cluster: one offset for heads and all consumers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from warren.cluster import head_frames
from warren.cluster.source import HeadsSettings
from warren.common import frames
from warren.common.checkpoint import (
    FINGERPRINT,
    OFFSET,
    OWNER_BUCKETS,
    VERSION,
    WINDOW_BUCKETS,
    CheckpointFormatError,
)
from warren.common.group_filter import GroupFilter
from warren.common.look import LookTaken
from warren.consumer.plan import LogEnds
from warren.consumer.source import OffsetsPlanner, OffsetsSettings
from warren.kafka.brokers import UnreachableError
from warren.pipeline import source
from warren.pipeline.source import ClusterReader, SourceSettings, Task


class Topics:
    """Offsets topics, by consumer: their ends; None: brokers that do not answer."""

    def __init__(self, **ends: Sequence[int | None] | None) -> None:
        self.ends = ends
        self.at_ms = 1_000

    def ends_of(self, planner: OffsetsPlanner, *, first: bool) -> LogEnds:
        found = self.ends[planner._settings.name]
        if found is None:
            raise UnreachableError("no answer")
        self.at_ms += 1
        return LogEnds((0,) * len(found) if first else (), tuple(found), self.at_ms, self.at_ms + 100)


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    topics = Topics(a=[10, 0], b=[5])
    monkeypatch.setattr(
        OffsetsPlanner, "_ends", lambda planner, *, first: topics.ends_of(planner, first=first)
    )
    monkeypatch.setattr(OffsetsPlanner, "_commits_stay", lambda _: False)
    return topics


def reader(directory: Path, *consumers: str, limit: int = 1_000_000, **more: Any) -> ClusterReader:
    client = {"bootstrap.servers": "127.0.0.1:1"}
    given = {"start_latest": False, "backfill": False} | more
    offsets = tuple(
        OffsetsSettings(
            name,
            client,
            name,
            limit=limit,
            tasks=2,
            intervals=5,
            min_distance_ms=0,
            groups=GroupFilter(),
            **cast("Any", given),
        )
        for name in consumers
    )
    return ClusterReader(SourceSettings(HeadsSettings(client, 1, directory / "requests"), offsets))


def tasks(reader: ClusterReader, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[Task]:
    # as Spark keeps them
    kept = [json.loads(json.dumps(each)) for each in (start, end)]
    return cast("list[Task]", reader.partitions(*kept))


def read(found: Sequence[Task]) -> dict[str, list[tuple[int, int, int]]]:
    """Consumer: partition, begin and end of what is read."""
    ranges: dict[str, list[tuple[int, int, int]]] = {}
    for read_task in (read_task for task in found for read_task in task.read_tasks):
        ranges.setdefault(read_task.consumer, []).extend(
            (each.partition, each.begin, each.end) for each in read_task.ranges
        )
    return ranges


def test_few_records_are_read_by_the_task_that_looks(topics: Topics, tmp_path: Path) -> None:
    mine = reader(tmp_path, "a", "b")
    start = mine.initialOffset()
    end = mine.latestOffset(start, None)
    (only,) = tasks(mine, start, end)
    assert only.look is not None
    assert read([only]) == {"a": [(0, 0, 10)], "b": [(0, 0, 5)]}
    topics.ends["a"] = [source.ONE_TASK_RECORDS + 20, 30]
    first, *others = tasks(mine, end, mine.latestOffset(end, None))
    assert (first.look is not None, first.read_tasks) == (True, ())
    assert {other.look for other in others} == {None}
    assert read(others) == {"a": [(0, 10, source.ONE_TASK_RECORDS + 20), (1, 0, 30)]}


def test_a_consumer_that_appears_gets_a_position_and_one_that_goes_loses_it(
    topics: Topics, tmp_path: Path
) -> None:
    alone = reader(tmp_path, "a")
    start = alone.latestOffset(alone.initialOffset(), None)
    both = reader(tmp_path, "a", "b")
    topics.ends["a"] = [12, 0]
    end = both.latestOffset(start, None)
    assert read(tasks(both, start, end)) == {"a": [(0, 10, 12)], "b": [(0, 0, 5)]}
    # the plan that was made with both is carried out by one that has the other alone
    other = reader(tmp_path, "b")
    assert read(tasks(other, start, end)) == {"b": [(0, 0, 5)]}
    later = other.latestOffset(end, None)
    assert list(later["consumers"]) == ["b"]
    assert read(tasks(other, end, later)) == {}


def test_an_old_plan_that_is_repeated_is_not_caught_up(topics: Topics, tmp_path: Path) -> None:
    mine = reader(tmp_path, "a")
    start = mine.latestOffset(mine.initialOffset(), None)
    end = mine.latestOffset(start, None)
    (task,) = tasks(mine, start, end)
    assert task.look is not None
    assert task.look.caught_up
    # the next process: commits came while nobody was there
    topics.ends["a"] = [99, 0]
    again = reader(tmp_path, "a", limit=50)
    (task,) = tasks(again, start, end)
    assert task.look is not None
    assert not task.look.caught_up
    assert task.look.as_of_ms == end["consumers"]["a"]["as_of"]
    caught_up = []
    for _ in range(3):
        start, end = end, again.latestOffset(end, None)
        (task,) = tasks(again, start, end)
        assert task.look is not None
        caught_up.append(task.look.caught_up)
        # later commits do not change what was there at the beginning
        topics.ends["a"] = [150, 0]
    assert caught_up == [False, True, True]


def test_brokers_that_do_not_answer_leave_nobody_caught_up_and_time_standing(
    topics: Topics, tmp_path: Path
) -> None:
    mine = reader(tmp_path, "a", "b")
    start = mine.latestOffset(mine.initialOffset(), None)
    moment = source.as_of(source._positions(start).values())
    topics.ends["b"] = None
    end = mine.latestOffset(start, None)
    (task,) = tasks(mine, start, end)
    assert task.look is not None
    assert (task.look.caught_up, task.look.blind) == (False, True)
    # of the two the earlier one
    assert task.look.as_of_ms == start["consumers"]["b"]["as_of"]
    assert moment <= task.look.as_of_ms < end["consumers"]["a"]["as_of"]
    assert task.look.error == "consumer b: no answer"


def test_one_partition_without_leader_muted_the_notifier_and_nobody_was_told(
    topics: Topics, tmp_path: Path
) -> None:
    mine = reader(tmp_path, "a", "b")
    start = mine.latestOffset(mine.initialOffset(), None)
    topics.ends["a"] = [12, None]
    end = mine.latestOffset(start, None)
    (task,) = tasks(mine, start, end)
    assert task.look is not None
    # the others are read, and heads are polled
    assert (task.look.caught_up, task.look.blind, task.look.partly_blind) == (False, False, True)
    assert read([task]) == {"a": [(0, 10, 12)]}
    assert task.look.as_of_ms == start["consumers"]["a"]["as_of"]
    # deleted, or not known to a broker that has just started
    topics.ends["a"] = []
    gone = mine.latestOffset(end, None)
    (task,) = tasks(mine, end, gone)
    assert task.look is not None
    assert task.look.partly_blind
    topics.ends["a"] = [12, 3]
    (task,) = tasks(mine, gone, mine.latestOffset(gone, None))
    assert task.look is not None
    assert (task.look.caught_up, task.look.partly_blind) == (True, False)


def test_a_consumer_whose_brokers_never_answered_holds_nobody_up(topics: Topics, tmp_path: Path) -> None:
    topics.ends["b"] = None
    mine = reader(tmp_path, "a", "b", start_latest=True, backfill=True)
    start = mine.latestOffset(mine.initialOffset(), None)
    end = mine.latestOffset(start, None)
    (task,) = tasks(mine, start, end)
    assert task.look is not None
    assert (task.look.as_of_ms, task.look.caught_up) == (end["consumers"]["a"]["as_of"], False)
    # and begins as if it were new when they do
    topics.ends["b"] = [7]
    first = mine.latestOffset(end, None)
    assert "b" not in read(tasks(mine, end, first))
    assert read(tasks(mine, first, mine.latestOffset(first, None)))["b"] == [(0, 0, 7)]


def test_a_topic_that_is_not_there_yet_is_caught_up_when_it_has_come_and_been_read(
    topics: Topics, tmp_path: Path
) -> None:
    topics.ends["a"] = []
    mine = reader(tmp_path, "a")
    start, caught_up = mine.initialOffset(), []
    for ends in ([], [], [3], [4]):
        topics.ends["a"] = ends
        end = mine.latestOffset(start, None)
        (task,) = tasks(mine, start, end)
        assert task.look is not None
        # a cluster without any commit is nothing to tell of
        assert not task.look.partly_blind
        caught_up.append(task.look.caught_up)
        start = end
    assert caught_up == [False, False, True, True]


def test_commits_of_the_present_were_written_after_those_of_before_and_history_at_any_time(
    topics: Topics, tmp_path: Path
) -> None:
    mine = reader(tmp_path, "b", start_latest=True, backfill=True)
    start = mine.latestOffset(mine.initialOffset(), None)
    topics.ends["b"] = [8]
    end = mine.latestOffset(start, None)
    (task,) = tasks(mine, start, end)
    moments = {
        (each.begin, each.end): read_task.after_ms
        for read_task in task.read_tasks
        for each in read_task.ranges
    }
    assert moments == {(5, 8): start["consumers"]["b"]["as_of"], (0, 5): 0}


def written(checkpoint: Path, *offsets: Mapping[str, Any], batch: int = 3) -> Path:
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    lines = ["v1", '{"batchWatermarkMs":0}', *map(json.dumps, offsets)]
    (checkpoint / "offsets" / str(batch)).write_text("\n".join(lines))
    return checkpoint


class TestOffsetsInACheckpoint:
    def test_the_last_one_is_found(self, topics: Topics, tmp_path: Path) -> None:
        assert source.planned_last(tmp_path) is None
        mine = reader(tmp_path, "a", limit=4)
        offset = mine.latestOffset(mine.initialOffset(), None)
        assert tuple(offset) == OFFSET
        written(tmp_path, {"version": 1}, batch=9)
        written(tmp_path, offset, batch=10)
        assert source.planned_last(tmp_path) == offset
        assert source.to_read(tmp_path) == 10

    @pytest.mark.parametrize(
        "offsets",
        [
            # heads and commits as two sources, as it was once
            [{"at": 5, "sampled": 5, "request": 0}, {"next": "1,2", "asked": 5}],
            [{"version": VERSION + 1, "fingerprint": FINGERPRINT}],
            [{"version": VERSION, "fingerprint": "0123456789ab"}],
            [],
        ],
        ids=["two sources", "another version", "another layout", "nothing"],
    )
    def test_another_format_is_refused_with_what_to_do(
        self, offsets: list[Mapping[str, Any]], tmp_path: Path
    ) -> None:
        with pytest.raises(CheckpointFormatError, match="remove the checkpoint directory to begin afresh"):
            source.planned_last(written(tmp_path, *offsets))

    def test_one_that_a_power_cut_left_half_written_is_refused_too(self, tmp_path: Path) -> None:
        written(tmp_path, {"version": 2})
        (tmp_path / "offsets" / "4").write_text('v1\n{"batch"\n{"version"')
        with pytest.raises(CheckpointFormatError):
            source.planned_last(tmp_path)


def test_secrets_of_the_settings_are_not_printed(tmp_path: Path) -> None:
    assert "password" not in repr(
        SourceSettings(
            HeadsSettings({"bootstrap.servers": "k", "sasl.password": "password"}, 1, tmp_path),
            reader(tmp_path, "a")._settings.offsets,
        )
    )


def test_a_cluster_whose_brokers_were_silent_when_it_was_planned_keeps_no_core_from_others(
    topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.ends["a"] = None
    mine = reader(tmp_path, "a")
    start = mine.initialOffset()
    (task,) = tasks(mine, start, mine.latestOffset(start, None))
    # a task that asked them would wait for as long as the planner did
    monkeypatch.setattr(head_frames, "cached_surveyor", lambda *_: pytest.fail("asked"))
    (batch,) = list(mine.read(task))
    found = batch.to_pylist()
    # the first look has every bucket tell what it knows
    assert [row["kind"] for row in found].count(frames.HEADS) == WINDOW_BUCKETS + OWNER_BUCKETS
    (look,) = [row["payload"] for row in found if row["kind"] == frames.LOOK]
    taken = msgspec.json.decode(look, type=LookTaken)
    assert (taken.blind, taken.caught_up, taken.error) == (True, False, "consumer a: no answer")
    (task,) = tasks(mine, start, mine.latestOffset(start, None))
    (batch,) = list(mine.read(task))
    # to later ones no bucket has anything to say
    assert batch.column("kind").to_pylist() == [frames.LOOK]
