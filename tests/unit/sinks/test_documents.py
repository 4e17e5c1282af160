"""Rows become the documents that Telegraf would write."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_tables

from warren.sinks.documents import documents_of, index_at
from warren.sinks.tables import TOPICS, Tables, joined

INDEX = "burrow-%Y.%m.%d"


def made(tables: Tables, **tags: str) -> list[dict[str, Any]]:
    return [json.loads(document.source) for document in documents_of(tables, INDEX, tags)]


def of(measurement: str, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in documents if each["measurement_name"] == measurement]


def test_a_group_is_what_telegraf_makes_of_it() -> None:
    # outputs.elasticsearch of Telegraf 1.37.2: name and tags beside the fields under the measurement's name;
    # inputs.burrow: offset is the sum of the partitions', timestamp the newest, lag that of the worst partition
    (fast, slow) = of("burrow_group", made(example_tables(at_ms=NOW)))
    assert fast["tag"] == {"cluster": "local", "group": "fast"}
    assert slow == {
        "@timestamp": _iso(NOW),
        "measurement_name": "burrow_group",
        "tag": {"cluster": "local", "group": "slow"},
        "burrow_group": {
            "status": "ERR",
            "status_code": 4,
            "partition_count": 3,
            "total_lag": 10,
            "lag": 10,
            "offset": 97,
            "timestamp": NOW - 4_000,
        },
    }


def test_a_partition_is_what_telegraf_makes_of_it() -> None:
    found = of("burrow_partition", made(example_tables(at_ms=NOW)))
    (owned,) = [
        each for each in found if each["tag"]["topic"] == "orders" and each["tag"]["partition"] == "0"
    ]
    assert owned == {
        "@timestamp": _iso(NOW),
        "measurement_name": "burrow_partition",
        # a tag is text, also when it is a number
        "tag": {
            "cluster": "local",
            "group": "slow",
            "topic": "orders",
            "partition": "0",
            "owner": "/10.0.0.1",
        },
        "burrow_partition": {
            "status": "STOP",
            "status_code": 5,
            "lag": 10,
            "offset": 90,
            "timestamp": NOW - 5_000,
        },
    }
    # Telegraf writes the owner that there is not, too
    assert {each["tag"]["owner"] for each in found} == {"/10.0.0.1", ""}


def test_a_topic_is_what_telegraf_makes_of_it() -> None:
    found = of("burrow_topic", made(example_tables(at_ms=NOW)))
    assert len(found) == 4
    (clicks,) = [each for each in found if each["tag"]["topic"] == "clicks"]
    assert clicks == {
        "@timestamp": _iso(NOW),
        "measurement_name": "burrow_topic",
        "tag": {"cluster": "local", "topic": "clicks", "partition": "0"},
        "burrow_topic": {"offset": 10},
    }


def test_a_head_that_is_not_known_makes_no_document() -> None:
    tables = example_tables()
    heads = pa.array([None, 1, 2, 3], pa.int64())
    at = TOPICS.get_field_index("head")
    topics = tables.topics.set_column(at, TOPICS.field("head"), heads)
    found = of("burrow_topic", made(Tables(tables.groups, topics, tables.partitions)))
    assert [each["burrow_topic"]["offset"] for each in found] == [1, 2, 3]


def test_tags_are_added_and_do_not_replace_names() -> None:
    found = made(example_tables("east"), usage="prod", cluster="other")
    assert all(each["tag"]["usage"] == "prod" and each["tag"]["cluster"] == "east" for each in found)


def test_an_id_is_that_of_its_row_for_ever() -> None:
    def ids(tables: Tables) -> list[str]:
        return [document.id for document in documents_of(tables, INDEX, {})]

    once = ids(example_tables(at_ms=NOW))
    assert len(set(once)) == len(once) == 9
    assert ids(example_tables(at_ms=NOW)) == once
    # also after an update of Warren: what is written again must not be there twice
    assert once[0] == "20199d7a365413d9e6cfdee289ced7955d8d3d96"
    assert not {*once} & {*ids(example_tables(at_ms=NOW + 1))}
    assert not {*once} & {*ids(example_tables("east", at_ms=NOW))}


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [
        (1_795_564_799_999, "burrow-2026.11.24"),
        (1_795_564_800_000, "burrow-2026.11.25"),
    ],
)
def test_the_day_of_an_index_is_that_of_its_rows_in_utc(
    time_ms: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    assert index_at(INDEX, time_ms) == expected
    assert {document.index_name for document in documents_of(example_tables(at_ms=time_ms), INDEX, {})} == {
        expected
    }


def test_each_cluster_has_the_time_at_which_it_was_seen() -> None:
    found = made(joined([example_tables("east", NOW), example_tables("west", NOW - 1_500)]))
    assert {(each["tag"]["cluster"], each["@timestamp"]) for each in found} == {
        ("east", _iso(NOW)),
        ("west", _iso(NOW - 1_500)),
    }


def _iso(time_ms: int) -> str:
    return str(pa.scalar(time_ms, pa.timestamp("ms")).cast(pa.string()).as_py()).replace(" ", "T") + "Z"
