"""A changelog of verdicts: what is new, what is gone, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_tables, example_view

from warren.sinks import changes, sample
from warren.sinks.changes import State, applied, changed, record_key
from warren.sinks.kafka_records import Record
from warren.sinks.sample import SampleName
from warren.sinks.tables import SCHEMAS, Reasons, Tables, Tabulator, joined

CAUGHT_UP = {("orders", 0): 90, ("orders", 1): 50, ("orders", 2): 7, ("clicks", 0): 10}


def tables(cluster: str = "east", *, heads: dict[tuple[str, int], int] | None = None) -> Tables:
    return Tabulator(with_reasons=True).tables(example_view(cluster, heads=heads))


def without(given: Tables, group: str) -> Tables:
    """The same sample when the group is gone."""
    kept = {
        name: table.filter(pa.compute.not_equal(table.column("group").cast(pa.string()), group))
        if "group" in table.column_names
        else table
        for name, table in given.named().items()
    }
    return Tables(**kept)


def values(found: list[Record]) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in found if record.value is not None]


def replayed(found: list[Record], state: State | None = None) -> State:
    """What somebody knows who reads these records."""
    known = dict(state or {})
    for record in found:
        applied(known, record.key, record.value)
    return known


def test_at_first_everything_is_new() -> None:
    found, after = changed(tables(), {}, 1, {"usage": "prod"})
    assert {(each["kind"], each["group"], each.get("partition")) for each in values(found)} == {
        ("group_change", "fast", None),
        ("group_change", "slow", None),
        ("partition_change", "fast", 0),
        ("partition_change", "slow", 0),
        ("partition_change", "slow", 2),
    }
    assert {each["status_before"] for each in values(found)} == {None}
    assert {each["tags"]["usage"] for each in values(found)} == {"prod"}
    assert replayed(found) == after


def test_what_stays_the_same_is_not_written() -> None:
    _, before = changed(tables(), {}, 1, {})
    assert changed(tables(), before, 2, {}) == ([], before)


def test_a_change_has_both_statuses_and_the_evidence() -> None:
    _, before = changed(tables(heads=CAUGHT_UP), {}, 1, {})
    found, after = changed(tables(), before, 2, {})
    group, partition = values(found)
    assert (group["group"], group["status_before"], group["status"], group["time"]) == (
        "slow",
        "OK",
        "ERR",
        NOW,
    )
    assert (group["partitions_not_ok"], group["total_lag"]) == (1, 10)
    (evidence,) = group["partitions"]
    assert (partition["status_before"], partition["status"], partition["rule"]) == ("OK", "STOP", "stopped")
    assert "lag is 10" in partition["because"]
    assert partition["window"] == [{"offset": 90, "timestamp": NOW - 5_000, "lag": 10}] == evidence["window"]
    assert (evidence["topic"], evidence["partition"], evidence["because"]) == (
        "orders",
        0,
        partition["because"],
    )
    back, _ = changed(tables(heads=CAUGHT_UP), after, 3, {})
    assert [(each["status_before"], each["status"]) for each in values(back)] == [
        ("ERR", "OK"),
        ("STOP", "OK"),
    ]
    assert values(back)[1]["rule"] is None
    assert [record.headers for record in back] == [(("sample", b"3"),)] * 2


def test_a_group_that_is_gone_leaves_tombstones() -> None:
    _, before = changed(tables(), {}, 1, {})
    found, after = changed(without(tables(), "slow"), before, 2, {})
    assert {(record.key, record.value) for record in found} == {
        (b'{"cluster":"east","group":"slow"}', None),
        (b'{"cluster":"east","group":"slow","topic":"orders","partition":0}', None),
        (b'{"cluster":"east","group":"slow","topic":"orders","partition":2}', None),
    }
    assert {record.time_ms for record in found} == {NOW}
    assert replayed(found, before) == after


def test_the_last_group_of_a_cluster_leaves_tombstones_too() -> None:
    _, before = changed(tables(), {}, 1, {})
    found, after = changed(without(without(tables(), "slow"), "fast"), before, 2, {})
    assert len(found) == 5
    assert after == {}


def test_a_cluster_that_was_not_seen_stays_as_it_was() -> None:
    _, before = changed(joined([tables("east"), tables("west")]), {}, 1, {})
    found, after = changed(tables("west", heads=CAUGHT_UP), before, 2, {})
    assert {each["cluster"] for each in values(found)} == {"west"}
    assert len(found) == 2
    assert after["east", "slow"] == "ERR"


def test_a_group_s_record_has_the_worst_partitions_only(monkeypatch: Any) -> None:
    monkeypatch.setattr(changes, "MAX_PARTITIONS", 1)
    heads = CAUGHT_UP | {("orders", 0): 100, ("orders", 2): 70}
    found, _ = changed(tables(heads=heads), {}, 1, {})
    (slow,) = (each for each in values(found) if each["kind"] == "group_change" and each["group"] == "slow")
    assert slow["partitions_not_ok"] == 2
    assert [(each["partition"], each["lag"]) for each in slow["partitions"]] == [(2, 63)]


def test_records_of_others_in_the_topic_say_nothing() -> None:
    state: State = {}
    for key, value in (
        (None, b"{}"),
        (b"text", b"{}"),
        (b'{"cluster":"c"}', b"{}"),
        (b"[1]", None),
        (b"1", b"1"),
    ):
        applied(state, key, value)
    applied(state, record_key(("c", "g")), b"no JSON")
    assert state == {}


def test_a_sentence_is_made_once_as_of_the_change() -> None:
    reasons = Reasons()
    first = reasons.table(example_view("east")).to_pylist()
    later = reasons.table(example_view("east", NOW + 60_000)).to_pylist()
    assert [row["because"] for row in first] == [row["because"] for row in later]
    assert [row["time"] for row in first] != [row["time"] for row in later]
    assert reasons.table(example_view("east", heads=CAUGHT_UP)).num_rows == 0


def test_samples_have_reasons_only_when_somebody_wants_them() -> None:
    assert example_tables().reasons.num_rows == 0
    assert tables().reasons.num_rows == 1


def test_a_sample_of_an_earlier_version_has_no_reasons(tmp_path: Path) -> None:
    path = tmp_path / str(SampleName(1, NOW, (10,)))
    given = tables()
    with pa.OSFile(str(path), "wb") as file:
        for name in ("groups", "topics", "partitions"):
            with pa.ipc.new_stream(file, SCHEMAS[name]) as stream:
                stream.write_table(given.named()[name])
    found = sample.read(path)
    assert found.reasons.num_rows == 0
    assert found.groups.equals(given.groups)
