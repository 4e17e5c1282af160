"""Frames: buckets are the same in every process, and what is packed comes out again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.common import frames
from warren.common.checkpoint import OWNER_BUCKETS, WINDOW_BUCKETS

topics = st.text(min_size=1, max_size=30).filter(lambda name: name.isprintable())


# a state row lives in its bucket for as long as the checkpoint: these numbers change with `checkpoint.VERSION` alone
@pytest.mark.parametrize(
    ("topic", "partition", "bucket"),
    [("orders", 0, 7), ("orders", 1, 2), ("orders", 49, 4), ("größe", 3, 3), ("", 0, 0)],
)
def test_a_topic_partition_has_its_bucket_for_ever(topic: str, partition: int, bucket: int) -> None:
    assert int(frames.bucket_of(pa.array([topic]), np.array([partition]))[0]) == bucket


@pytest.mark.parametrize(("group", "bucket"), [("billing", 10), ("größe", 9), ("", 8)])
def test_a_group_has_its_bucket_for_ever(group: str, bucket: int) -> None:
    assert frames.owner_bucket_of(group) == bucket


def test_buckets_do_not_depend_on_the_process() -> None:
    # Python's own hash of a text differs from process to process
    program = (
        "import numpy as np, pyarrow as pa; from warren.common import frames;"
        "print(frames.bucket_of(pa.array(['orders', 'größe']), np.array([1, 2])).tolist(),"
        " frames.owner_bucket_of('billing'))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1", "PYTHONPATH": ":".join(filter(None, sys.path))},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@given(st.lists(st.tuples(topics, st.integers(0, 10_000)), min_size=1, max_size=50))
def test_a_bucket_does_not_depend_on_its_company(places: list[tuple[str, int]]) -> None:
    names, numbers = pa.array([topic for topic, _ in places]), np.array([number for _, number in places])
    together = frames.bucket_of(names, numbers)
    assert ((together >= 0) & (together < WINDOW_BUCKETS)).all()
    alone = [int(frames.bucket_of(pa.array([topic]), np.array([number]))[0]) for topic, number in places]
    assert together.tolist() == alone


@given(topics)
def test_a_group_is_among_the_buckets_of_owners(group: str) -> None:
    assert 0 <= frames.owner_bucket_of(group) - WINDOW_BUCKETS < OWNER_BUCKETS


def test_partitions_of_a_topic_spread() -> None:
    buckets = frames.bucket_of(pa.array(["orders"] * 256), np.arange(256))
    counts = np.bincount(buckets, minlength=WINDOW_BUCKETS)
    assert counts.max() <= 2 * 256 / WINDOW_BUCKETS


@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), topics)),
    st.dictionaries(topics, topics),
)
def test_what_is_packed_comes_out_again(rows: list[tuple[int, str]], said: dict[str, str]) -> None:
    columns = {
        "number": np.array([number for number, _ in rows], dtype=np.int64),
        "name": pa.array([name for _, name in rows], pa.string()),
    }
    batch = frames.unpack(frames.pack(columns, said))
    assert batch.to_pydict() == {"number": [number for number, _ in rows], "name": [name for _, name in rows]}
    assert frames.metadata(batch) == said
    assert frames.ints(batch, "number").tolist() == [number for number, _ in rows]
