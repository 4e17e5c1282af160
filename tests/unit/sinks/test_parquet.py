"""From tables to files: how columns are encoded, and what a disk that takes no file does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_tables

from warren.sinks.parquet import ParquetWriter
from warren.sinks.writer import Batch, TryAgainError

if TYPE_CHECKING:
    from pathlib import Path

TAGS = (("host", "a"), ("usage", "production"))


def dictionaries(path: Path) -> set[str]:
    """The columns that have a dictionary in the file."""
    columns = pq.ParquetFile(path).metadata.row_group(0)
    found = [columns.column(at) for at in range(columns.num_columns)]
    return {each.path_in_schema for each in found if each.has_dictionary_page}


def test_names_have_a_dictionary_and_numbers_have_none(tmp_path: Path) -> None:
    written = ParquetWriter("zstd", TAGS, tmp_path).write(Batch(1, NOW, example_tables(at_ms=NOW)))
    partitions = next(file.path for file in written.files if file.path.startswith("partitions/"))
    assert dictionaries(tmp_path / partitions) == {
        *("group", "topic", "owner", "client_id", "status"),
        *("tags.key_value.key", "tags.key_value.value"),
    }


def test_every_file_of_a_sample_is_named_in_the_order_of_its_tables(tmp_path: Path) -> None:
    written = ParquetWriter("zstd", TAGS, tmp_path).write(Batch(1, NOW, example_tables(at_ms=NOW)))
    assert [file.path.partition("/")[0] for file in written.files] == ["groups", "topics", "partitions"]
    assert all((tmp_path / file.path).exists() for file in written.files)


def test_one_file_that_cannot_be_put_down_fails_the_sample(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text("in the way")
    with pytest.raises(TryAgainError, match="topics"):
        ParquetWriter("zstd", TAGS, tmp_path).write(Batch(1, NOW, example_tables(at_ms=NOW)))
