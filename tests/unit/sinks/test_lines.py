"""Lines as Telegraf writes them, whatever the names are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_tables

from warren.sinks.lines import Lines, escaped, lines_of
from warren.sinks.tables import SCHEMAS, Tables, joined


def texts(lines: Lines) -> list[str]:
    return [bytes(lines.between(at, at + 1)).decode() for at in range(len(lines))]


def made(tables: Tables, tags: Mapping[str, str] | None = None) -> list[str]:
    return texts(lines_of(tables, tags or {}))


def empty() -> Tables:
    return Tables(**{name: schema.empty_table() for name, schema in SCHEMAS.items()})


def test_points_are_those_of_telegraf() -> None:
    group = (
        'burrow_group,cluster=local,group={} status="{}",status_code={}i,partition_count={}i,offset={}i,total_lag={}i,'
        f"lag={{}}i,timestamp={{}}i {NOW}\n"
    )
    topic = f"burrow_topic,cluster=local,partition={{}},topic={{}} offset={{}}i {NOW}\n"
    partition = (
        'burrow_partition,cluster=local,group={},partition={},topic={} status="{}",status_code={}i,lag={}i,offset={}i,'
        f"timestamp={{}}i {NOW}\n"
    )
    assert sorted(made(example_tables())) == sorted(
        [
            group.format("fast", "OK", 1, 1, 10, 0, 0, NOW - 1_000),
            group.format("slow", "ERR", 4, 3, 97, 10, 10, NOW - 4_000),
            topic.format(0, "clicks", 10),
            topic.format(0, "orders", 100),
            topic.format(1, "orders", 50),
            topic.format(2, "orders", 7),
            partition.format("fast", 0, "clicks", "OK", 1, 0, 10, NOW - 1_000),
            partition.format("slow,owner=/10.0.0.1", 0, "orders", "STOP", 5, 10, 90, NOW - 5_000),
            partition.format("slow", 2, "orders", "OK", 1, 0, 7, NOW - 4_000),
        ]
    )


def test_tags_are_added_and_names_of_our_own_win() -> None:
    tags = {"usage": "log stash", "cluster": "other", "host": "", "a=b": "c,d", "project_id": "logis"}
    line = next(line for line in made(example_tables(), tags) if line.startswith("burrow_topic"))
    assert line.startswith("burrow_topic,a\\=b=c\\,d,cluster=local,partition=")
    assert ",project_id=logis,topic=" in line
    assert line.endswith(f",usage=log\\ stash {line.rsplit(' ', 2)[1]} {NOW}\n")
    assert "host" not in line


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("orders", "orders"),
        ("a b", r"a\ b"),
        ("a,b=c", r"a\,b\=c"),
        ("two\nlines", r"two\nlines"),
        ("tab\tand\rreturn\f", r"tab\tand\rreturn\f"),
        ('"quoted"', '"quoted"'),
        ("pay.ments-grøup", "pay.ments-grøup"),
        (r"in\side", r"in\side"),
        (r"before\,comma", r"before\\,comma"),
        ("at the end\\", r"at\ the\ end"),
        ("\\\\", ""),
        ("", ""),
    ],
)
def test_letters_that_mean_something_are_escaped(name: str, written: str) -> None:
    assert escaped(name) == written


def test_a_head_that_is_not_known_is_no_point() -> None:
    tables = example_tables()
    heads = tables.topics.column("head").to_pylist()
    heads[0] = None
    at = tables.topics.schema.get_field_index("head")
    topics = tables.topics.set_column(at, tables.topics.schema.field("head"), pa.array(heads, pa.int64()))
    assert len(made(replace(empty(), topics=topics))) == len(heads) - 1


def test_clusters_of_one_sample_keep_their_names() -> None:
    one, other = example_tables("one"), example_tables("other")
    assert sorted(made(joined([one, other]))) == sorted(made(one) + made(other))


def test_any_run_of_lines_is_a_body() -> None:
    lines = lines_of(example_tables(), {})
    assert bytes(lines.between(2, 5)).decode() == "".join(texts(lines)[2:5])
    assert bytes(lines.between(0, len(lines))).decode() == "".join(texts(lines))


def test_part_of_a_table_is_written_as_it_stands() -> None:
    tables = example_tables()
    part = replace(empty(), partitions=tables.partitions.slice(1, 1))
    assert made(part) == [line for line in made(tables) if "owner=" in line]


def test_nothing_makes_no_lines() -> None:
    assert made(empty()) == []
