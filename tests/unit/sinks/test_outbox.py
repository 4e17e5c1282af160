"""The outbox: whole samples with numbers, kept until every sink has them, and never more than it may hold."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_tables

from warren.sinks import outbox as module
from warren.sinks import sample
from warren.sinks.outbox import Bounds, DiskFullError, Outbox
from warren.sinks.sample import SampleName

DAY_MS = 86_400_000
WIDE = Bounds(3_600_000, 1_000_000_000)


def made(directory: Path, bounds: Bounds = WIDE, after: int = 0, **sinks: int | None) -> Outbox:
    """An outbox with sinks of an interval of 10 s."""
    found = Outbox(directory, bounds, after=after)
    for name, done in sinks.items():
        found.join(name, 10, done)
    return found


def fill(box: Outbox, count: int, at_ms: int = NOW) -> list[int]:
    return [box.add(example_tables(), at_ms + number, [10], at_ms + number) for number in range(count)]


def files(directory: Path) -> list[int]:
    return sorted(name.number for path in directory.iterdir() if (name := SampleName.read(path.name)))


def test_a_sample_comes_back_as_it_was(tmp_path: Path) -> None:
    box = made(tmp_path, a=None)
    tables = example_tables()
    number = box.add(tables, NOW, [10], NOW)
    path = box.path(number)
    assert path is not None
    assert sample.read(path) == tables
    groups = sample.read(path, ["groups"])
    assert groups.groups == tables.groups
    assert groups.partitions.num_rows == groups.topics.num_rows == 0
    partitions = sample.read(path, ["partitions"])
    assert partitions.partitions == tables.partitions


def test_a_sample_goes_when_every_sink_has_it(tmp_path: Path) -> None:
    box = made(tmp_path, a=None, b=None)
    assert fill(box, 3) == [1, 2, 3]
    box.advance("a", 3, NOW)
    assert files(tmp_path) == [1, 2, 3]
    box.advance("b", 2, NOW)
    # the last one that a sink has stays: changes are counted from there
    assert files(tmp_path) == [2, 3]
    assert (box.dropped("a"), box.dropped("b")) == (0, 0)


def test_samples_beyond_the_age_go_and_are_counted_for_those_who_miss_them(tmp_path: Path) -> None:
    box = made(tmp_path, Bounds(60_000, 1_000_000_000), a=None, b=None)
    fill(box, 3)
    box.advance("a", 3, NOW)
    with capture_logs() as told:
        box.add(example_tables(), NOW + 100_000, [10], NOW + 100_000)
    assert files(tmp_path) == [4]
    assert (box.dropped("a"), box.dropped("b")) == (0, 3)
    assert [(each["event"], each["sink"], each["samples"]) for each in told] == [("samples dropped", "b", 3)]


@pytest.mark.parametrize("ahead_ms", [-500 * DAY_MS, DAY_MS, 120 * DAY_MS])
def test_a_clock_that_was_set_dropped_what_a_sink_did_not_have_yet(tmp_path: Path, ahead_ms: int) -> None:
    box = made(tmp_path, a=None)
    fill(box, 3)
    # for a while, across a restart
    fill(box, 2, NOW + ahead_ms)
    box = made(tmp_path, a=0)
    fill(box, 1, NOW + ahead_ms + 60_000)
    box.advance("a", 0, NOW + ahead_ms + 60_000)
    fill(box, 1, NOW + 60_000)
    assert files(tmp_path) == [1, 2, 3, 4, 5, 6, 7]
    assert box.dropped("a") == 0
    # and no sample stays longer for it
    for minutes in range(10, 80, 10):
        fill(box, 1, NOW + minutes * 60_000)
    assert files(tmp_path)[0] > 7


def test_samples_that_are_taken_once_an_hour_grow_old_as_all_others(tmp_path: Path) -> None:
    box = Outbox(tmp_path, Bounds(DAY_MS, 1_000_000_000))
    box.join("a", 3600, None)
    for hour in range(40):
        at_ms = NOW + hour * 3_600_000
        box.add(example_tables(), at_ms, [3600], at_ms)
    assert len(files(tmp_path)) == 25


def test_samples_beyond_the_bytes_go_oldest_first_but_never_the_newest(tmp_path: Path) -> None:
    box = made(tmp_path, a=None)
    fill(box, 1)
    size = box.size[1]
    box = made(tmp_path, Bounds(3_600_000, round(size * 2.5)), a=None)
    fill(box, 3)
    assert files(tmp_path) == [3, 4]
    assert box.dropped("a") == 2
    box = made(tmp_path, Bounds(3_600_000, 1), a=None)
    fill(box, 1)
    assert files(tmp_path) == [5]


def test_numbers_go_on_after_a_restart_and_after_the_outbox_was_deleted(tmp_path: Path) -> None:
    fill(made(tmp_path, a=None), 2)
    assert fill(made(tmp_path, a=1), 1) == [3]
    shutil.rmtree(tmp_path)
    assert fill(made(tmp_path, after=3, a=3), 1) == [4]


def test_an_outbox_that_is_deleted_meanwhile_begins_again_and_says_what_was_lost(tmp_path: Path) -> None:
    box = made(tmp_path / "outbox", a=None)
    fill(box, 2)
    shutil.rmtree(tmp_path / "outbox")
    with capture_logs() as told:
        assert fill(box, 1) == [3]
    assert files(tmp_path / "outbox") == [3]
    assert box.dropped("a") == 2
    assert told[0]["reason"] == "somebody removed them from the outbox"


def test_a_sample_that_was_being_written_when_the_process_died_is_no_sample(tmp_path: Path) -> None:
    (tmp_path / f"{SampleName(7, NOW, (10,))}{sample.UNFINISHED}").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("not ours")
    box = made(tmp_path, a=None)
    assert fill(box, 1) == [1]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".sample", ".txt"]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = made(tmp_path, a=None)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        fill(box, 1)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setattr(module, "RESERVE_BYTES", 1 << 60)
    with pytest.raises(DiskFullError, match=r"make room"):
        fill(box, 1)
    monkeypatch.undo()
    # the number was not used
    assert fill(box, 1) == [1]


def test_a_sink_sees_the_samples_of_its_interval_only(tmp_path: Path) -> None:
    box = made(tmp_path, fast=None)
    box.join("slow", 60, None)
    for intervals in ([10, 60], [10], [10], [60]):
        box.add(example_tables(), NOW, intervals, NOW)
    never = threading.Event().is_set
    assert box.await_samples("fast", 0, never) == [1, 2, 3]
    assert box.await_samples("slow", 0, never) == [1, 4]
    box.advance("fast", 3, NOW)
    assert files(tmp_path) == [1, 3, 4]


def test_a_new_sink_begins_with_the_oldest_sample_and_an_old_one_goes_on(tmp_path: Path) -> None:
    box = made(tmp_path, a=None)
    fill(box, 3)
    box.join("new", 10, None)
    box.join("old", 10, 2)
    never = threading.Event().is_set
    assert box.await_samples("new", box.done("new"), never) == [1, 2, 3]
    assert box.await_samples("old", box.done("old"), never) == [3]
    assert (box.behind("new", 0).samples, box.behind("new", 0).since_ms) == (3, NOW)
    assert (box.behind("old", 3).samples, box.behind("old", 3).since_ms) == (0, None)


def test_a_sink_that_is_behind_takes_a_bounded_number_of_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = made(tmp_path, a=None)
    fill(box, 5)
    never = threading.Event().is_set
    monkeypatch.setattr(module, "MAX_BATCH_SAMPLES", 3)
    assert box.await_samples("a", 0, never) == [1, 2, 3]
    monkeypatch.setattr(module, "MAX_BATCH_BYTES", 1)
    assert box.await_samples("a", 1, never) == [2]


def test_who_waits_gets_the_next_sample_or_is_woken_to_stop(tmp_path: Path) -> None:
    box = made(tmp_path, a=None)
    stopping, found = threading.Event(), []
    waiter = threading.Thread(target=lambda: found.append(box.await_samples("a", 0, stopping.is_set)))
    waiter.start()
    fill(box, 1)
    waiter.join(5)
    assert found == [[1]]
    waiter = threading.Thread(target=lambda: found.append(box.await_samples("a", 1, stopping.is_set)))
    waiter.start()
    stopping.set()
    box.wake()
    waiter.join(5)
    assert found == [[1], []]
