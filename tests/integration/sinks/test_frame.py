"""From a snapshot to a sink: in order, nothing missing, nothing twice, and no sink disturbs another."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.integration.sinks.frame import PATIENCE_S, recorded, recording, running_sinks
from tests.processes import eventually
from tests.unit.sinks.samples import example_tables

from warren.config.sections import Outbox
from warren.sinks import sample
from warren.sinks.sample import SampleName


def attempts(directory: Path) -> list[int]:
    return [int(line) for line in (directory / "attempts").read_text().split()]


def numbers_in(outbox: Path) -> list[int]:
    return [name.number for path in outbox.iterdir() if (name := SampleName.read(path.name))]


def test_samples_arrive_once_and_in_order_and_a_restart_goes_on(
    session: SparkSession, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    for wanted in (3, 2):
        sink = recording(target, group_denylist="^slow$", clusters_include=["*st"])
        with running_sinks(session, tmp_path, {"a": sink}, "east", "west") as running:
            state = running.wait("a", wanted)
        assert (state.progress.error, state.dropped) == ("", 0)
    numbers = attempts(target)
    # the last batch of the first run may have been written, and not yet noted as done: it is repeated, and no other
    assert list(dict.fromkeys(numbers)) == list(range(1, max(numbers) + 1)) == recorded(target)
    again = [number for at, number in enumerate(numbers) if number in numbers[:at]]
    assert again == sorted(set(again))
    second = json.loads((target / "2.json").read_text())
    assert (second["groups"], second["partitions"]) == (2, 2)
    assert second["previous"].startswith("000000000001-")


def test_a_sink_that_is_down_stands_still_alone_and_goes_on_in_order(
    session: SparkSession, tmp_path: Path
) -> None:
    down, well = tmp_path / "down", tmp_path / "well"
    sinks = {"down": recording(down), "well": recording(well)}
    (down).mkdir(exist_ok=True)
    (down / "down").touch()
    with running_sinks(session, tmp_path, sinks) as running:
        running.wait("well", 4)
        state = running.state("down")
        assert state.progress.error == "the server is down"
        assert state.progress.running
        assert state.behind >= 3
        assert state.behind_since_ms is not None
        assert recorded(down) == []
        (down / "down").unlink()
        running.wait("down", 4)
        assert running.state("down").progress.error == ""
    for target in (down, well):
        assert recorded(target) == list(range(1, len(recorded(target)) + 1))
    assert attempts(well) == sorted(set(attempts(well)))


def test_a_sink_that_hangs_keeps_no_place_from_clusters(session: SparkSession, tmp_path: Path) -> None:
    """Two sinks that wait for their servers, and both cores are still there for triggers."""
    stuck = {name: recording(tmp_path / name) for name in ("a", "b")}
    for name in stuck:
        (tmp_path / name / "hang").touch()
    with running_sinks(session, tmp_path, stuck) as running:
        assert eventually(lambda: all(state.behind for state in running.sinks.states()), PATIENCE_S)
        meeting = tmp_path / "meeting"
        meeting.mkdir()

        def meet(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Both tasks have to run at the same time for either to end."""
            (meeting / uuid.uuid4().hex).touch()
            deadline = time.monotonic() + 30
            while len(list(meeting.iterdir())) < 2:
                if time.monotonic() > deadline:
                    raise TimeoutError("alone")
                time.sleep(0.02)
            yield from batches

        session.range(0, 2, 1, 2).mapInArrow(meet, "id long").collect()
        for name in stuck:
            (tmp_path / name / "hang").unlink()
        running.wait("a", 1)


def test_a_batch_leaves_its_process_to_the_next_one(session: SparkSession, tmp_path: Path) -> None:
    """Triggers had to wait for a new process after each batch, and no writer was kept from one batch to the next."""
    target = tmp_path / "target"
    with running_sinks(session, tmp_path, {"a": recording(target)}) as running:
        running.wait("a", 6)
    processes = {json.loads(path.read_text())["process"] for path in target.glob("*.json")}
    # of the two that stay idle any may take the next task
    assert len(processes) <= 2


def test_samples_beyond_the_bounds_are_dropped_and_counted(session: SparkSession, tmp_path: Path) -> None:
    target = tmp_path / "target"
    sink = recording(target)
    (target / "down").touch()
    some = Outbox(max_bytes=6 * sample.write(tmp_path / "one", example_tables()))
    with running_sinks(session, tmp_path, {"a": sink}, outbox=some) as running:
        assert eventually(lambda: running.state("a").dropped >= 3, PATIENCE_S)
        (target / "down").unlink()
        state = running.wait("a", 1)
    assert state.progress.error == ""
    assert 1 not in recorded(target)


def test_rows_that_are_refused_for_good_are_counted_and_left_out(
    session: SparkSession, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    sink = recording(target)
    (target / "reject").touch()
    with running_sinks(session, tmp_path, {"a": sink}) as running:
        state = running.wait("a", 2)
    assert state.progress.rejected == state.progress.samples
    assert state.progress.error == ""


def test_a_fault_in_a_writer_starts_the_query_again_with_the_same_sample(
    session: SparkSession, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    sink = recording(target)
    (target / "fault").touch()
    with running_sinks(session, tmp_path, {"a": sink}) as running:
        state = running.wait("a", 2)
    assert state.progress.restarts == 1
    assert recorded(target)[:2] == [1, 2]


def test_an_outbox_or_a_checkpoint_that_was_deleted_stops_nobody(
    session: SparkSession, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    with running_sinks(session, tmp_path, {"a": recording(target)}) as running:
        running.wait("a", 2)
    last = max(recorded(target))
    shutil.rmtree(tmp_path / "sinks" / "outbox")
    with running_sinks(session, tmp_path, {"a": recording(target)}) as running:
        running.wait("a", 1)
    # numbers go on: an old one never means another sample
    assert min(number for number in recorded(target) if number > last) == last + 1
    # Spark's own checkpoint is gone, the plan is not: the last batch is repeated
    shutil.rmtree(tmp_path / "sinks" / "queries" / "a" / "query")
    before = max(recorded(target))
    with running_sinks(session, tmp_path, {"a": recording(target)}) as running:
        assert eventually(lambda: max(recorded(target)) >= before + 2, PATIENCE_S)
    assert recorded(target)[-2:] == [max(recorded(target)) - 1, max(recorded(target))]
    # a sink that is removed leaves the others nothing to wait for
    outbox = tmp_path / "sinks" / "outbox"
    before = max(numbers_in(outbox))
    with running_sinks(session, tmp_path, {"b": recording(tmp_path / "other")}):
        assert eventually(lambda: min(numbers_in(outbox)) > before, PATIENCE_S)
