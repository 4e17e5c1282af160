"""A snapshot as tables: what stands in them is what the API says."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from tests.unit.pipeline_double import NOW, Pipeline, look
from tests.unit.sinks.samples import example_view

from warren.common.status import Status
from warren.sinks.codes import STATUS_CODES
from warren.sinks.tables import GROUPS, PARTITIONS, TOPICS, Tabulator, joined

TIME = dt.datetime.fromtimestamp(NOW / 1000, dt.UTC)


def ago(seconds: int) -> dt.datetime:
    return TIME - dt.timedelta(seconds=seconds)


def test_groups_say_what_the_api_says() -> None:
    view = example_view()
    rows = Tabulator().tables(view).groups.to_pylist()
    slow = view.group("slow")
    assert slow is not None
    assert [row["group"] for row in rows] == ["fast", "slow"]
    assert rows[1] == {
        "time": TIME,
        "cluster": "local",
        "group": "slow",
        "status": slow.status.name,
        "status_code": STATUS_CODES[slow.status],
        "complete": 0.0,
        "partition_count": 3,
        "total_lag": 10,
        "total_offset": 97,
        "max_lag": 10,
        "max_lag_topic": "orders",
        "max_lag_partition": 0,
        "max_lag_offset": 90,
        "max_lag_commit_time": ago(5),
        "last_commit_time": ago(4),
    }


def test_partitions_have_lag_offset_head_and_owner() -> None:
    rows = Tabulator().tables(example_view()).partitions.to_pylist()
    assert [
        (row["group"], row["topic"], row["partition"], row["lag"], row["offset"], row["head"], row["owner"])
        for row in rows
    ] == [
        ("fast", "clicks", 0, 0, 10, 10, ""),
        ("slow", "orders", 0, 10, 90, 100, "/10.0.0.1"),
        ("slow", "orders", 2, 0, 7, 7, ""),
    ]
    assert [row["client_id"] for row in rows] == ["", "client of slow", ""]
    assert rows[1]["commit_time"] == ago(5)


def test_topics_have_every_partition_that_the_brokers_have() -> None:
    rows = Tabulator().tables(example_view()).topics.to_pylist()
    assert sorted((row["topic"], row["partition"], row["head"], row["tail"]) for row in rows) == [
        ("clicks", 0, 10, 0),
        ("orders", 0, 100, 0),
        ("orders", 1, 50, 0),
        ("orders", 2, 7, 0),
    ]


def test_a_cluster_without_groups_has_empty_tables_of_the_same_form() -> None:
    tables = Tabulator().tables(Pipeline().trigger(look({}, full=True)))
    assert [table.num_rows for table in tables.named().values()] == [0, 0, 0, 0]
    assert tables.groups.schema == GROUPS
    assert tables.partitions.schema == PARTITIONS
    assert tables.topics.schema == TOPICS


def test_owners_are_looked_up_again_when_they_change() -> None:
    tabulator, view = Tabulator(), example_view()
    tabulator.tables(view)
    changed = replace(view, owners={})
    assert set(tabulator.tables(changed).partitions.column("owner").to_pylist()) == {""}


def test_clusters_are_put_together() -> None:
    tables = joined([Tabulator().tables(example_view(name)) for name in ("east", "west")])
    assert tables.groups.column("cluster").to_pylist() == ["east", "east", "west", "west"]
    assert tables.rows == 2 * (2 + 4 + 3)


def test_every_status_has_a_code_of_its_own_and_trouble_is_3_or_more() -> None:
    assert len(set(STATUS_CODES.values())) == len(Status)
    # Telegraf's
    assert [STATUS_CODES[each] for each in (Status.OK, Status.NOTFOUND, Status.WARN, Status.ERR)] == [
        1,
        2,
        3,
        4,
    ]
    assert (STATUS_CODES[Status.STOP], STATUS_CODES[Status.STALL], STATUS_CODES[Status.REWIND]) == (5, 6, 7)
