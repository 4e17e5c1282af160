"""The names that other exporters have for what Warren knows: for dashboards that were made for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warren.httpserver.exposition import Family, Series, escaped, text
from warren.snapshot.model import ClusterSnapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Facts:
    """One cluster's numbers by what they belong to. What is not known is left out, never NaN."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self.cluster = snapshot.name
        self._snapshot = snapshot
        table = snapshot.window_table()
        committed = np.flatnonzero(table.offset >= 0)
        self._table = table
        self._group, self._topic = table.group[committed], table.topic[committed]
        self._partition = table.partition[committed].tolist()
        self._lag, self._offset = table.current_lag[committed], table.offset[committed]
        self._status = table.status[committed]

    @cached_property
    def windows(self) -> list[tuple[str, ...]]:
        """Group, topic and partition of every window."""
        groups, topics = self._table.groups, self._table.topics
        rows = zip(self._group.tolist(), self._topic.tolist(), self._partition, strict=True)
        return [(groups[group], topics[topic], str(partition)) for group, topic, partition in rows]

    @cached_property
    def _pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Group and topic as one number: each once, and where each window's stands among them."""
        joined = self._group.astype(np.int64) * max(len(self._table.topics), 1) + self._topic
        found, where = np.unique(joined, return_inverse=True)
        return found, where

    @cached_property
    def pairs(self) -> list[tuple[str, ...]]:
        """Group and topic, each once."""
        width = max(len(self._table.topics), 1)
        groups, topics = self._table.groups, self._table.topics
        return [(groups[each // width], topics[each % width]) for each in self._pairs[0].tolist()]

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        return [(name,) for name in self._snapshot.group_table().names]

    @cached_property
    def _heads(self) -> list[tuple[str, int, int | None, int | None]]:
        return [
            (topic, number, each.head, each.tail)
            for topic in self._snapshot.topics()
            for number, each in enumerate(self._snapshot.topic(topic) or ())
        ]

    def lag(self) -> Values:
        return self.windows, self._lag.tolist()

    def offset(self) -> Values:
        return self.windows, self._offset.tolist()

    def next_status(self) -> Values:
        """Numbers that begin with 1 for NOTFOUND."""
        return self.windows, (self._status.astype(np.int64) + 1).tolist()

    def window_head(self) -> Values:
        heads = {(topic, str(number)): head for topic, number, head, _ in self._heads}
        found = [(each, heads.get((each[1], each[2]))) for each in self.windows]
        return _known(found)

    def topic_lag(self) -> Values:
        return self.pairs, self._summed(self._lag)

    def topic_offset(self) -> Values:
        return self.pairs, self._summed(self._offset)

    def total_lag(self) -> Values:
        return self.groups, self._snapshot.group_table().totallag.tolist()

    def max_lag(self) -> Values:
        return self.groups, self._snapshot.group_table().maxlag.tolist()

    def next_group_status(self) -> Values:
        return self.groups, [each + 1 for each in self._snapshot.group_table().status.tolist()]

    def head(self) -> Values:
        return _known([((topic, str(number)), head) for topic, number, head, _ in self._heads])

    def tail(self) -> Values:
        return _known([((topic, str(number)), tail) for topic, number, _, tail in self._heads])

    def partitions(self) -> Values:
        counted: dict[tuple[str, ...], int] = {}
        for topic, *_ in self._heads:
            counted[topic,] = counted.get((topic,), 0) + 1
        return list(counted), list(counted.values())

    def head_sum(self) -> Values:
        return _added(self.head())

    def tail_sum(self) -> Values:
        return _added(self.tail())

    def _summed(self, values: NDArray[Any]) -> list[int]:
        found, where = self._pairs
        sums = np.zeros(len(found), dtype=np.int64)
        np.add.at(sums, where, values)
        return sums.tolist()


# names, in the order of a family's labels, and their values
Values = tuple[Sequence[tuple[str, ...]], Sequence[int]]


def _known(rows: Sequence[tuple[tuple[str, ...], int | None]]) -> Values:
    there = [(names, value) for names, value in rows if value is not None]
    return [names for names, _ in there], [value for _, value in there]


def _added(given: Values) -> Values:
    """By topic."""
    sums: dict[tuple[str, ...], int] = {}
    for (topic, *_), value in zip(*given, strict=True):
        sums[topic,] = sums.get((topic,), 0) + value
    return list(sums), list(sums.values())


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of another exporter."""

    family: Family
    # after the cluster's
    labels: tuple[str, ...]
    values: Callable[[Facts], Values]


@dataclass(frozen=True, slots=True)
class Exporter:
    """What another exporter shows, as far as Warren knows it."""

    # label of the cluster: some exporters have none, since they know one only
    cluster: str
    metrics: tuple[Metric, ...]

    def render(self, clusters: Sequence[Facts]) -> Iterator[bytes]:
        labels = [_Labels(f'{{{self.cluster}="{escaped(facts.cluster)}"') for facts in clusters]
        for metric in self.metrics:
            yield text(
                metric.family,
                [_series(metric, facts, of) for facts, of in zip(clusters, labels, strict=True)],
            )


def _series(metric: Metric, facts: Facts, labels: _Labels) -> Series:
    names, values = metric.values(facts)
    return labels.of(metric.labels, names), values


class _Labels:
    """The labels of one cluster's series: several metrics have the same, and few names make up all of them."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        # labels: the names, and what was made of them
        self._made: dict[tuple[str, ...], tuple[Sequence[tuple[str, ...]], Sequence[str]]] = {}

    def of(self, labels: tuple[str, ...], names: Sequence[tuple[str, ...]]) -> Sequence[str]:
        known = self._made.get(labels)
        if known is not None and known[0] is names:
            return known[1]
        columns = [
            _pieces(label, column) for label, column in zip(labels, zip(*names, strict=True), strict=True)
        ]
        made = [f"{self._cluster}{''.join(each)}}} " for each in zip(*columns, strict=True)]
        self._made[labels] = names, made
        return made


def _pieces(label: str, names: Sequence[str]) -> Iterator[str]:
    made = {name: f',{label}="{escaped(name)}"' for name in set(names)}
    return map(made.__getitem__, names)


_LAG: Final = "Messages that the group is behind the head of the partition"
_TOPIC_LAG: Final = "Messages that the group is behind on all partitions of the topic"
_OFFSET: Final = "Newest offset that the group has committed for the partition"
_HEAD: Final = "Head of the partition on the brokers"
_TAIL: Final = "First offset of the partition that the brokers have"
# a gauge, but Prometheus' linter allows the suffix _sum for histograms and summaries only
_SUM: Final = "untyped"


def _kafka_exporter() -> Exporter:
    window = ("consumergroup", "topic", "partition")
    return Exporter(
        "cluster",
        (
            Metric(Family("kafka_consumergroup_current_offset", _OFFSET), window, Facts.offset),
            Metric(
                Family(
                    "kafka_consumergroup_current_offset_sum", "Sum of the group's offsets on the topic", _SUM
                ),
                window[:2],
                Facts.topic_offset,
            ),
            Metric(Family("kafka_consumergroup_lag", _LAG), window, Facts.lag),
            Metric(Family("kafka_consumergroup_lag_sum", _TOPIC_LAG, _SUM), window[:2], Facts.topic_lag),
            Metric(Family("kafka_topic_partition_current_offset", _HEAD), window[1:], Facts.head),
            Metric(Family("kafka_topic_partition_oldest_offset", _TAIL), window[1:], Facts.tail),
            Metric(Family("kafka_topic_partitions", "Partitions of the topic"), ("topic",), Facts.partitions),
        ),
    )


def _kafka_lag_exporter() -> Exporter:
    window = ("group", "topic", "partition")
    return Exporter(
        "cluster_name",
        (
            Metric(Family("kafka_consumergroup_group_lag", _LAG), window, Facts.lag),
            Metric(
                Family("kafka_consumergroup_group_max_lag", "Greatest lag of the group on a partition"),
                window[:1],
                Facts.max_lag,
            ),
            Metric(Family("kafka_consumergroup_group_offset", _OFFSET), window, Facts.offset),
            Metric(
                Family("kafka_consumergroup_group_sum_lag", "Sum of the lags of the group's partitions"),
                window[:1],
                Facts.total_lag,
            ),
            Metric(
                Family("kafka_consumergroup_group_topic_sum_lag", _TOPIC_LAG), window[:2], Facts.topic_lag
            ),
            Metric(Family("kafka_partition_earliest_offset", _TAIL), window[1:], Facts.tail),
            Metric(Family("kafka_partition_latest_offset", _HEAD), window[1:], Facts.head),
        ),
    )


def _kminion() -> Exporter:
    window = ("group_id", "topic_name", "partition_id")
    return Exporter(
        "cluster",
        (
            Metric(Family("kminion_kafka_consumer_group_topic_lag", _TOPIC_LAG), window[:2], Facts.topic_lag),
            Metric(
                Family(
                    "kminion_kafka_consumer_group_topic_offset_sum",
                    "Sum of the group's offsets on the topic",
                    _SUM,
                ),
                window[:2],
                Facts.topic_offset,
            ),
            Metric(Family("kminion_kafka_consumer_group_topic_partition_lag", _LAG), window, Facts.lag),
            Metric(
                Family("kminion_kafka_topic_high_water_mark_sum", "Sum of the heads of the topic", _SUM),
                ("topic_name",),
                Facts.head_sum,
            ),
            Metric(
                Family(
                    "kminion_kafka_topic_low_water_mark_sum", "Sum of the first offsets of the topic", _SUM
                ),
                ("topic_name",),
                Facts.tail_sum,
            ),
            Metric(Family("kminion_kafka_topic_partition_high_water_mark", _HEAD), window[1:], Facts.head),
            Metric(Family("kminion_kafka_topic_partition_low_water_mark", _TAIL), window[1:], Facts.tail),
        ),
    )


def _burrow_exporter() -> Exporter:
    window = ("group", "topic", "partition")
    numbers = "1 NOTFOUND, 2 OK, 3 WARN, 4 ERR, 5 STOP, 6 STALL, 7 REWIND"
    return Exporter(
        "cluster",
        (
            Metric(Family("kafka_burrow_partition_current_offset", _OFFSET), window, Facts.offset),
            Metric(Family("kafka_burrow_partition_lag", _LAG), window, Facts.lag),
            Metric(Family("kafka_burrow_partition_max_offset", _HEAD), window, Facts.window_head),
            Metric(
                Family("kafka_burrow_partition_status", f"Status of the partition: {numbers}"),
                window,
                Facts.next_status,
            ),
            Metric(
                Family("kafka_burrow_status", f"Status of the group: {numbers}"),
                window[:1],
                Facts.next_group_status,
            ),
            Metric(Family("kafka_burrow_topic_partition_offset", _HEAD), window[1:], Facts.head),
            Metric(
                Family("kafka_burrow_total_lag", "Sum of the lags of the group's partitions"),
                window[:1],
                Facts.total_lag,
            ),
        ),
    )


# name in the configuration: what it shows
EXPORTERS: Final[Mapping[str, Exporter]] = {
    "kafka_exporter": _kafka_exporter(),
    "kafka-lag-exporter": _kafka_lag_exporter(),
    "kminion": _kminion(),
    "burrow_exporter": _burrow_exporter(),
}


def also_named(snapshots: Sequence[ClusterSnapshot], names: Sequence[str]) -> Iterator[bytes]:
    """The metrics of these exporters, one piece per family."""
    if not names:
        return
    clusters = [Facts(snapshot) for snapshot in snapshots]
    for name in dict.fromkeys(names):
        yield from EXPORTERS[name].render(clusters)
