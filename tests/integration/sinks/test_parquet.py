"""The history: files that Spark, DuckDB and pandas read, on any file system that Spark can write."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.integration.sinks.frame import PATIENCE_S, running_sinks
from tests.processes import eventually
from tests.unit.sinks.samples import example_tables

from warren.clock import now_ms
from warren.config.modules import ParquetSink
from warren.sinks.compaction import NOTE, Note, Upkeep
from warren.sinks.hadoop import Files
from warren.sinks.parquet import ParquetKind
from warren.sinks.writer import Batch, TryAgainError

# noon of a day
NOON_MS = int(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC).timestamp() * 1000)
DAY_MS = 86_400_000


def kind(path: Path | str, **keys: Any) -> ParquetKind:
    return ParquetKind.of(ParquetSink(path=str(path), **keys))


def put(session: SparkSession, made: ParquetKind, number: int, at_ms: int, cluster: str = "east") -> None:
    """One sample, as the frame writes it."""
    prepared = made.prepared(session)
    written = prepared.writer().write(Batch(number, at_ms, example_tables(cluster, at_ms)))
    prepared.finish(session, written.files)


def merge(session: SparkSession, path: Path, *, local: bool) -> None:
    """All files of each day, by Spark or by a task on this machine."""
    upkeep = Upkeep(str(path), "zstd", 100, 0, disk=path if local else None)
    for directory in path.glob("*/cluster=*/day=*"):
        upkeep.compact(session, Files(session, str(path)), str(directory.relative_to(path)), whole=True)


def parquet_files(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*.parquet"))


def queried(sql: str) -> list[tuple[Any, ...]]:
    relation = duckdb.sql(sql)
    assert relation is not None
    return relation.fetchall()


def row_counts(path: Path) -> dict[str, int]:
    return {
        table: queried(f"select count(*) from '{path}/{table}/*/*/*.parquet'")[0][0]
        for table in ("groups", "partitions", "topics")
    }


def test_the_history_is_read_by_spark_duckdb_and_pandas(session: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "history"
    made = kind(path, tags={"usage": "prod"})
    for number, cluster in ((1, "east"), (2, "west/1")):
        put(session, made, number, NOON_MS + number, cluster)
    frame = session.read.parquet(f"{path}/partitions")
    spark = {
        (
            row.cluster,
            row.group,
            row.topic,
            row.partition,
            row.lag,
            row.status,
            row.tags["usage"],
            str(row.day),
        )
        for row in frame.collect()
    }
    wanted = {
        (cluster, *rest, "prod", "2026-03-01")
        for cluster in ("east", "west/1")
        for rest in (
            ("fast", "clicks", 0, 0, "OK"),
            ("slow", "orders", 0, 10, "STOP"),
            ("slow", "orders", 2, 0, "OK"),
        )
    }
    assert spark == wanted
    columns = "cluster, \"group\", topic, partition, lag, status, tags['usage'], day::varchar"
    found = queried(
        f"select {columns} from read_parquet('{path}/partitions/*/*/*.parquet', hive_partitioning = true)"
    )
    assert set(found) == wanted
    pandas = pd.read_parquet(f"{path}/partitions")
    assert {
        (
            row.cluster,
            row.group,
            row.topic,
            row.partition,
            row.lag,
            row.status,
            dict(row.tags)["usage"],
            row.day,
        )
        for row in pandas.itertuples()
    } == wanted
    assert sorted({int(moment.timestamp() * 1000) for moment in pandas["time"]}) == [NOON_MS + 1, NOON_MS + 2]
    assert str(pandas["time"].dt.tz) == "UTC"


def test_a_repeated_sample_writes_nothing_twice(session: SparkSession, tmp_path: Path) -> None:
    made = kind(tmp_path)
    put(session, made, 1, NOON_MS)
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in parquet_files(tmp_path)}
    put(session, made, 1, NOON_MS)
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in parquet_files(tmp_path)} == before
    assert row_counts(tmp_path) == {"groups": 2, "partitions": 3, "topics": 4}
    # no checksums beside the files, nothing half written
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".parquet"}


def test_any_file_system_of_spark_s_will_do(session: SparkSession) -> None:
    made = kind("viewfs://elsewhere/data/history", compact_after=2)
    for number in (1, 2):
        put(session, made, number, NOON_MS + number)
    made.keep(session, NOON_MS)
    where = Path(session.conf.get("spark.warren.elsewhere") or "") / "history"
    assert row_counts(where) == {"groups": 4, "partitions": 6, "topics": 8}
    assert len(parquet_files(where)) == 3


def test_files_of_this_machine_do_not_travel_through_spark(session: SparkSession, tmp_path: Path) -> None:
    there = kind("viewfs://elsewhere/data/far").prepared(session)
    here = kind(tmp_path).prepared(session)
    batch = Batch(1, NOON_MS, example_tables("east", NOON_MS))
    assert all(file.content for file in there.writer().write(batch).files)
    assert all(file.content is None for file in here.writer().write(batch).files)
    assert len(parquet_files(tmp_path)) == 3


def test_a_directory_that_takes_no_file_is_tried_again(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file where the directory should be")
    made = kind(tmp_path / "history").prepared(session)
    with pytest.raises(TryAgainError, match="history"):
        made.writer().write(Batch(1, NOON_MS, example_tables("east", NOON_MS)))


@pytest.mark.parametrize("local", [False, True], ids=["by Spark", "on this machine's disk"])
def test_small_files_become_one_and_no_row_is_lost_or_doubled(
    session: SparkSession, tmp_path: Path, *, local: bool
) -> None:
    made = kind(tmp_path, tags={"usage": "prod"})
    for number in range(1, 4):
        put(session, made, number, NOON_MS + number * 1000)
    before = pd.read_parquet(tmp_path / "partitions").sort_values(["time", "group", "partition"])
    merge(session, tmp_path, local=local)
    assert len(parquet_files(tmp_path)) == 3
    assert row_counts(tmp_path) == {"groups": 6, "partitions": 9, "topics": 12}
    after = pd.read_parquet(tmp_path / "partitions").sort_values(["time", "group", "partition"])
    pd.testing.assert_frame_equal(
        before.reset_index(drop=True), after.reset_index(drop=True), check_dtype=True
    )
    put(session, made, 4, NOON_MS + 4000)
    assert session.read.parquet(f"{tmp_path}/groups").count() == 8


def test_files_of_spark_s_and_of_earlier_versions_are_merged_too(
    session: SparkSession, tmp_path: Path
) -> None:
    made = kind(tmp_path, tags={"usage": "prod"})
    for number in (1, 2):
        put(session, made, number, NOON_MS + number)
    merge(session, tmp_path, local=False)
    put(session, made, 3, NOON_MS + 3)
    (small,) = [tmp_path / name for name in parquet_files(tmp_path) if "-3." in name and "partitions" in name]
    older = pq.ParquetFile(small).read().drop_columns(["owner"])
    pq.write_table(older, small, store_schema=False)
    before = pd.read_parquet(tmp_path / "partitions").sort_values(["time", "group", "partition"])
    merge(session, tmp_path, local=True)
    assert len(parquet_files(tmp_path)) == 3
    assert row_counts(tmp_path) == {"groups": 6, "partitions": 9, "topics": 12}
    after = pd.read_parquet(tmp_path / "partitions").sort_values(["time", "group", "partition"])
    assert after["lag"].tolist() == before["lag"].tolist()
    assert after["tags"].tolist() == before["tags"].tolist()
    assert after["owner"].isna().tolist() == [False] * 6 + [True] * 3
    assert session.read.parquet(f"{tmp_path}/partitions").where("owner is null").count() == 3


def test_a_day_that_is_over_becomes_one_file_and_old_days_go(session: SparkSession, tmp_path: Path) -> None:
    made = kind(tmp_path, retention_days=2)
    for day in range(4):
        for number in range(2):
            put(session, made, day * 2 + number, NOON_MS + day * DAY_MS + number)
    (tmp_path / "groups" / "cluster=east" / "notes").mkdir()
    kind(tmp_path, retention_days=2).keep(session, NOON_MS + 3 * DAY_MS)
    days = {name.split("/")[2] for name in parquet_files(tmp_path)}
    assert days == {"day=2026-03-02", "day=2026-03-03", "day=2026-03-04"}
    counted = {day: len(list((tmp_path / "groups/cluster=east" / day).iterdir())) for day in days}
    assert counted == {"day=2026-03-02": 1, "day=2026-03-03": 1, "day=2026-03-04": 2}
    assert row_counts(tmp_path)["groups"] == 3 * 2 * 2
    # what is not ours stays
    assert (tmp_path / "groups/cluster=east/notes").is_dir()


def test_a_batch_that_begins_merges_what_is_due(session: SparkSession, tmp_path: Path) -> None:
    made = kind(tmp_path, compact_after=2).prepared(session)
    for number in (1, 2):
        put(session, made, number, NOON_MS + number)
    made.keep(session, NOON_MS)
    assert len(parquet_files(tmp_path)) == 3
    assert row_counts(tmp_path) == {"groups": 4, "partitions": 6, "topics": 8}


@pytest.mark.parametrize("renamed", [False, True], ids=["before the new file was there", "after"])
def test_a_merge_that_was_cut_off_is_put_right(
    session: SparkSession, tmp_path: Path, *, renamed: bool
) -> None:
    made = kind(tmp_path, compact_after=2)
    for number in (1, 2):
        put(session, made, number, NOON_MS + number)
    place = tmp_path / "groups/cluster=east/day=2026-03-01"
    names = tuple(sorted(path.name for path in place.iterdir()))
    both = pd.concat([pd.read_parquet(place / name) for name in names])
    note = Note("20260301T120000.001Z-1_merged.parquet", names)
    files = Files(session, str(tmp_path))
    files.put(f"groups/cluster=east/day=2026-03-01/{NOTE}", msgspec.json.encode(note))
    if renamed:
        both.to_parquet(place / note.file)
    Upkeep(str(tmp_path), "zstd", 100, 0).run(session, NOON_MS)
    assert row_counts(tmp_path)["groups"] == 4
    assert not (place / NOTE).exists()


def test_a_file_system_that_cannot_be_written_is_tried_again(session: SparkSession, tmp_path: Path) -> None:
    """A file stands where the directory should be; root may write everywhere else."""
    (tmp_path / "history").write_text("a file")
    sink = ParquetSink(path=str(tmp_path / "history"), interval=1)
    with running_sinks(session, tmp_path / "checkpoint", {"h": sink}) as running:
        assert eventually(lambda: bool(running.state("h").progress.error), PATIENCE_S)
        assert str(tmp_path / "history") in running.state("h").progress.error
        (tmp_path / "history").unlink()
        running.wait("h", 2)
    frame = pd.read_parquet(tmp_path / "history" / "groups")
    assert frame.groupby(["time", "group"], observed=True).size().max() == 1


def test_the_frame_fills_the_history(session: SparkSession, tmp_path: Path) -> None:
    sink = ParquetSink(path=str(tmp_path / "history"), interval=1, level="group", compact_after=2)
    with running_sinks(session, tmp_path / "checkpoint", {"h": sink}, "east", "west") as running:
        running.wait("h", 4)
        time.sleep(0.1)
    assert not (tmp_path / "history" / "partitions").exists()
    frame = pd.read_parquet(tmp_path / "history" / "groups")
    assert set(frame["cluster"]) == {"east", "west"}
    assert frame.groupby(["cluster", "time", "group"], observed=True).size().max() == 1
    assert frame["time"].nunique() >= 4
    assert abs(frame["time"].max().timestamp() * 1000 - now_ms()) < 60_000
