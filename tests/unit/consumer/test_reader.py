"""A record that cannot be taken: all others are, and it is counted."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.pipeline.hands import commit

from warren.common import frames
from warren.common.group_filter import GroupFilter
from warren.consumer import drain as draining
from warren.consumer import reader
from warren.consumer.drain import _joined
from warren.consumer.plan import Range
from warren.consumer.source import OffsetsSettings, ReadTask
from warren.kafka.batch import Decoded, RawRecords, decode
from warren.storage.bucket import CommitsSeen

SETTINGS = OffsetsSettings(
    "mine", {"bootstrap.servers": "nowhere"}, "offsets", False, False, 100, 1, 99, 0, GroupFilter()
)


def raw(groups: list[str]) -> RawRecords:
    records = [commit(group, "t", number) for number, group in enumerate(groups)]
    keys, values = zip(*records, strict=True) if records else ((), ())
    count = len(records)
    return RawRecords(
        pa.array(keys, pa.binary()), pa.array(values, pa.binary()), np.arange(count), np.full(count, 5)
    )


class Given:
    """A drain that has these records."""

    def __init__(self, groups: list[str]) -> None:
        self._groups = groups

    def records(self, ranges: list[Range]) -> list[RawRecords]:
        return [raw(self._groups)]


@given(groups=st.lists(st.sampled_from(["fine", "bad"]), max_size=40))
def test_a_record_that_cannot_be_taken_does_not_stop_the_others(groups: list[str]) -> None:
    asked = 0

    def fails(records: RawRecords, accept: object) -> Decoded:
        nonlocal asked
        asked += 1
        if any(b"bad" in key for key in records.keys.to_pylist()):
            raise OverflowError("offset overflow while concatenating arrays")
        return decode(records, lambda _: True)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reader, "decode", fails)
        patched.setattr(reader, "cached_drain", lambda *_: Given(groups))
        batches = list(reader.read(SETTINGS, ReadTask("mine", (Range(0, 0, 1, 0),), 0, 1)))

    offsets: list[int] = []
    counted, lost = 0, 0
    for row in (row for batch in batches for row in batch.to_pylist()):
        if row["kind"] == frames.COMMITS:
            offsets += CommitsSeen.read(row["payload"]).offset.tolist()
        elif row["kind"] == frames.SKIPPED:
            said = json.loads(row["payload"])
            counted, lost = counted + said["records"], lost + said["skipped"].get(reader.LOST, 0)
    assert offsets == [number for number, group in enumerate(groups) if group == "fine"]
    assert (counted, lost) == (len(groups), groups.count("bad"))
    if "bad" not in groups:
        assert asked == 1


def test_a_fault_that_is_in_all_records_is_told_instead_of_skipping_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(records: RawRecords, accept: object) -> Decoded:
        if len(records):
            raise MemoryError
        return decode(records, lambda _: True)

    monkeypatch.setattr(reader, "decode", fails)
    monkeypatch.setattr(reader, "cached_drain", lambda *_: Given(["g"] * 200))
    with pytest.raises(reader.UnreadableError, match="offsets: more than 100 records cannot be processed"):
        list(reader.read(SETTINGS, ReadTask("mine", (Range(0, 0, 1, 0),), 0, 1)))


def test_large_records_do_not_overflow_a_column() -> None:
    """Half a million records of 4.3 kB were joined into one column of more than it can hold, again and again."""
    assert np.iinfo(np.int32).max > draining.CHUNK_BYTES * 4
    parts = [raw(["g"] * 10)] * 3
    assert _joined(parts).nbytes == 3 * parts[0].nbytes
    assert parts[0].part(2, 5).order.tolist() == [2, 3, 4]
