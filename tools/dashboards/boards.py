"""The dashboards that every data source has: all clusters, one group, one topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    QueryVariable,
    Row,
    TextBoxVariable,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from tools.dashboards.answer import GROUP, Source
from tools.dashboards.panels import (
    RECORDS,
    RECORDS_PER_SECOND,
    coloured_by_status,
    curves,
    data_source,
    link,
    number,
    rows,
    timeline,
)

TAG: Final = "warren"
_CLUSTER_FIELD: Final = "${__data.fields.Cluster:percentencode}"
_GROUP_FIELD: Final = f"${{__data.fields.{GROUP}:percentencode}}"


def uid(board: str, source: Source) -> str:
    return f"warren-{board}-{source.name}"


def of_source(source: Source) -> Iterator[Dashboard]:
    yield clusters(source)
    yield group(source)
    yield topic(source)


def clusters(source: Source) -> Dashboard:
    board = started("clusters", "All clusters", source, "Which groups of which clusters are in trouble?")
    board.with_variable(_choice("cluster", source.clusters(), source, everything=source.everything))
    board.with_variable(_warren())
    by_status = number(
        "Groups by status", "Groups of each cluster by their status.", source.groups_by_status_now()
    )
    coloured_by_status(by_status)
    board.with_panel(by_status.span(24))
    board.with_panel(
        rows(
            "Groups in trouble",
            "Groups that are not OK, those with the greatest lag first; 50 at most. "
            "A click on a name leads to the group's dashboard, or to what Warren says about it.",
            source.groups_in_trouble(),
            source.group_statuses,
            _group_links(source),
        ).span(12)
    )
    over_time = curves(
        "Groups by status over time",
        "Groups of each cluster by their status.",
        source.groups_by_status(),
        RECORDS,
        stacked=True,
    )
    coloured_by_status(over_time)
    board.with_panel(over_time.span(12))
    board.with_panel(
        curves(
            "Lag of the worst groups",
            "Total lag of the groups that are furthest behind.",
            source.lag_of_worst_groups(),
            RECORDS,
        ).span(12)
    )
    if (lag := source.lag_by_cluster()) is not None:
        board.with_panel(
            curves("Lag by cluster", "Sum of the lags of all groups.", lag, RECORDS, stacked=True).span(12)
        )
    if (inflow := source.inflow_by_cluster()) is not None:
        board.with_panel(
            curves(
                "Inflow by cluster",
                "Records written per second: the rate of each partition's head, summed.",
                inflow,
                RECORDS_PER_SECOND,
                stacked=True,
            ).span(24)
        )
    return board


def group(source: Source) -> Dashboard:
    board = started(
        "group", "Consumer group", source, "What is wrong with this group, where, and since when?"
    )
    board.with_variable(_choice("cluster", source.clusters(), source, everything=source.everything))
    board.with_variable(_choice("group", source.groups(), source, everything=source.everything))
    # without a value that stands for everything: the topics of the group are named one by one, so that panels
    # about topics show those of the group only
    board.with_variable(_choice("topic", source.topics_of_group(), source, everything=""))
    board.with_variable(_warren())
    board.link(
        link(
            "What Warren says",
            "${warren}/v4/clusters/${cluster:percentencode}/groups/${group:percentencode}",
            blank=True,
        ).tooltip(
            "The group with its partitions, and why each is not OK; with one cluster and one group chosen"
        )
    )
    board.with_panel(
        number(
            "Status",
            "The status that Warren gives the group: the worst of its partitions.",
            source.group_status(),
            statuses=source.group_statuses,
        ).span(6)
    )
    board.with_panel(number("Total lag", "Sum over all partitions.", source.group_lag()).span(9))
    board.with_panel(
        number(
            "Partitions",
            "Partitions with commits, and how many of them are not OK.",
            source.group_partitions(),
        ).span(9)
    )
    board.with_panel(
        timeline(
            "Status over time", "The status of the group.", source.group_timeline(), source.group_statuses
        ).span(12)
    )
    board.with_panel(
        timeline(
            "Partitions that were not OK",
            "The status of partitions that were not OK at some time in the range; 30 at most. "
            "Where there is no bar, a partition was OK, or not known.",
            source.partition_timeline(),
            source.partition_statuses,
        ).span(12)
    )
    board.with_row(Row("Lag"))
    board.with_panel(
        curves(
            "Lag by topic",
            "Records between the committed offset and the head, summed over the topic's partitions.",
            source.lag_by_topic(),
            RECORDS,
            stacked=True,
        ).span(12)
    )
    board.with_panel(
        curves(
            "Lag by partition", "The partitions with the greatest lag.", source.lag_by_partition(), RECORDS
        ).span(12)
    )
    board.with_panel(
        rows(
            "Top lagging partitions",
            "The partitions that are furthest behind.",
            source.lagging_partitions(),
            source.partition_statuses,
            [_warren_link()],
        ).span(24)
    )
    board.with_row(Row("Speed"))
    board.with_panel(
        curves(
            "Inflow",
            "Records written per second to the topics of the group: the rate of each partition's head, summed.",
            source.inflow_of_group(),
            RECORDS_PER_SECOND,
        ).span(12)
    )
    board.with_panel(
        curves(
            "Consumption",
            "Records per second by which the committed offsets advance, summed over partitions. "
            "Below the inflow the lag grows; below zero the group goes back.",
            source.consumption(),
            RECORDS_PER_SECOND,
            floor=False,
        ).span(12)
    )
    return board


def topic(source: Source) -> Dashboard:
    board = started("topic", "Topic", source, "What is written to this topic, and who is behind on it?")
    board.with_variable(_choice("cluster", source.clusters(), source, everything=source.everything))
    board.with_variable(_choice("topic", source.topics(), source, everything=source.everything))
    board.with_variable(_warren())
    board.with_panel(
        curves(
            "Inflow",
            "Records written per second: the rate of each partition's head, summed.",
            source.inflow_by_topic(),
            RECORDS_PER_SECOND,
            stacked=True,
        ).span(12)
    )
    board.with_panel(
        curves(
            "Inflow by partition",
            "Records written per second to each partition. Where they differ much, the keys are unevenly spread.",
            source.inflow_by_partition(),
            RECORDS_PER_SECOND,
        ).span(12)
    )
    board.with_panel(
        rows(
            "Groups that read it",
            "Groups with commits on the topic, and their lag on it.",
            source.readers(),
            source.partition_statuses,
            _group_links(source),
        ).span(12)
    )
    board.with_panel(
        curves(
            "Lag by group",
            "Lag of each group on the topic, those that are furthest behind.",
            source.topic_lag_by_group(),
            RECORDS,
        ).span(12)
    )
    return board


def started(board: str, title: str, source: Source, description: str) -> Dashboard:
    """A dashboard with what all have."""
    made = (
        Dashboard(f"Warren: {title} ({source.title})")
        .uid(uid(board, source))
        .description(description)
        .tags([TAG, source.name])
        .time("now-1h", "now")
        .refresh("30s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .editable()
        .link(
            DashboardLink("Warren")
            .type(DashboardLinkType.DASHBOARDS)
            .tags([TAG, source.name])
            .as_dropdown(True)
            .keep_time(True)
            .include_vars(True)
        )
    )
    return made.with_variable(DatasourceVariable("datasource").label("Data source").type(source.plugin))


def _choice(name: str, query: str, source: Source, everything: str) -> Builder[VariableModel]:
    variable = (
        QueryVariable(name)
        .label(name.capitalize())
        .datasource(data_source(source))
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
    )
    if everything:
        variable.all_value(everything)
    if name != "group":
        # of groups there may be ten thousand: the first is shown until one is chosen
        variable.current(VariableOption(selected=True, text=["All"], value=["$__all"]))
    return variable


def _warren() -> TextBoxVariable:
    return (
        TextBoxVariable("warren")
        .label("Warren")
        .description("Where Warren answers, for links to it")
        .default_value("http://localhost:8000")
    )


def _group_links(source: Source) -> Sequence[DashboardLink]:
    board = f"/d/{uid('group', source)}?var-cluster={_CLUSTER_FIELD}&var-group={_GROUP_FIELD}"
    return [link("Dashboard of the group", f"{board}&${{datasource:queryparam}}"), _warren_link()]


def _warren_link() -> DashboardLink:
    return link(
        "What Warren says", f"${{warren}}/v4/clusters/{_CLUSTER_FIELD}/groups/{_GROUP_FIELD}", blank=True
    )
