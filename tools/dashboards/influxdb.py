"""The questions in InfluxQL, on what the influxdb sink writes: Telegraf's measurements."""
# ruff: noqa: S608 (queries are made of constants; Grafana puts in the names that users choose)

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
from tools.dashboards.influx_query import InfluxQuery

# Telegraf's numbers, and Warren's 7
GROUP_STATUSES: Final = MappingProxyType({1: "OK", 2: "NOTFOUND", 3: "WARN", 4: "ERR"})
PARTITION_STATUSES: Final = MappingProxyType({1: "OK", 3: "WARN", 5: "STOP", 6: "STALL", 7: "REWIND"})

_OF_CLUSTER: Final = '"cluster" =~ /^${cluster:regex}$/'
_OF_GROUP: Final = f'{_OF_CLUSTER} AND "group" =~ /^${{group:regex}}$/'
_OF_TOPIC: Final = f'{_OF_CLUSTER} AND "topic" =~ /^${{topic:regex}}$/'
_OF_GROUP_AND_TOPIC: Final = f'{_OF_GROUP} AND "topic" =~ /^${{topic:regex}}$/'
# the newest value is at most so old; `last` alone would read all series of the whole range
_NEWEST: Final = "time > ${__to}ms - 2m AND time <= ${__to}ms"
_EACH: Final = "time($__interval)"


def _tags(*names: str) -> str:
    return ", ".join(f'"{name}"' for name in names)


_GROUP: Final = _tags("cluster", "group")
_TOPIC_PARTITION: Final = _tags("cluster", "topic", "partition")
_WINDOW: Final = _tags("cluster", "group", "topic", "partition")


def lines(queries: Mapping[str, str], interval: str = "") -> Answer:
    """Alias: query."""
    return Answer(
        [
            InfluxQuery(query, alias, ref_id=letters(number))
            for number, (alias, query) in enumerate(queries.items())
        ],
        interval=interval,
    )


def table(query: str, columns: Mapping[str, str]) -> Answer:
    """Column of the result: its name."""
    return Answer([InfluxQuery(query, result_format="table")], [organized(columns, hidden=("Time",))])


class Influxdb:
    """Data from the influxdb sink, asked in InfluxQL: version 1, or version 2 through its compatible API."""

    name: Final = "influxdb"
    title: Final = "InfluxDB"
    plugin: Final = "influxdb"
    group_statuses: Final = GROUP_STATUSES
    partition_statuses: Final = PARTITION_STATUSES
    everything: Final = ".*"

    def clusters(self) -> str:
        return 'SHOW TAG VALUES FROM "burrow_group" WITH KEY = "cluster"'

    def groups(self) -> str:
        return f'SHOW TAG VALUES FROM "burrow_group" WITH KEY = "group" WHERE {_OF_CLUSTER}'

    def topics(self) -> str:
        return f'SHOW TAG VALUES FROM "burrow_topic" WITH KEY = "topic" WHERE {_OF_CLUSTER}'

    def topics_of_group(self) -> str:
        return f'SHOW TAG VALUES FROM "burrow_partition" WITH KEY = "topic" WHERE {_OF_GROUP}'

    def groups_by_status_now(self) -> Answer:
        newest = (
            f'SELECT last("status_code") AS "status_code" FROM "burrow_group" WHERE {_NEWEST} AND {_OF_CLUSTER} '
            f"GROUP BY {_GROUP}"
        )
        return lines(
            {
                f"$tag_cluster {status}": (
                    f'SELECT count("status_code") FROM ({newest}) WHERE {_NEWEST} AND "status_code" = {code} '
                    'GROUP BY "cluster"'
                )
                for code, status in GROUP_STATUSES.items()
                if status != "NOTFOUND"
            }
        )

    def groups_by_status(self) -> Answer:
        newest = _last("status_code", "burrow_group", _OF_CLUSTER, _GROUP)
        return lines(
            {
                f"$tag_cluster {status}": _each(
                    'count("status_code")', f'{newest} WHERE "status_code" = {code}'
                )
                for code, status in GROUP_STATUSES.items()
                if status != "NOTFOUND"
            },
            interval="1m",
        )

    def groups_in_trouble(self) -> Answer:
        newest = (
            'SELECT last("total_lag") AS "lag", last("status_code") AS "status_code" FROM "burrow_group" '
            f"WHERE {_NEWEST} AND {_OF_CLUSTER} GROUP BY {_GROUP}"
        )
        return table(
            f'SELECT top("lag", {_GROUP}, 50) AS "lag", "status_code" FROM ({newest}) WHERE "status_code" >= 3',
            {"cluster": CLUSTER, "group": GROUP, "status_code": STATUS, "lag": LAG},
        )

    def lag_of_worst_groups(self) -> Answer:
        return Answer(
            [
                InfluxQuery(
                    f'SELECT last("total_lag") FROM "burrow_group" WHERE $timeFilter AND {_OF_CLUSTER} '
                    f'AND "status_code" >= 3 GROUP BY {_EACH}, {_GROUP} fill(none) SLIMIT 20',
                    "$tag_cluster $tag_group",
                )
            ],
            note="InfluxDB cannot choose series by their values: these are 20 of the groups that were not OK.",
        )

    def lag_by_cluster(self) -> Answer | None:
        newest = _last("total_lag", "burrow_group", _OF_CLUSTER, _GROUP)
        return lines({"$tag_cluster": _each('sum("total_lag")', newest)})

    def inflow_by_cluster(self) -> Answer | None:
        return lines({"$tag_cluster": _each('sum("rate")', _inflow(_OF_CLUSTER))})

    def group_status(self) -> Answer:
        return self._of_group("status_code")

    def group_lag(self) -> Answer:
        return self._of_group("total_lag")

    def group_partitions(self) -> Answer:
        newest = _last("status_code", "burrow_partition", _OF_GROUP, _WINDOW)
        return lines(
            {
                "$tag_group": f'SELECT last("partition_count") FROM "burrow_group" WHERE $timeFilter AND {_OF_GROUP} '
                f"GROUP BY {_EACH}, {_GROUP} fill(none)",
                "$tag_group not OK": _each(
                    'count("status_code")', f'{newest} WHERE "status_code" >= 3', _GROUP
                ),
            }
        )

    def lag_by_topic(self) -> Answer:
        newest = _last("lag", "burrow_partition", _OF_GROUP_AND_TOPIC, _WINDOW)
        return lines(
            {"$tag_group $tag_topic": _each('sum("lag")', newest, _tags("cluster", "group", "topic"))}
        )

    def lag_by_partition(self) -> Answer:
        return Answer(
            [
                InfluxQuery(
                    f'SELECT last("lag") FROM "burrow_partition" WHERE $timeFilter AND {_OF_GROUP_AND_TOPIC} '
                    f'AND "lag" > 0 GROUP BY {_EACH}, {_WINDOW} fill(none) SLIMIT 50',
                    "$tag_group $tag_topic/$tag_partition",
                )
            ],
            note="InfluxDB cannot choose series by their values: these are 50 of those that have a lag.",
        )

    def inflow_of_group(self) -> Answer:
        # the variable has the topics of the group only
        return self.inflow_by_topic()

    def consumption(self) -> Answer:
        rates = _rates("derivative", "burrow_partition", _OF_GROUP_AND_TOPIC, _WINDOW)
        return lines(
            {"$tag_group $tag_topic": _each('sum("rate")', rates, _tags("cluster", "group", "topic"))}
        )

    def group_timeline(self) -> Answer:
        return self.group_status()

    def partition_timeline(self) -> Answer:
        return lines(
            {
                "$tag_group $tag_topic/$tag_partition": (
                    f'SELECT max("status_code") FROM "burrow_partition" WHERE $timeFilter AND {_OF_GROUP_AND_TOPIC} '
                    f'AND "status_code" >= 3 GROUP BY {_EACH}, {_WINDOW} fill(none) SLIMIT 30'
                )
            }
        )

    def lagging_partitions(self) -> Answer:
        newest = (
            'SELECT last("lag") AS "lag", last("status_code") AS "status_code", last("offset") AS "offset" '
            f'FROM "burrow_partition" WHERE {_NEWEST} AND {_OF_GROUP_AND_TOPIC} GROUP BY {_WINDOW}'
        )
        return table(
            f'SELECT top("lag", {_WINDOW}, 50) AS "lag", "status_code", "offset" FROM ({newest})',
            {
                "cluster": CLUSTER,
                "group": GROUP,
                "topic": TOPIC,
                "partition": PARTITION,
                "lag": LAG,
                "status_code": STATUS,
                "offset": OFFSET,
            },
        )

    def inflow_by_topic(self) -> Answer:
        return lines(
            {"$tag_topic": _each('sum("rate")', _inflow(_OF_TOPIC), _tags("cluster", "topic")) + " SLIMIT 50"}
        )

    def inflow_by_partition(self) -> Answer:
        return lines(
            {
                "$tag_topic/$tag_partition": _each('sum("rate")', _inflow(_OF_TOPIC), _TOPIC_PARTITION)
                + " SLIMIT 100"
            }
        )

    def topic_lag_by_group(self) -> Answer:
        newest = _last("lag", "burrow_partition", f'{_OF_TOPIC} AND "lag" > 0', _WINDOW)
        return Answer(
            [
                InfluxQuery(
                    _each('sum("lag")', newest, _tags("cluster", "group", "topic")) + " SLIMIT 50",
                    "$tag_group $tag_topic",
                )
            ],
            note="InfluxDB cannot choose series by their values: these are 50 of those that have a lag.",
        )

    def readers(self) -> Answer:
        newest = (
            f'SELECT last("lag") AS "lag" FROM "burrow_partition" WHERE {_NEWEST} AND {_OF_TOPIC} '
            f"GROUP BY {_WINDOW}"
        )
        return table(
            f'SELECT sum("lag") AS "lag" FROM ({newest}) WHERE {_NEWEST} '
            f"GROUP BY {_tags('cluster', 'group', 'topic')} SLIMIT 100",
            {"cluster": CLUSTER, "group": GROUP, "topic": TOPIC, "lag": LAG},
        )

    def _of_group(self, field: str) -> Answer:
        return lines(
            {
                "$tag_group": f'SELECT last("{field}") FROM "burrow_group" WHERE $timeFilter AND {_OF_GROUP} '
                f"GROUP BY {_EACH}, {_GROUP} fill(none)"
            }
        )


def _last(field: str, measurement: str, condition: str, tags: str) -> str:
    """The newest value of each series in each interval, as a subquery."""
    return (
        f'(SELECT last("{field}") AS "{field}" FROM "{measurement}" WHERE $timeFilter AND {condition} '
        f"GROUP BY {_EACH}, {tags} fill(none))"
    )


def _rates(function: str, measurement: str, condition: str, tags: str) -> str:
    """Records per second of each partition: the rate from point to point, by their true times; then the mean."""
    points = (
        f'SELECT {function}("offset", 1s) AS "rate" FROM "{measurement}" WHERE $timeFilter AND {condition} '
        f"GROUP BY {tags}"
    )
    return f'(SELECT mean("rate") AS "rate" FROM ({points}) WHERE $timeFilter GROUP BY {_EACH}, {tags} fill(none))'


def _inflow(condition: str) -> str:
    # a topic that is made again begins at 0: that is no negative rate
    return _rates("non_negative_derivative", "burrow_topic", condition, _TOPIC_PARTITION)


def _each(selected: str, source: str, tags: str = '"cluster"') -> str:
    """One value for each interval and combination of tags; `source` may end in a WHERE."""
    joined = "AND" if " WHERE " in source.rpartition(")")[2] else "WHERE"
    return f"SELECT {selected} FROM {source} {joined} $timeFilter GROUP BY {_EACH}, {tags} fill(none)"
