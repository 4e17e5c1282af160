"""The questions as Elasticsearch's aggregations, on the documents that the elasticsearch sink writes: Telegraf's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from grafana_foundation_sdk.builders.elasticsearch import (
    Dataquery,
    DateHistogram,
    Derivative,
    ElasticsearchDateHistogramSettings,
    ElasticsearchDerivativeSettings,
    ElasticsearchFiltersSettings,
    ElasticsearchTermsSettings,
    ElasticsearchUniqueCountSettings,
    Filter,
    Filters,
    Max,
    Terms,
    UniqueCount,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig
from grafana_foundation_sdk.models.elasticsearch import BucketAggregation, MetricAggregation, TermsOrder
from tools.dashboards.answer import (
    CLUSTER,
    GROUP,
    LAG,
    OFFSET,
    PARTITION,
    STATUS,
    TOPIC,
    Answer,
    letters,
    organized,
)
from tools.dashboards.influxdb import GROUP_STATUSES, PARTITION_STATUSES

# the fields that are there with Warren's index template, and for documents of Telegraf's that have none
_CLUSTER: Final = "tag.cluster.keyword"
_GROUP: Final = "tag.group.keyword"
_TOPIC: Final = "tag.topic.keyword"
_PARTITION: Final = "tag.partition.keyword"

_OF_CLUSTER: Final = f"{_CLUSTER}:$cluster"
_OF_GROUP: Final = f"{_OF_CLUSTER} AND {_GROUP}:$group"
_OF_TOPIC: Final = f"{_OF_CLUSTER} AND {_TOPIC}:$topic"
_OF_GROUP_AND_TOPIC: Final = f"{_OF_GROUP} AND {_TOPIC}:$topic"

# a search has at most 65,536 buckets: 5 topics x 100 partitions x 100 points
_POINTS: Final = 100
_TOPICS: Final = 5
_PARTITIONS: Final = 100
# several samples in each bucket, so that one more or less in it does not bend the rate much
_RATE_INTERVAL: Final = "1m"
# tables show the greatest value of the last minute: the newest one cannot be asked for
_NEWEST: Final = "1m"
_WORST_PARTITION: Final = (
    "Elasticsearch does not sum up partitions over time: this is the lag of the worst partition."
)


class Elasticsearch:
    """Data from the elasticsearch sink."""

    name: Final = "elasticsearch"
    title: Final = "Elasticsearch"
    plugin: Final = "elasticsearch"
    group_statuses: Final = GROUP_STATUSES
    partition_statuses: Final = PARTITION_STATUSES
    everything: Final = "*"

    def clusters(self) -> str:
        return _names(_CLUSTER, "measurement_name:burrow_group")

    def groups(self) -> str:
        return _names(_GROUP, f"measurement_name:burrow_group AND {_OF_CLUSTER}")

    def topics(self) -> str:
        return _names(_TOPIC, f"measurement_name:burrow_topic AND {_OF_CLUSTER}")

    def topics_of_group(self) -> str:
        return _names(_TOPIC, f"measurement_name:burrow_partition AND {_OF_GROUP}")

    def groups_by_status_now(self) -> Answer:
        return replace(self.groups_by_status(), time_from=_NEWEST)

    def groups_by_status(self) -> Answer:
        filters = [
            Filter().label(status).query(f"burrow_group.status_code:{code}")
            for code, status in GROUP_STATUSES.items()
            if status != "NOTFOUND"
        ]
        exact = ElasticsearchUniqueCountSettings().precision_threshold("40000")
        return _lines(
            f"measurement_name:burrow_group AND {_OF_CLUSTER}",
            f"{_named(_CLUSTER)} {{{{filter}}}}",
            [
                _terms(_CLUSTER),
                Filters().id("20").settings(ElasticsearchFiltersSettings().filters([*filters])),
            ],
            [UniqueCount().id("1").field(_GROUP).settings(exact)],
        )

    def groups_in_trouble(self) -> Answer:
        return _table(
            f"measurement_name:burrow_group AND {_OF_CLUSTER} AND burrow_group.status_code:>=3",
            {_CLUSTER: CLUSTER, _GROUP: GROUP},
            {"burrow_group.total_lag": LAG, "burrow_group.status_code": STATUS},
            last_size=50,
        )

    def lag_of_worst_groups(self) -> Answer:
        return _lines(
            f"measurement_name:burrow_group AND {_OF_CLUSTER}",
            f"{_named(_CLUSTER)} {_named(_GROUP)}",
            [_terms(_CLUSTER), _terms(_GROUP, 10, greatest=True)],
            [Max().id("1").field("burrow_group.total_lag")],
        )

    def lag_by_cluster(self) -> Answer | None:
        # the sum over groups of a value at one moment is not to be had from an index of samples
        return None

    def inflow_by_cluster(self) -> Answer | None:
        # all partitions of a cluster are more buckets than a search may have
        return None

    def group_status(self) -> Answer:
        return self._of_group("status_code")

    def group_lag(self) -> Answer:
        return self._of_group("total_lag")

    def group_partitions(self) -> Answer:
        of_group = self._of_group("partition_count").queries[0]
        not_ok = _query(
            f"measurement_name:burrow_partition AND {_OF_GROUP} AND burrow_partition.status_code:>=3",
            f"{_named(_GROUP)} {_named(_TOPIC)} not OK",
            [_terms(_GROUP, 20), _terms(_TOPIC, 20), _over_time()],
            [UniqueCount().id("1").field(_PARTITION)],
        )
        return Answer([of_group, not_ok.ref_id(letters(1))])

    def lag_by_topic(self) -> Answer:
        answer = self.lag_by_partition()
        return Answer(
            answer.queries,
            max_data_points=answer.max_data_points,
            note="Elasticsearch does not sum up partitions over time: they are stacked here.",
        )

    def lag_by_partition(self) -> Answer:
        return _lines(
            f"measurement_name:burrow_partition AND {_OF_GROUP_AND_TOPIC}",
            f"{_named(_GROUP)} {_named(_TOPIC)}/{_named(_PARTITION)}",
            [
                _terms(_GROUP, _TOPICS, greatest=True),
                _terms(_TOPIC, _TOPICS, greatest=True),
                _terms(_PARTITION, 20, greatest=True),
            ],
            [Max().id("1").field("burrow_partition.lag")],
            max_data_points=_POINTS,
        )

    def inflow_of_group(self) -> Answer:
        # the variable has the topics of the group only
        return self.inflow_by_topic()

    def consumption(self) -> Answer:
        return _summed(
            _rates(
                f"measurement_name:burrow_partition AND {_OF_GROUP_AND_TOPIC}",
                f"{_named(_GROUP)} {_named(_TOPIC)}/{_named(_PARTITION)}",
                [_terms(_GROUP, 3), _terms(_TOPIC, _TOPICS), _terms(_PARTITION, 40)],
                "burrow_partition.offset",
            )
        )

    def group_timeline(self) -> Answer:
        return self.group_status()

    def partition_timeline(self) -> Answer:
        return _lines(
            f"measurement_name:burrow_partition AND {_OF_GROUP_AND_TOPIC} AND burrow_partition.status_code:>=3",
            f"{_named(_GROUP)} {_named(_TOPIC)}/{_named(_PARTITION)}",
            [_terms(_GROUP, _TOPICS), _terms(_TOPIC, _TOPICS), _terms(_PARTITION, 20, greatest=True)],
            [Max().id("1").field("burrow_partition.status_code")],
            max_data_points=_POINTS,
        )

    def lagging_partitions(self) -> Answer:
        return _table(
            f"measurement_name:burrow_partition AND {_OF_GROUP_AND_TOPIC}",
            {_CLUSTER: CLUSTER, _GROUP: GROUP, _TOPIC: TOPIC, _PARTITION: PARTITION},
            {
                "burrow_partition.lag": LAG,
                "burrow_partition.status_code": STATUS,
                "burrow_partition.offset": OFFSET,
            },
            last_size=50,
        )

    def inflow_by_topic(self) -> Answer:
        return _summed(self.inflow_by_partition())

    def inflow_by_partition(self) -> Answer:
        return _rates(
            f"measurement_name:burrow_topic AND {_OF_TOPIC}",
            f"{_named(_TOPIC)}/{_named(_PARTITION)}",
            [_terms(_TOPIC, _TOPICS), _terms(_PARTITION, _PARTITIONS)],
            "burrow_topic.offset",
        )

    def topic_lag_by_group(self) -> Answer:
        return _lines(
            f"measurement_name:burrow_partition AND {_OF_TOPIC}",
            f"{_named(_GROUP)} {_named(_TOPIC)}",
            [_terms(_GROUP, 20, greatest=True), _terms(_TOPIC, _TOPICS, greatest=True)],
            [Max().id("1").field("burrow_partition.lag")],
            note=_WORST_PARTITION,
        )

    def readers(self) -> Answer:
        return _table(
            f"measurement_name:burrow_partition AND {_OF_TOPIC}",
            {_CLUSTER: CLUSTER, _TOPIC: TOPIC, _GROUP: GROUP},
            {"burrow_partition.lag": LAG},
            last_size=100,
            note=_WORST_PARTITION,
        )

    def _of_group(self, field: str) -> Answer:
        return _lines(
            f"measurement_name:burrow_group AND {_OF_GROUP}",
            f"{_named(_GROUP)}",
            [_terms(_CLUSTER), _terms(_GROUP, 20, greatest=True)],
            [Max().id("1").field(f"burrow_group.{field}")],
        )


def _named(field: str) -> str:
    """In an alias: the value of the field."""
    return f"{{{{{field}}}}}"


def _names(field: str, query: str) -> str:
    """The query of a variable."""
    return f'{{"find": "terms", "field": "{field}", "query": "{query}", "size": 10000}}'


def _terms(field: str, size: int = 50, *, greatest: bool = False) -> Terms:
    """`greatest`: by the greatest value of the first metric, else by name. The ids are those of the fields' names."""
    settings = ElasticsearchTermsSettings().size(str(size)).min_doc_count("1")
    settings.order_by("1" if greatest else "_term").order(TermsOrder.DESC if greatest else TermsOrder.ASC)
    number = {_CLUSTER: "10", _GROUP: "11", _TOPIC: "12", _PARTITION: "13"}[field]
    return Terms().id(number).field(field).settings(settings)


def _over_time(*, gaps: bool = False) -> DateHistogram:
    """`gaps`: with empty buckets, as derivatives need it."""
    settings = ElasticsearchDateHistogramSettings().interval("auto").min_doc_count("0" if gaps else "1")
    return DateHistogram().id("30").field("@timestamp").settings(settings)


def _query(
    query: str,
    alias: str,
    buckets: Sequence[Builder[BucketAggregation]],
    metrics: Sequence[Builder[MetricAggregation]],
) -> Dataquery:
    return (
        Dataquery()
        .ref_id("A")
        .query(query)
        .alias(alias)
        .time_field("@timestamp")
        .bucket_aggs([*buckets])
        .metrics([*metrics])
    )


def _lines(
    query: str,
    alias: str,
    buckets: Sequence[Builder[BucketAggregation]],
    metrics: Sequence[Builder[MetricAggregation]],
    *,
    max_data_points: int = 0,
    note: str = "",
) -> Answer:
    return Answer(
        [_query(query, alias, [*buckets, _over_time()], metrics)], max_data_points=max_data_points, note=note
    )


def _rates(query: str, alias: str, buckets: Sequence[Builder[BucketAggregation]], field: str) -> Answer:
    """Records per second of each partition."""
    per_second = ElasticsearchDerivativeSettings().unit("1s")
    metrics: list[Builder[MetricAggregation]] = [
        Max().id("1").field(field).hide(True),
        Derivative().id("2").field("1").pipeline_agg("1").settings(per_second),
    ]
    return Answer(
        [_query(query, alias, [*buckets, _over_time(gaps=True)], metrics)],
        interval=_RATE_INTERVAL,
        max_data_points=_POINTS,
    )


def _summed(answer: Answer) -> Answer:
    """One series: the sum of all."""
    total = DataTransformerConfig(
        id_val="calculateField",
        options={
            "mode": "reduceRow",
            "reduce": {"reducer": "sum"},
            "alias": "Total",
            "replaceFields": True,
        },
    )
    return Answer(
        answer.queries,
        [total],
        interval=answer.interval,
        max_data_points=answer.max_data_points,
        note="Grafana adds up the partitions here, since Elasticsearch does not: of at most 5 topics.",
    )


def _table(
    query: str, names: dict[str, str], values: dict[str, str], *, last_size: int, note: str = ""
) -> Answer:
    """Field: column, of what is named and of what is measured; rows by the first value, the greatest first."""
    fields = list(names)
    buckets = [
        *(_terms(field, greatest=True) for field in fields[:-1]),
        _terms(fields[-1], last_size, greatest=True),
    ]
    metrics = [Max().id(str(number)).field(field) for number, field in enumerate(values, 1)]
    # as Grafana names them
    columns = {"Max" if len(values) == 1 else f"Max {field}": name for field, name in values.items()}
    return Answer(
        [_query(query, "", buckets, metrics)],
        [organized({**names, **columns})],
        time_from=_NEWEST,
        note=f"The greatest value of the last minute. {note}".rstrip(),
    )
