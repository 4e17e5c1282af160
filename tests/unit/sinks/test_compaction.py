"""Which files of a day become one."""

from __future__ import annotations

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
