"""What Telegraf's `inputs.burrow` makes of Warren.

Run by `make test-telegraf` alone: it needs a Telegraf, which has to be built first.
"""

from __future__ import annotations

import datetime as dt
import json
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.playing import playing, settled
from tests.influxdb import InfluxServer
from tests.integration.httpserver.test_server import local, serving
from tests.pages import blocks
from tests.search_server import SearchServer
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers
from tests.unit.sinks.samples import example_view

from warren.clock import now_ms
from warren.config import Settings
from warren.config.modules import ElasticsearchSink, InfluxdbSink
from warren.demo.stage import CLUSTER
from warren.sinks.kinds import kind_of
from warren.sinks.tables import Tabulator
from warren.sinks.writer import Batch
from warren.snapshot.model import GroupStatus, TopicPartitionHead

ROOT = Path(__file__).parents[2]
# Telegraf's own numbers; it does not know REWIND
CODES = {"OK": 1, "WARN": 3, "ERR": 4, "STOP": 5, "STALL": 6, "REWIND": 0}
UNICODE = "pay.ments-grøup"

# (measurement, its tags by name): its fields
Measured = dict[tuple[str, frozenset[tuple[str, str]]], dict[str, Any]]


@pytest.fixture(scope="session")
def telegraf() -> str:
    built = subprocess.run([ROOT / "tools" / "telegraf"], capture_output=True, text=True, check=True)
    return built.stdout.strip()


def measured(telegraf: str, url: str, directory: Path) -> Measured:
    """One round of Telegraf, into a file."""
    run_once(
        telegraf,
        "[agent]\n  omit_hostname = true\n"
        f'[[inputs.burrow]]\n  servers = ["{url}"]\n'
        f'[[outputs.file]]\n  files = ["{directory / "out.json"}"]\n  data_format = "json"\n',
        directory,
    )
    found = [json.loads(line) for line in (directory / "out.json").read_text().splitlines()]
    return {(each["name"], frozenset(each["tags"].items())): each["fields"] for each in found}


def run_once(telegraf: str, configuration: str, directory: Path) -> None:
    """One round of Telegraf, without an error."""
    config = directory / "telegraf.conf"
    config.write_text(configuration)
    run = subprocess.run(
        [telegraf, "--config", str(config), "--once"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert " E! " not in said, said


def tags(**values: object) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(value)) for name, value in values.items())


def expected_groups(cluster: str, groups: dict[str, GroupStatus]) -> Measured:
    found: Measured = {}
    for name, group in groups.items():
        found["burrow_group", tags(cluster=cluster, group=name)] = {
            "status": group.status.name,
            "status_code": CODES[group.status.name],
            "partition_count": group.partition_count,
            "total_lag": group.totallag,
            "lag": group.maxlag.current_lag if group.maxlag else 0,
        }
        for part in group.partitions:
            own = tags(
                cluster=cluster, group=name, topic=part.topic, partition=part.partition, owner=part.owner
            )
            found["burrow_partition", own] = {
                "status": part.status.name,
                "status_code": CODES[part.status.name],
                "lag": part.current_lag,
                "offset": part.end.offset if part.end else 0,
                "timestamp": part.end.timestamp if part.end else 0,
            }
    return found


def expected_topics(cluster: str, topics: dict[str, tuple[TopicPartitionHead, ...]]) -> Measured:
    return {
        ("burrow_topic", tags(cluster=cluster, topic=topic, partition=number)): {"offset": each.head}
        for topic, heads in topics.items()
        for number, each in enumerate(heads)
    }


def known(found: Measured, expected: Measured) -> Measured:
    """Only the fields that are expected: what Telegraf adds up itself is its own affair."""
    return {
        key: {name: value for name, value in fields.items() if name in expected.get(key, fields)}
        for key, fields in found.items()
    }


def test_every_value_of_a_known_snapshot(telegraf: str, tmp_path: Path) -> None:
    usual = usual_snapshot()
    snapshot = replace(usual, details={})
    assert UNICODE in snapshot.groups()
    with serving(answers=MemoryAnswers(["local"], {"local": snapshot}), httpserver={"a": local()}) as server:
        found = measured(telegraf, server.urls["a"], tmp_path)
    expected = expected_groups("local", dict(usual.statuses)) | expected_topics("local", dict(usual.heads))
    assert known(found, expected) == expected


def test_the_demo_gives_all_three_measurements(telegraf: str, tmp_path: Path) -> None:
    with playing() as stage:
        settled(stage)
        view = stage.service.engine.snapshot(CLUSTER)
        assert view is not None
        found = measured(telegraf, stage.url, tmp_path)
    groups = {name: group for name in view.groups() if (group := view.group(name))}
    topics = {name: heads for name in view.topics() if (heads := view.topic(name))}
    expected = expected_groups(CLUSTER, groups) | expected_topics(CLUSTER, topics)
    assert {name for name, _ in found} == {"burrow_group", "burrow_partition", "burrow_topic"}
    assert known(found, expected).keys() == expected.keys()
    lags = {key: fields["lag"] for key, fields in expected.items() if "lag" in fields}
    assert {key: found[key]["lag"] for key in lags} == lags
    assert any(lags.values())


def configuration_of_the_page(heading: str, addresses: dict[str, str]) -> str:
    """The one under this heading, with other servers than those on the page."""
    (text,) = blocks("docs/telegraf.md", heading)
    for shown, real in addresses.items():
        assert shown in text
        text = text.replace(shown, real)
    return text


def in_influxdb(server: InfluxServer, database: str) -> Measured:
    """What is there without the times; fields that are not there are left out."""
    found: Measured = {}
    for name in ("burrow_group", "burrow_partition", "burrow_topic"):
        for series in server.query(f"SELECT * FROM {name} GROUP BY *", database):
            own = frozenset((key, value) for key, value in series["tags"].items() if value)
            (values,) = series["values"]
            fields = dict(zip(series["columns"], values, strict=True))
            del fields["time"]
            found[name, own] = fields
    return found


def test_the_configuration_for_influxdb(telegraf: str, influxdb: InfluxServer, tmp_path: Path) -> None:
    usual = usual_snapshot()
    database = f"page{tmp_path.name}"
    with serving(
        answers=MemoryAnswers(["local"], {"local": replace(usual, details={})}), httpserver={"a": local()}
    ) as server:
        addresses = {
            "http://localhost:8000": server.urls["a"],
            "http://localhost:8086": influxdb.url,
            '"burrow"': f'"{database}"',
        }
        run_once(telegraf, configuration_of_the_page("To InfluxDB", addresses), tmp_path)
    added = {("usage", "logstash"), ("project_id", "logis"), ("host", socket.gethostname())}
    expected = {
        (name, frozenset({tag for tag in own if tag[1]} | added)): fields
        for (name, own), fields in (
            expected_groups("local", dict(usual.statuses)) | expected_topics("local", dict(usual.heads))
        ).items()
        if ("topic", "__consumer_offsets") not in own
    }
    assert expected
    found = in_influxdb(influxdb, database)
    assert known(found, expected) == expected


def test_the_configuration_for_elasticsearch(
    telegraf: str, elasticsearch: SearchServer, tmp_path: Path
) -> None:
    usual = usual_snapshot()
    with serving(
        answers=MemoryAnswers(["local"], {"local": replace(usual, details={})}), httpserver={"a": local()}
    ) as server:
        addresses = {
            "http://localhost:8000": server.urls["a"],
            "http://localhost:9200": elasticsearch.url,
            '"burrow-%Y': '"page-%Y',
            # the first document makes the index, which takes long on a machine that does other things as well
            '"5s"': '"60s"',
        }
        run_once(telegraf, configuration_of_the_page("To Elasticsearch", addresses), tmp_path)
    today = f"{dt.datetime.now(dt.UTC):%Y.%m.%d}"
    documents = elasticsearch.documents(f"page-{today}")
    host = ("host", socket.gethostname())
    found = {
        (each["measurement_name"], frozenset(each["tag"].items()) - {host}): each[each["measurement_name"]]
        for each in documents
    }
    expected = {
        key: fields
        for key, fields in (
            expected_groups("local", dict(usual.statuses)) | expected_topics("local", dict(usual.heads))
        ).items()
        if ("topic", "__consumer_offsets") not in key[1]
        and not any(name == "group" and value.startswith("console-") for name, value in key[1])
    }
    assert expected
    assert known(found, expected) == expected


def test_our_own_sink_writes_what_telegraf_writes(
    telegraf: str, influxdb: InfluxServer, tmp_path: Path
) -> None:
    view = example_view(at_ms=now_ms())
    databases = {who: f"{who}{tmp_path.name}" for who in ("telegraf", "warren")}
    with serving(answers=MemoryAnswers(["local"], {"local": view}), httpserver={"a": local()}) as server:
        run_once(
            telegraf,
            "[agent]\n  omit_hostname = true\n"
            f'[[inputs.burrow]]\n  servers = ["{server.urls["a"]}"]\n'
            f'[[outputs.influxdb]]\n  urls = ["{influxdb.url}"]\n  database = "{databases["telegraf"]}"\n',
            tmp_path,
        )
    kind = kind_of(InfluxdbSink(url=influxdb.url, database=databases["warren"]), Settings())
    assert kind is not None
    kind.writer().write(Batch(1, view.as_of_ms, Tabulator().tables(view)))
    ours = in_influxdb(influxdb, databases["warren"])
    assert {name for name, _ in ours} == {"burrow_group", "burrow_partition", "burrow_topic"}
    theirs = in_influxdb(influxdb, databases["telegraf"])
    # for a partition without a commit Telegraf writes zeros
    zeros = {key for key, fields in theirs.items() if fields.get("timestamp") == 0}
    assert [dict(own)["partition"] for _, own in zeros] == ["1"]
    assert ours == {key: fields for key, fields in theirs.items() if key not in zeros}


def test_our_own_sink_writes_the_documents_that_telegraf_writes(
    telegraf: str, elasticsearch: SearchServer, tmp_path: Path
) -> None:
    view = example_view(at_ms=now_ms())
    with serving(answers=MemoryAnswers(["local"], {"local": view}), httpserver={"a": local()}) as server:
        run_once(
            telegraf,
            "[agent]\n  omit_hostname = true\n"
            f'[[inputs.burrow]]\n  servers = ["{server.urls["a"]}"]\n'
            f'[[outputs.elasticsearch]]\n  urls = ["{elasticsearch.url}"]\n  index_name = "of-telegraf"\n'
            "  manage_template = false\n",
            tmp_path,
        )
    kind = kind_of(ElasticsearchSink(urls=(elasticsearch.url,), index="of-warren"), Settings())
    assert kind is not None
    kind.writer().write(Batch(1, view.as_of_ms, Tabulator().tables(view)))

    def documents(index: str) -> list[dict[str, Any]]:
        found = elasticsearch.documents(index)
        # Telegraf's time is when it asked
        assert all(dt.datetime.fromisoformat(each.pop("@timestamp")) for each in found)
        return sorted(found, key=lambda each: sorted(each["tag"].items()))

    # for a partition without a commit Telegraf writes zeros
    theirs = [
        each for each in documents("of-telegraf") if each.get("burrow_partition", {}).get("timestamp") != 0
    ]
    assert documents("of-warren") == theirs
    assert len(theirs) == 9
