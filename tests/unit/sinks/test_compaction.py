"""Which files of a day become one, and how."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warren.sinks import compaction
from warren.sinks.compaction import Upkeep
from warren.sinks.hadoop import FileInfo


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ([], []),
        ([10], []),
        ([10, 20, 30], [("0", "1", "2")]),
        ([60, 60, 30, 20], [("1", "2")]),
        ([200, 10, 10], [("1", "2")]),
        ([50, 50, 50, 50], [("0", "1"), ("2", "3")]),
    ],
    ids=["none", "one", "small ones", "in order", "a large one stays", "as large as they may be"],
)
def test_files_become_one_in_order_and_not_too_large(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], wanted: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(compaction, "_LARGE_BYTES", 100)
    files = [FileInfo(str(number), size, is_directory=False) for number, size in enumerate(sizes)]
    assert list(compaction._grouped(files)) == wanted


class Days:
    """A history of one table, in place of its files."""

    def __init__(self, **clusters: Iterable[str]) -> None:
        # days by cluster
        self.clusters = {cluster: list(days) for cluster, days in clusters.items()}

    def list(self, name: str) -> Sequence[FileInfo]:
        if name == "groups":
            return [FileInfo(f"cluster={each}", 0, is_directory=True) for each in self.clusters]
        table, _, cluster = name.partition("/cluster=")
        days = self.clusters.get(cluster, ()) if table == "groups" else ()
        return [FileInfo(f"day={day}", 0, is_directory=True) for day in days]

    def remove(self, name: str) -> None:
        cluster, _, day = name.removeprefix("groups/cluster=").partition("/day=")
        if day:
            self.clusters[cluster].remove(day)


def keep(monkeypatch: pytest.MonkeyPatch, days: Days, today: dt.date) -> None:
    """Upkeep after a start at noon, with three days before today to be kept."""
    monkeypatch.setattr(compaction, "Files", lambda *_: days)
    noon = dt.datetime.combine(today, dt.time(12), dt.UTC)
    session: Any = None
    Upkeep("/history", "zstd", 120, 3).run(session, round(noon.timestamp() * 1000))


def march(first: int, last: int) -> list[str]:
    return [f"2026-03-{day:02}" for day in range(first, last + 1)]


def test_days_that_are_too_old_go_and_those_of_a_cluster_that_is_watched_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    days = Days(east=march(1, 9), gone=march(1, 7))
    keep(monkeypatch, days, dt.date(2026, 3, 9))
    assert days.clusters == {"east": march(6, 9), "gone": march(6, 7)}


def test_a_clock_that_was_months_ahead_emptied_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    days = Days(east=march(1, 4), west=march(2, 3))
    keep(monkeypatch, days, dt.date(2026, 7, 2))
    assert days.clusters == {"east": march(1, 4), "west": march(2, 3)}
    # a day with the wrong clock takes the place of one, as every day does
    days.clusters["east"].append("2026-07-02")
    keep(monkeypatch, days, dt.date(2026, 7, 2))
    assert days.clusters == {"east": [*march(2, 4), "2026-07-02"], "west": march(2, 3)}
    # with the right clock again days go as ever, and that one does not count until it comes
    days.clusters["east"][-1:] = [*march(5, 6), "2026-07-02"]
    keep(monkeypatch, days, dt.date(2026, 3, 6))
    assert days.clusters == {"east": [*march(3, 6), "2026-07-02"], "west": march(3, 3)}
    keep(monkeypatch, days, dt.date(2026, 5, 1))
    assert days.clusters["east"] == [*march(3, 6), "2026-07-02"]


@pytest.mark.parametrize("rows", [1, 2, 3, 100], ids="row groups of {}".format)
def test_files_are_merged_in_pieces_and_a_column_that_one_lacks_is_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(compaction, "_ROW_GROUP_ROWS", rows)
    older = pa.table({"lag": [1, 2, 3]})
    newer = pa.table({"lag": [4, 5], "owner": ["a", None]})
    sources = (tmp_path / "1.parquet", tmp_path / "2.parquet")
    for source, table in zip(sources, (older, newer), strict=True):
        pq.write_table(table, source)
    merge = compaction._Merge(sources, tmp_path / "made" / "whole.parquet", "zstd")
    assert list(merge(iter([pa.record_batch({"id": [1]})]))) == []
    with pq.ParquetFile(merge.target) as whole:
        assert whole.read().to_pydict() == {"lag": [1, 2, 3, 4, 5], "owner": [None, None, None, "a", None]}
        assert whole.num_row_groups == {1: 5, 2: 2, 3: 2, 100: 1}[rows]
