"""Names of other exporters: their names and labels, Warren's values."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel
from tests.unit.sinks.samples import example_view

from warren.config import Settings
from warren.config.sections import Prometheus
from warren.httpserver.app import App
from warren.httpserver.exporters import EXPORTERS, also_named

DOCS = Path(__file__).parents[3] / "docs"


def rendered(*names: str, clusters: tuple[str, ...] = ("local",)) -> str:
    return b"".join(also_named([example_view(name) for name in clusters], names)).decode()


def series(text: str) -> dict[str, float]:
    """`name{label="value",…}`: value."""
    return {
        f"{sample.name}{{{','.join(f'{name}={value}' for name, value in sorted(sample.labels.items()))}}}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


# exporter: some of its series, and their values
EXPECTED = {
    "kafka_exporter": {
        "kafka_consumergroup_lag{cluster=local,consumergroup=slow,partition=0,topic=orders}": 10,
        "kafka_consumergroup_current_offset{cluster=local,consumergroup=slow,partition=2,topic=orders}": 7,
        "kafka_consumergroup_lag_sum{cluster=local,consumergroup=slow,topic=orders}": 10,
        "kafka_consumergroup_current_offset_sum{cluster=local,consumergroup=slow,topic=orders}": 97,
        "kafka_topic_partition_current_offset{cluster=local,partition=1,topic=orders}": 50,
        "kafka_topic_partitions{cluster=local,topic=orders}": 3,
    },
    "kafka-lag-exporter": {
        "kafka_consumergroup_group_lag{cluster_name=local,group=slow,partition=0,topic=orders}": 10,
        "kafka_consumergroup_group_offset{cluster_name=local,group=slow,partition=0,topic=orders}": 90,
        "kafka_consumergroup_group_max_lag{cluster_name=local,group=slow}": 10,
        "kafka_consumergroup_group_sum_lag{cluster_name=local,group=slow}": 10,
        "kafka_consumergroup_group_topic_sum_lag{cluster_name=local,group=fast,topic=clicks}": 0,
        "kafka_partition_latest_offset{cluster_name=local,partition=0,topic=orders}": 100,
    },
    "kminion": {
        "kminion_kafka_consumer_group_topic_partition_lag"
        "{cluster=local,group_id=slow,partition_id=0,topic_name=orders}": 10,
        "kminion_kafka_consumer_group_topic_lag{cluster=local,group_id=slow,topic_name=orders}": 10,
        "kminion_kafka_consumer_group_topic_offset_sum{cluster=local,group_id=slow,topic_name=orders}": 97,
        "kminion_kafka_topic_high_water_mark_sum{cluster=local,topic_name=orders}": 157,
        "kminion_kafka_topic_partition_high_water_mark{cluster=local,partition_id=2,topic_name=orders}": 7,
    },
    "burrow_exporter": {
        "kafka_burrow_partition_lag{cluster=local,group=slow,partition=0,topic=orders}": 10,
        "kafka_burrow_partition_max_offset{cluster=local,group=slow,partition=0,topic=orders}": 100,
        # its numbers begin with 1 for NOTFOUND: 5 STOP, 4 ERR
        "kafka_burrow_partition_status{cluster=local,group=slow,partition=0,topic=orders}": 5,
        "kafka_burrow_status{cluster=local,group=slow}": 4,
        "kafka_burrow_total_lag{cluster=local,group=slow}": 10,
        "kafka_burrow_topic_partition_offset{cluster=local,partition=0,topic=orders}": 100,
    },
}


@pytest.mark.parametrize("name", EXPORTERS)
def test_names_labels_and_values(name: str) -> None:
    found = series(rendered(name))
    assert {each: found.get(each) for each in EXPECTED[name]} == EXPECTED[name]


def test_no_series_is_there_twice_with_all_of_them_and_two_clusters() -> None:
    text = rendered(*EXPORTERS, clusters=("east", "west"))
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
    heads = re.findall("^# TYPE (\\S+)", text, re.MULTILINE)
    assert len(heads) == len(set(heads))


def test_promtool_has_nothing_to_say() -> None:
    text = rendered(*EXPORTERS, clusters=("east", 'we"st\\\n'))
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_they_are_shown_when_the_configuration_says_so() -> None:
    def page(*names: str) -> str:
        settings = Settings(prometheus=Prometheus.model_validate({"also-names": names}))
        answers = MemoryAnswers(snapshots={"local": example_view("local")})
        app = App(settings, answers, MemoryLogLevel(), CollectorRegistry(), host="h")
        return ask(app, "/metrics").body.decode()

    assert "kminion" not in page()
    assert "kafka_consumergroup" not in page("kminion")
    assert "kminion_kafka_consumer_group_topic_lag{" in page("kminion")
    assert "burrow_kafka_consumer_status{" in page("kminion")


def test_the_docs_list_every_name() -> None:
    page = (DOCS / "http-api.md").read_text()
    listed = set(re.findall(r"`((?:kafka|kminion)_\w+)`", page))
    assert listed == {metric.family.name for each in EXPORTERS.values() for metric in each.metrics} | {
        "kafka_exporter"
    }
