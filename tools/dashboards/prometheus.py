"""The questions in PromQL, on what `/metrics` has.

Every expression begins with `max by (...)`, so that two instances of Warren that watch the same clusters count once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig
from grafana_foundation_sdk.models.prometheus import PromQueryFormat, QueryEditorMode
from tools.dashboards.answer import (
    CLUSTER,
    GROUP,
    HEAD,
    LAG,
    OFFSET,
    PARTITION,
    STATUS,
    TOPIC,
    Answer,
    letters,
    organized,
)

_GROUP: Final = "cluster, consumer_group"
_TOPIC_PARTITION: Final = "cluster, topic, partition"
_WINDOW: Final = "cluster, consumer_group, topic, partition"

_OF_CLUSTER: Final = '{cluster=~"$cluster"}'
_OF_GROUP: Final = '{cluster=~"$cluster", consumer_group=~"$group"}'
_OF_GROUP_AND_TOPIC: Final = '{cluster=~"$cluster", consumer_group=~"$group", topic=~"$topic"}'
_OF_TOPIC: Final = '{cluster=~"$cluster", topic=~"$topic"}'


def once(labels: str, series: str) -> str:
    """The series without the labels that say which instance it came from."""
    return f"max by ({labels}) ({series})"


def query(expression: str, legend: str = "") -> Dataquery:
    return Dataquery().expr(expression).legend_format(legend).editor_mode(QueryEditorMode.CODE).range()


def lines(expressions: Mapping[str, str]) -> Answer:
    """Legend: expression."""
    return Answer(
        [
            query(expression, legend).ref_id(letters(number))
            for number, (legend, expression) in enumerate(expressions.items())
        ]
    )


def line(expression: str, legend: str = "") -> Answer:
    return Answer([query(expression, legend).ref_id("A")])


def table(labels: Mapping[str, str], columns: Mapping[str, str]) -> Answer:
    """Label: name of its column; name of a column: expression, one row for each series of the first."""
    queries = [
        query(expression).instant().format(PromQueryFormat.TABLE).ref_id(letters(number))
        for number, expression in enumerate(columns.values())
    ]
    values = {f"Value #{letters(number)}": name for number, name in enumerate(columns)}
    if len(columns) == 1:
        values = dict(zip(("Value",), columns, strict=True))
    merged = [DataTransformerConfig(id_val="merge", options={})] if len(columns) > 1 else []
    return Answer(queries, [*merged, organized({**labels, **values}, hidden=("Time",))])


class Prometheus:
    """Data from a Prometheus that scrapes Warren."""

    name: Final = "prometheus"
    title: Final = "Prometheus"
    plugin: Final = "prometheus"
    group_statuses: Final = MappingProxyType({1: "OK", 2: "WARN", 3: "ERR"})
    partition_statuses: Final = MappingProxyType({1: "OK", 2: "WARN", 4: "STOP", 5: "STALL", 6: "REWIND"})
    everything: Final = ".*"

    def clusters(self) -> str:
        return "label_values(warren_cluster_up, cluster)"

    def groups(self) -> str:
        return f"label_values(burrow_kafka_consumer_status{_OF_CLUSTER}, consumer_group)"

    def topics(self) -> str:
        return f"label_values(burrow_kafka_topic_partition_offset{_OF_CLUSTER}, topic)"

    def topics_of_group(self) -> str:
        return f"label_values(burrow_kafka_consumer_partition_lag{_OF_GROUP}, topic)"

    def groups_by_status_now(self) -> Answer:
        return self.groups_by_status()

    def groups_by_status(self) -> Answer:
        return line(once("cluster, status", f"warren_groups{_OF_CLUSTER}"), "{{cluster}} {{status}}")

    def groups_in_trouble(self) -> Answer:
        lag = once(_GROUP, f"burrow_kafka_consumer_lag_total{_OF_CLUSTER}")
        status = once(_GROUP, f"burrow_kafka_consumer_status{_OF_CLUSTER}")
        worst = f"topk(50, {lag} and on ({_GROUP}) {status} > 1)"
        return table(
            {"cluster": CLUSTER, "consumer_group": GROUP},
            {LAG: worst, STATUS: f"{status} and on ({_GROUP}) {worst}"},
        )

    def lag_of_worst_groups(self) -> Answer:
        of_groups = f"burrow_kafka_consumer_lag_total{_OF_CLUSTER}"
        # the same ten at every step: those of the end
        worst = f"topk(10, {once(_GROUP, f'{of_groups} @ end()')})"
        return line(f"{once(_GROUP, of_groups)} and on ({_GROUP}) {worst}", "{{cluster}} {{consumer_group}}")

    def lag_by_cluster(self) -> Answer | None:
        lag = once(_GROUP, f"burrow_kafka_consumer_lag_total{_OF_CLUSTER}")
        return line(f"sum by (cluster) ({lag})", "{{cluster}}")

    def inflow_by_cluster(self) -> Answer | None:
        return line(f"sum by (cluster) ({_inflow(_OF_CLUSTER)})", "{{cluster}}")

    def group_status(self) -> Answer:
        return line(once(_GROUP, f"burrow_kafka_consumer_status{_OF_GROUP}"), "{{consumer_group}}")

    def group_lag(self) -> Answer:
        return line(once(_GROUP, f"burrow_kafka_consumer_lag_total{_OF_GROUP}"), "{{consumer_group}}")

    def group_partitions(self) -> Answer:
        status = once(_WINDOW, f"burrow_kafka_topic_partition_status{_OF_GROUP}")
        return lines(
            {
                "{{consumer_group}}": f"count by (consumer_group) ({status})",
                "{{consumer_group}} not OK": f"sum by (consumer_group) ({status} > bool 1)",
            }
        )

    def lag_by_topic(self) -> Answer:
        lag = once(_WINDOW, f"burrow_kafka_consumer_partition_lag{_OF_GROUP_AND_TOPIC}")
        return line(
            f"sum by (cluster, consumer_group, topic) ({lag})",
            "{{consumer_group}} {{topic}}",
        )

    def lag_by_partition(self) -> Answer:
        of_windows = f"burrow_kafka_consumer_partition_lag{_OF_GROUP_AND_TOPIC}"
        worst = f"topk(20, {once(_WINDOW, f'{of_windows} @ end()')})"
        return line(
            f"{once(_WINDOW, of_windows)} and on ({_WINDOW}) {worst}",
            "{{consumer_group}} {{topic}}/{{partition}}",
        )

    def inflow_of_group(self) -> Answer:
        read = once(_TOPIC_PARTITION, f"burrow_kafka_consumer_partition_lag{_OF_GROUP_AND_TOPIC}")
        return line(
            f"sum by (cluster, topic) ({_inflow(_OF_TOPIC)} and on ({_TOPIC_PARTITION}) {read})", "{{topic}}"
        )

    def consumption(self) -> Answer:
        # deriv, not rate: a group that goes back is no counter that was reset
        rate = once(
            _WINDOW, f"deriv(burrow_kafka_consumer_current_offset{_OF_GROUP_AND_TOPIC}[$__rate_interval])"
        )
        return line(f"sum by (cluster, consumer_group, topic) ({rate})", "{{consumer_group}} {{topic}}")

    def group_timeline(self) -> Answer:
        return self.group_status()

    def partition_timeline(self) -> Answer:
        of_windows = f"burrow_kafka_topic_partition_status{_OF_GROUP_AND_TOPIC}"
        worst = f"topk(30, {once(_WINDOW, f'max_over_time({of_windows}[$__range] @ end())')} > 1)"
        return line(
            f"{once(_WINDOW, of_windows)} and on ({_WINDOW}) {worst}",
            "{{consumer_group}} {{topic}}/{{partition}}",
        )

    def lagging_partitions(self) -> Answer:
        def of(metric: str) -> str:
            return once(_WINDOW, f"{metric}{_OF_GROUP_AND_TOPIC}")

        worst = f"topk(50, {of('burrow_kafka_consumer_partition_lag')})"
        head = once(_TOPIC_PARTITION, f"burrow_kafka_topic_partition_offset{_OF_TOPIC}")
        return table(
            {
                "cluster": CLUSTER,
                "consumer_group": GROUP,
                "topic": TOPIC,
                "partition": PARTITION,
            },
            {
                LAG: worst,
                STATUS: f"{of('burrow_kafka_topic_partition_status')} and on ({_WINDOW}) {worst}",
                OFFSET: f"{of('burrow_kafka_consumer_current_offset')} and on ({_WINDOW}) {worst}",
                HEAD: f"({worst}) * 0 + on ({_TOPIC_PARTITION}) group_left () {head}",
            },
        )

    def inflow_by_topic(self) -> Answer:
        def by_topic(at: str = "") -> str:
            return f"sum by (cluster, topic) ({_inflow(_OF_TOPIC, at)})"

        return line(f"{by_topic()} and on (cluster, topic) topk(50, {by_topic('@ end()')})", "{{topic}}")

    def inflow_by_partition(self) -> Answer:
        most = f"topk(50, {_inflow(_OF_TOPIC, '@ end()')})"
        return line(f"{_inflow(_OF_TOPIC)} and on ({_TOPIC_PARTITION}) {most}", "{{topic}}/{{partition}}")

    def topic_lag_by_group(self) -> Answer:
        of_windows = f"burrow_kafka_consumer_partition_lag{_OF_TOPIC}"
        now = f"sum by ({_GROUP}, topic) ({once(_WINDOW, f'{of_windows} @ end()')})"
        return line(
            f"sum by ({_GROUP}, topic) ({once(_WINDOW, of_windows)}) and on ({_GROUP}, topic) topk(20, {now})",
            "{{consumer_group}} {{topic}}",
        )

    def readers(self) -> Answer:
        lag = once(_WINDOW, f"burrow_kafka_consumer_partition_lag{_OF_TOPIC}")
        return table(
            {"cluster": CLUSTER, "consumer_group": GROUP, "topic": TOPIC},
            {LAG: f"topk(100, sum by ({_GROUP}, topic) ({lag}))"},
        )


def _inflow(selector: str, at: str = "") -> str:
    """Records per second into each partition."""
    heads = f"burrow_kafka_topic_partition_offset{selector}[$__rate_interval] {at}".rstrip()
    return once(_TOPIC_PARTITION, f"rate({heads})")
