"""Records of the kafka sink: every column, keys that cannot be confused, and the schema in the docs."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_tables

from warren.sinks.kafka_records import KINDS, key, records
from warren.sinks.kafka_schema import schema
from warren.sinks.tables import SCHEMAS, Tables

DOCS = Path(__file__).parents[3] / "docs"


def values(tags: dict[str, str] | None = None) -> list[dict[str, Any]]:
    made = records(example_tables("east"), 12, tags or {})
    return [json.loads(record.value or b"") for record in made]


@pytest.mark.parametrize("table", KINDS)
def test_a_record_has_every_column_of_its_table(table: str) -> None:
    columns = KINDS[table].__struct_fields__
    assert columns == ("sample", *SCHEMAS[table].names, "tags")


def test_a_row_becomes_a_record() -> None:
    (slow,) = (
        each for each in values({"usage": "prod"}) if each.get("group") == "slow" and each["kind"] == "group"
    )
    assert slow["time"] == NOW
    assert (slow["sample"], slow["cluster"], slow["status"], slow["status_code"]) == (12, "east", "ERR", 4)
    assert (slow["total_lag"], slow["max_lag"], slow["max_lag_topic"], slow["max_lag_partition"]) == (
        10,
        10,
        "orders",
        0,
    )
    assert slow["max_lag_commit_time"] == NOW - 5_000
    assert slow["tags"] == {"usage": "prod"}


def test_a_group_and_its_partitions_have_one_key_and_a_topic_another() -> None:
    keys = {
        (record.key, json.loads(record.value or b"")["kind"])
        for record in records(example_tables("east"), 1, {})
    }
    assert keys == {
        (b'{"cluster":"east","group":"fast"}', "group"),
        (b'{"cluster":"east","group":"fast"}', "partition"),
        (b'{"cluster":"east","group":"slow"}', "group"),
        (b'{"cluster":"east","group":"slow"}', "partition"),
        (b'{"cluster":"east","topic":"orders"}', "topic"),
        (b'{"cluster":"east","topic":"clicks"}', "topic"),
    }


def test_names_with_separators_make_no_keys_that_are_alike() -> None:
    names = ["a", "a,b", 'a","group":"b', "b", "a/b", "a:b", "", "ü", "\\"]
    made = {key(cluster, group=group) for cluster in names for group in names}
    assert len(made) == len(names) ** 2
    assert all(
        json.loads(key(cluster, group=group)) == {"cluster": cluster, "group": group}
        for cluster in names
        for group in names
    )


def test_the_schema_in_the_docs_is_that_of_the_records() -> None:
    stored = json.loads((DOCS / "kafka-records.schema.json").read_text())
    assert stored == schema(), "python -m warren.sinks.kafka_schema docs/kafka-records.schema.json"
    validator = jsonschema_rs.validator_for(stored)
    found = values({"usage": "prod"})
    assert {each["kind"] for each in found} == {"group", "topic", "partition"}
    for each in found:
        validator.validate(each)
        assert not validator.is_valid({name: value for name, value in each.items() if name != "cluster"})
    assert {each.name for each in fields(Tables)} >= set(KINDS)
