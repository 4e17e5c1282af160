"""The commit records of the fast path, decoded by hand."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from warren.demo.commit_records import VALUE_VERSIONS, Batch, Shape, Workload, java_hash, offsets_partition
from warren.errors import ConfigError

HEAD = 2_000


@dataclass(frozen=True)
class Decoded:
    home: int
    group: str
    topic: str
    partition: int
    offset: int
    timestamp_ms: int


def taken(data: bytes, layout: str) -> tuple[tuple[int, ...], bytes]:
    size = struct.calcsize(layout)
    return struct.unpack(layout, data[:size]), data[size:]


def text(data: bytes) -> tuple[str, bytes]:
    (length,), data = taken(data, ">h")
    return data[:length].decode(), data[length:]


def decoded_value(data: bytes) -> tuple[int, int, int]:
    """(version, offset, timestamp); checks that every byte is accounted for."""
    (version, offset), rest = taken(data, ">hq")
    if version >= 3:
        (epoch,), rest = taken(rest, ">i")
        assert epoch >= -1
    if version == 4:
        (length,), rest = taken(rest, ">B")
        assert length == 1
        (timestamp, tags), rest = taken(rest, ">qB")
        assert tags == 0
    else:
        metadata, rest = text(rest)
        assert metadata == ""
        (timestamp,), rest = taken(rest, ">q")
    if version == 1:
        (expires,), rest = taken(rest, ">q")
        assert expires > timestamp
    assert rest == b""
    return version, offset, timestamp


def decoded(batches: list[Batch], version: int = 3) -> list[Decoded]:
    records = []
    for batch in batches:
        for key, value in zip(batch.keys, batch.values, strict=True):
            (key_version,), rest = taken(key, ">h")
            group, rest = text(rest)
            topic, rest = text(rest)
            (partition,), rest = taken(rest, ">i")
            assert (key_version, rest) == (1, b"")
            found, offset, timestamp = decoded_value(value)
            assert found == version
            records.append(Decoded(batch.partition, group, topic, partition, offset, timestamp))
    return records


def written(shape: Shape, count: int, seed: int = 1, first: int = 0, head: int = HEAD) -> list[Decoded]:
    times = np.arange(first, first + count) + 1_000_000
    return decoded(Workload(shape, seed).batches(first, head, times), shape.value_version)


@pytest.mark.parametrize("version", VALUE_VERSIONS)
def test_each_value_version_decodes_to_what_was_meant(version: int) -> None:
    shape = Shape(groups=7, partitions=3, data_topic="täglich", offsets_partitions=5, value_version=version)
    records = written(shape, 21)
    assert {(r.group, r.partition) for r in records} == {
        (f"bench-group-{group}", partition) for group in range(7) for partition in range(3)
    }
    assert {record.topic for record in records} == {"täglich"}
    assert sorted(record.timestamp_ms for record in records) == list(range(1_000_000, 1_000_021))


def test_a_value_that_ends_in_zeros_keeps_them() -> None:
    batches = Workload(Shape(groups=1, partitions=1), 1).batches(0, HEAD, np.array([1 << 40]))
    assert [len(value) for batch in batches for value in batch.values] == [24]
    assert decoded(batches)[0].timestamp_ms == 1 << 40


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("warehouse-loader", -1947316643),
        ("polygenelubricants", -(1 << 31)),
        ("ключ", 33309882),
        ("\U0001f430 warren", 2082727392),
    ],
    ids=["empty", "one letter", "word", "negative", "the lowest", "not latin", "a surrogate pair"],
)
def test_java_hash(name: str, value: int) -> None:
    assert java_hash(name) == value


def test_the_group_with_the_lowest_hash_is_in_partition_0() -> None:
    assert offsets_partition("polygenelubricants", 50) == 0


def test_all_commits_of_a_group_are_in_the_partition_that_kafka_would_take() -> None:
    records = written(Shape(groups=40, partitions=3, offsets_partitions=8), 360)
    assert all(record.home == offsets_partition(record.group, 8) for record in records)
    assert len({record.home for record in records}) > 4


def test_every_window_gets_one_commit_per_round() -> None:
    records = written(Shape(groups=11, partitions=4, offsets_partitions=3), 44 * 5)
    assert set(Counter((record.group, record.partition) for record in records).values()) == {5}


def test_chunks_continue_each_other() -> None:
    shape = Shape(groups=11, partitions=4, offsets_partitions=3)
    whole = written(shape, 100)
    parts = written(shape, 37) + written(shape, 63, first=37)
    assert sorted(whole, key=repr) == sorted(parts, key=repr)


def test_records_of_a_window_stay_in_the_order_of_their_times() -> None:
    times = defaultdict(list)
    for record in written(Shape(groups=11, partitions=4, offsets_partitions=3), 44 * 6):
        times[record.group, record.partition].append(record.timestamp_ms)
    assert all(earlier < later for one in times.values() for earlier, later in pairwise(one))


def test_offsets_stay_below_the_head_and_groups_behave_differently() -> None:
    moves = defaultdict(list)
    for record in written(Shape(groups=200, partitions=1, offsets_partitions=3), 200 * 30):
        assert 0 <= record.offset <= HEAD
        moves[record.group].append(record.offset)
    kinds = Counter(
        "falls"
        if any(b < a for a, b in pairwise(one))
        else "sticks"
        if len(set(one)) == 1 and one[0] < HEAD
        else "at the head"
        if one[-1] == HEAD
        else "behind"
        for one in moves.values()
    )
    assert set(kinds) == {"falls", "sticks", "at the head", "behind"}
    assert kinds["at the head"] > 50


def test_a_seed_repeats_and_another_does_not() -> None:
    shape = Shape(groups=20, partitions=4)
    assert written(shape, 80, seed=3) == written(shape, 80, seed=3)
    assert written(shape, 80, seed=3) != written(shape, 80, seed=4)


def test_times_lead_up_to_the_end_and_a_group_commits_once_per_interval() -> None:
    shape = Shape(groups=10, partitions=4)
    workload = Workload(shape, 1)
    times = workload.spread_times(0, 120, 120, end_ms=900_000, interval_ms=5_000)
    assert times[-1] == 900_000
    # all partitions of a group at once, the next group half a second later, the next round an interval later
    assert times[:8].tolist() == [885_500] * 4 + [886_000] * 4
    assert times[40] - times[0] == 5_000
    chunked = [workload.spread_times(at, 30, 120, 900_000, 5_000) for at in range(0, 120, 30)]
    assert np.concatenate(chunked).tolist() == times.tolist()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"groups": 0}, "groups: must be at least 1"),
        ({"partitions": -1}, "partitions: must be at least 1"),
        ({"value_version": 9}, "value-version: 9 is not one of 0, 1, 2, 3, 4"),
        ({"offsets_topic": "__consumer_offsets"}, "belongs to the broker"),
    ],
    ids=["no groups", "no partitions", "unknown version", "the broker's own topic"],
)
def test_a_shape_that_cannot_be_is_refused(settings: dict[str, int | str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Shape(**settings)  # type: ignore[arg-type]


def test_all_problems_of_a_shape_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Shape(groups=0, value_version=7)
    assert len(caught.value.problems) == 2
