"""Which files of a day become one, and how."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warren.sinks import compaction
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
