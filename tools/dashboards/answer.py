"""What a data source answers a panel's question with, and what every data source has to be able to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

# the columns of tables, by these names in every data source
CLUSTER, GROUP, TOPIC, PARTITION = "Cluster", "Group", "Topic", "Partition"
STATUS, LAG, OFFSET, HEAD = "Status", "Lag", "Committed offset", "Head"


@dataclass(frozen=True)
class Answer:
    """Queries, and what has to be made of their results before they are drawn."""

    queries: Sequence[Builder[Dataquery]]
    transformations: Sequence[DataTransformerConfig] = ()
    # the shortest time between two points, longer than the data source's own
    interval: str = ""
    # only the newest data, whatever the dashboard shows
    time_from: str = ""
    # where a data source has a bound on what it answers
    max_data_points: int = 0
    # a sentence on what this data source cannot do
    note: str = ""


class Source(Protocol):
    """One kind of data source."""

    @property
    def name(self) -> str:
        """As in uids and directories."""

    @property
    def title(self) -> str:
        """For people."""

    @property
    def plugin(self) -> str:
        """What Grafana calls it."""

    @property
    def group_statuses(self) -> Mapping[int, str]:
        """Number: status."""

    @property
    def partition_statuses(self) -> Mapping[int, str]: ...

    @property
    def everything(self) -> str:
        """The value of a variable that stands for all names."""

    def clusters(self) -> str:
        """The query of the variable `cluster`; the others depend on it."""

    def groups(self) -> str: ...

    def topics(self) -> str: ...

    def topics_of_group(self) -> str: ...

    # all clusters

    def groups_by_status_now(self) -> Answer:
        """Clusters and statuses: groups. A status that no group has any more has no old number."""

    def groups_by_status(self) -> Answer:
        """The same over time."""

    def groups_in_trouble(self) -> Answer:
        """A table of the groups that are not OK: cluster, group, status, lag."""

    def lag_of_worst_groups(self) -> Answer: ...

    def lag_by_cluster(self) -> Answer | None:
        """None: the data source cannot answer it."""

    def inflow_by_cluster(self) -> Answer | None: ...

    # one group

    def group_status(self) -> Answer: ...

    def group_lag(self) -> Answer: ...

    def group_partitions(self) -> Answer: ...

    def lag_by_topic(self) -> Answer: ...

    def lag_by_partition(self) -> Answer: ...

    def inflow_of_group(self) -> Answer: ...

    def consumption(self) -> Answer: ...

    def group_timeline(self) -> Answer: ...

    def partition_timeline(self) -> Answer: ...

    def lagging_partitions(self) -> Answer:
        """A table of the partitions with the greatest lag: topic, partition, status, lag, committed offset."""

    # one topic

    def inflow_by_topic(self) -> Answer: ...

    def inflow_by_partition(self) -> Answer: ...

    def topic_lag_by_group(self) -> Answer: ...

    def readers(self) -> Answer:
        """A table of the groups that read the topic: cluster, group, topic, lag."""


def letters(number: int) -> str:
    """The name of a panel's query."""
    return "ABCDEFGH"[number]


def organized(names: Mapping[str, str], hidden: Sequence[str] = ()) -> DataTransformerConfig:
    """Columns get these names, in this order; the hidden ones go."""
    return DataTransformerConfig(
        id_val="organize",
        options={
            "excludeByName": dict.fromkeys(hidden, True),
            "indexByName": {name: number for number, name in enumerate(names)},
            "renameByName": {old: new for old, new in names.items() if old != new},
        },
    )
