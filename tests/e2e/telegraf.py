"""What Telegraf's `inputs.burrow` makes of Warren.

Run by `make test-telegraf` alone: it needs a Telegraf, which has to be built first.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.playing import playing, settled
from tests.integration.httpserver.test_server import local, serving
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers

from warren.demo.stage import CLUSTER
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
    """One round of Telegraf."""
    config = directory / "telegraf.conf"
    config.write_text(
        "[agent]\n  omit_hostname = true\n"
        f'[[inputs.burrow]]\n  servers = ["{url}"]\n'
        f'[[outputs.file]]\n  files = ["{directory / "out.json"}"]\n  data_format = "json"\n'
    )
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
    found = [json.loads(line) for line in (directory / "out.json").read_text().splitlines()]
    return {(each["name"], frozenset(each["tags"].items())): each["fields"] for each in found}


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
