"""Batches: the vectorised path against the scalar one, and faults of every kind."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.kafka.probes import probes
from tests.unit.kafka.strategies import Pair, commits, everyone, pairs, raw

from warren.kafka import codec, messages
from warren.kafka.batch import Decoded, RawRecords, decode
from warren.kafka.groups import READ_IN_PART, UNREADABLE_ASSIGNMENT

KAFKA = Path(__file__).parents[2] / "data" / "records" / "kafka-4.1.1.jsonl"

# group, topic, partition, offset, timestamp, order, deleted
Row = tuple[str, str, int, int, int, int, bool]


def commit(group: str, offset: int | None, *, partition: int = 0, key: int = 1, version: int = 3) -> Pair:
    """A commit, or its deletion when there is no offset."""
    fields = {"group": group, "topic": "t", "partition": partition}
    value = None
    if offset is not None:
        value = codec.encode(messages.COMMIT_VALUE, version, {"offset": offset, "timestamp": offset + 1})
    return codec.encode(messages.COMMIT_KEY, key, fields), value


def rows(decoded: Decoded) -> list[Row]:
    """The commits one by one."""
    keys, columns = decoded.keys, decoded.commits
    group, topic, partition = keys.group.to_pylist(), keys.topic.to_pylist(), keys.partition.tolist()
    return [
        (group[key], topic[key], partition[key], *rest)
        for key, *rest in zip(
            columns.key.tolist(),
            columns.offset.tolist(),
            columns.timestamp.tolist(),
            columns.order.tolist(),
            columns.deleted.tolist(),
            strict=True,
        )
    ]


def one_by_one(records: list[Pair], accept: Callable[[str], bool]) -> tuple[list[Row], Counter[str], int]:
    """What the scalar decoder makes of the commits: rows, reasons and the number of denied records."""
    found: list[Row] = []
    skipped: Counter[str] = Counter()
    denied = 0
    for order, (key, value) in enumerate(records):
        if key is None or key[:2] not in (b"\0\0", b"\0\1"):
            continue
        name = codec.decode(messages.COMMIT_KEY, key)
        if name.fault is not None:
            skipped[f"{name.fault} key"] += 1
        elif name.fields["partition"] < 0:
            skipped["negative partition"] += 1
        elif not name.fields["topic"]:
            skipped["empty topic"] += 1
        elif not accept(name.fields["group"]):
            denied += 1
        elif value is None:
            found.append((*name.fields.values(), 0, 0, order, True))
        else:
            read = codec.decode(messages.COMMIT_VALUE, value)
            if not read.known:
                skipped[f"value version {read.version}"] += 1
            elif "timestamp" not in read.fields:
                skipped[f"{read.fault} value"] += 1
            else:
                offset, timestamp = read.fields["offset"], read.fields["timestamp"]
                found.append((*name.fields.values(), offset, timestamp, order, False))
    return found, skipped, denied


def accounted(decoded: Decoded) -> int:
    """Records that the answer tells of."""
    left = sum(
        times
        for reason, times in decoded.skipped.items()
        if reason not in (READ_IN_PART, UNREADABLE_ASSIGNMENT)
    )
    return len(decoded.commits) + len(decoded.groups) + left + decoded.denied


def check(records: list[Pair], accept: Callable[[str], bool]) -> Decoded:
    """Commits as the scalar decoder has them, and no record without a trace."""
    decoded = decode(raw(records), accept)
    found, _, _ = one_by_one(records, accept)
    assert rows(decoded) == found
    assert accounted(decoded) == len(records)
    keys = list(
        zip(
            decoded.keys.group.to_pylist(),
            decoded.keys.topic.to_pylist(),
            decoded.keys.partition.tolist(),
            strict=True,
        )
    )
    assert len(set(keys)) == len(keys)
    assert set(decoded.commits.key.tolist()) == set(range(len(keys)))
    return decoded


@settings(max_examples=100, deadline=None)
@given(records=st.lists(pairs(), max_size=30), refused=st.sampled_from(["", "g", "nobody"]))
def test_the_vectorised_path_equals_the_scalar_one(records: list[Pair], refused: str) -> None:
    check(records, lambda group: group != refused)


@settings(max_examples=100, deadline=None)
@given(records=st.lists(commits(), max_size=20))
def test_faults_of_commits_are_counted_as_the_scalar_decoder_names_them(records: list[Pair]) -> None:
    records = [each for each in records if (each[0] or b"")[:2] in (b"\0\0", b"\0\1")]
    decoded = decode(raw(records), lambda group: group != "g")
    _, skipped, denied = one_by_one(records, lambda group: group != "g")
    assert (Counter(decoded.skipped), decoded.denied) == (skipped, denied)


def real_records() -> list[Pair]:
    """Records that brokers and probes wrote, keys and values put together at random where need be."""
    found = [record for probe in probes() for record in probe.records if len(record[1] or b"") < 1000]
    lines = [json.loads(line) for line in KAFKA.read_text().splitlines()]
    keys = [bytes.fromhex(each["bytes"]) for each in lines if each["message"].endswith("Key")]
    values = [bytes.fromhex(each["bytes"]) for each in lines if each["message"].endswith("Value")]
    return found + [(key, value) for key in keys for value in values]


def mutated(data: bytes | None, rng: random.Random) -> bytes | None:
    """The same with a few bytes changed, cut, repeated or put in; seldom null."""
    if data is None or rng.random() < 0.02:
        return None
    if rng.random() < 0.5:
        return data
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randint(0, len(out))
        match rng.randint(0, 4):
            case 0:
                out[place : place + 1] = rng.randbytes(1)
            case 1:
                del out[place:]
            case 2:
                out[place:place] = rng.randbytes(rng.randint(1, 4))
            case 3:
                out[place : place + rng.randint(1, 4)] = b""
            case 4:
                out[place : place + 4] = rng.choice(
                    [b"\xff\xff", b"\xff\xff\xff\xff", b"\x7f\xff", b"\x80\0"]
                )
    return bytes(out)


def random_pair(rng: random.Random) -> Pair:
    """Random bytes, most behind a version that is known."""
    prefix = rng.choice([b"", rng.randint(0, 25).to_bytes(2, "big"), b"\0\1"])
    version = rng.choice([b"", rng.randint(0, 5).to_bytes(2, "big")])
    return prefix + rng.randbytes(rng.randint(0, 40)), version + rng.randbytes(rng.randint(0, 60))


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_random_and_mutated_records_are_safe(seed: int) -> None:
    rng = random.Random(seed)
    real = real_records()
    records = [random_pair(rng) for _ in range(3000)]
    records += [(mutated(key, rng), mutated(value, rng)) for key, value in rng.choices(real, k=3000)]
    rng.shuffle(records)
    decoded = check(records, everyone)
    # both faults and sound records, so that the test is not about one of them only
    assert len(decoded.commits) > 300
    assert len(decoded.groups) > 30
    assert {"no key", "truncated key", "truncated value", "negative length in key"} <= decoded.skipped.keys()


def test_random_versions_do_not_make_a_counter_each() -> None:
    rng = random.Random(1)
    values = [rng.randbytes(2) + bytes(20) for _ in range(3000)]
    key, _ = commit("g", None)
    decoded = decode(
        raw([(rng.randbytes(8), b"") for _ in range(3000)] + [(key, v) for v in values]), everyone
    )
    assert len(decoded.skipped) <= 25
    assert decoded.skipped["key version other"] > 2000
    assert decoded.skipped["value version other"] > 2000


def key_bytes(body: str) -> bytes:
    """A commit key with this body."""
    return b"\0\1" + bytes.fromhex(body)


GOOD_KEY, GOOD_VALUE = commit("g", 7)
FAULTS: list[tuple[str, bytes | None, bytes | None, str]] = [
    ("null key", None, GOOD_VALUE, "no key"),
    ("empty key", b"", GOOD_VALUE, "truncated key"),
    ("key of one byte", b"\0", GOOD_VALUE, "truncated key"),
    ("group beyond the key", key_bytes("7fff67"), GOOD_VALUE, "truncated key"),
    ("group of length -2", key_bytes("fffe67000174000000"), GOOD_VALUE, "negative length in key"),
    ("topic of length -32768", key_bytes("0001678000"), GOOD_VALUE, "negative length in key"),
    ("partition cut", key_bytes("000167000174000000"), GOOD_VALUE, "truncated key"),
    ("partition -1", key_bytes("000167000174ffffffff"), GOOD_VALUE, "negative partition"),
    ("topic without a name", key_bytes("000167000000000000"), GOOD_VALUE, "empty topic"),
    ("topic null", key_bytes("000167ffff00000000"), GOOD_VALUE, "empty topic"),
    ("key version 25", b"\0\x19\0\1g", GOOD_VALUE, "key version 25"),
    ("key version -1", b"\xff\xff\0\1g", GOOD_VALUE, "key version -1"),
    ("share group", b"\0\x0b\0\1g", b"\0\0", "share group"),
    ("streams group", b"\0\x11\0\1g", b"\0\0", "streams group"),
    ("target assignment", b"\0\x07\0\1g\0\1m", b"\0\0", "consumer group, not needed"),
    ("empty value", GOOD_KEY, b"", "truncated value"),
    ("value of one byte", GOOD_KEY, b"\0", "truncated value"),
    ("value version 5", GOOD_KEY, b"\0\5" + bytes(40), "value version 5"),
    ("value version -1", GOOD_KEY, b"\xff\xff" + bytes(40), "value version -1"),
    ("metadata beyond the value", GOOD_KEY, b"\0\1" + bytes(8) + b"\x7f\xff" + bytes(8), "truncated value"),
    (
        "metadata of length -2",
        GOOD_KEY,
        b"\0\1" + bytes(8) + b"\xff\xfe" + bytes(8),
        "negative length in value",
    ),
    (
        "metadata of two billion",
        GOOD_KEY,
        b"\0\4" + bytes(12) + b"\xff\xff\xff\xff\x07" + bytes(9),
        "truncated value",
    ),
    (
        "varint of 33 bits",
        GOOD_KEY,
        b"\0\4" + bytes(12) + b"\xff\xff\xff\xff\x1f" + bytes(9),
        "overlong varint in value",
    ),
    (
        "varint without end",
        GOOD_KEY,
        b"\0\4" + bytes(12) + b"\xff" * 20,
        "overlong varint in value",
    ),
    ("varint cut", GOOD_KEY, b"\0\4" + bytes(12) + b"\xff\xff", "truncated value"),
    ("group key cut", b"\0\2\0\5g", None, "truncated key"),
    ("member key of length -5", b"\0\5\0\1g\xff\xfb", None, "negative length in key"),
    ("group value version 5", b"\0\2\0\1g", b"\0\5" + bytes(40), "value version 5"),
    ("group value cut before its members", b"\0\2\0\1g", b"\0\3\0\0", "truncated value"),
]


@pytest.mark.parametrize(
    ("key", "value", "reason"), [each[1:] for each in FAULTS], ids=[e[0] for e in FAULTS]
)
def test_faults_are_counted_and_their_neighbours_read(
    key: bytes | None, value: bytes | None, reason: str
) -> None:
    decoded = decode(raw([commit("before", 1), (key, value), commit("after", 2)]), everyone)
    assert decoded.skipped == {reason: 1}
    assert [(each[0], each[3]) for each in rows(decoded)] == [("before", 1), ("after", 2)]
    assert decoded.keys.group.to_pylist() == ["before", "after"]
    assert decoded.groups == []


def test_a_read_never_takes_bytes_of_the_next_record() -> None:
    whole = commit("g", 7)[1]
    assert whole is not None
    decoded = decode(raw([(GOOD_KEY, whole[:-1]), (GOOD_KEY, whole)]), everyone)
    assert rows(decoded) == [("g", "t", 0, 7, 8, 1, False)]


def test_one_commit_under_both_key_versions_is_one_key() -> None:
    trailing = (b"\0\1\0\1g\0\1t\0\0\0\0zz", GOOD_VALUE)
    records = [commit("g", 1, key=0), commit("g", 2, key=1), commit("g", 3, partition=1), trailing]
    decoded = decode(raw(records), everyone)
    assert len(decoded.keys) == 2
    assert (
        decoded.commits.key.tolist()[0] == decoded.commits.key.tolist()[1] == decoded.commits.key.tolist()[3]
    )


def test_names_that_are_not_utf8_are_replaced() -> None:
    key = b"\0\1\0\2a\xff\0\1t\0\0\0\0"
    decoded = decode(raw([(key, GOOD_VALUE), commit("grün", 1)]), everyone)
    assert decoded.keys.group.to_pylist() == ["a�", "grün"]


def test_accept_is_asked_once_per_group_and_applies_to_group_records() -> None:
    asked: list[str] = []

    def accept(group: str) -> bool:
        asked.append(group)
        return group != "denied"

    denied_group = b"\0\2" + b"\0\6denied"
    records = [
        commit("denied", 1),
        commit("fine", 2),
        commit("denied", 3, partition=1),
        commit("fine", 4, partition=1),
        (denied_group, None),
        (b"\0\2\0\4fine", None),
    ]
    decoded = decode(raw(records), accept)
    assert sorted(asked) == ["denied", "fine"]
    assert decoded.denied == 3
    assert [each[0] for each in rows(decoded)] == ["fine", "fine"]
    assert [each.group for each in decoded.groups] == ["fine"]


@pytest.mark.parametrize("observed_at", [11, np.array([11, 12, 13])], ids=["one for all", "one each"])
def test_observed_at_and_order_follow_their_records(observed_at: Any) -> None:
    records = raw([commit("g", 1), (None, None), commit("g", 3)], order=[100, 105, 117])
    decoded = decode(RawRecords(records.keys, records.values, records.order, observed_at), everyone)
    assert decoded.commits.order.tolist() == [100, 117]
    assert decoded.commits.observed_at.tolist() == np.broadcast_to(observed_at, 3)[[0, 2]].tolist()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda array: pa.concat_arrays([pa.array([b"x" * 9], pa.binary()), array])[1:],
        lambda array: pa.chunked_array([array[:1], array[1:]]),
        lambda array: array.cast(pa.large_binary()),
    ],
    ids=["slice", "chunks", "large"],
)
def test_arrow_arrays_of_any_layout(wrap: Callable[[Any], Any]) -> None:
    records = raw([commit("g", 1), commit("h", None), commit("g", 3, version=4)])
    wrapped = RawRecords(wrap(records.keys), wrap(records.values), records.order, 5)
    assert rows(decode(wrapped, everyone)) == rows(decode(records, everyone))
    assert len(rows(decode(wrapped, everyone))) == 3


def test_a_batch_of_nothing() -> None:
    for records in (raw([]), raw([(None, None)])):
        decoded = decode(records, everyone)
        assert (len(decoded.commits), len(decoded.keys), decoded.groups) == (0, 0, [])
    nulls = RawRecords(pa.nulls(2), pa.nulls(2), np.arange(2), 5)
    assert decode(nulls, everyone).skipped == {"no key": 2}
