"""Panels as all dashboards have them: one question, a title, and a sentence on what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import common, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders.dashboard import DashboardLink, FieldColor, ThresholdsConfig
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMapping,
    ValueMappingResult,
)
from tools.dashboards.answer import GROUP, STATUS, Answer, Source

# for people who cannot tell them apart every status is written out, too
COLOURS: Final = {
    "OK": "green",
    "NOTFOUND": "text",
    "WARN": "yellow",
    "ERR": "red",
    "STOP": "red",
    "STALL": "orange",
    "REWIND": "purple",
}
RECORDS: Final = "short"
RECORDS_PER_SECOND: Final = "cps"
SECONDS: Final = "s"
BYTES: Final = "bytes"

_Panel = TypeVar("_Panel", stat.Panel, statetimeline.Panel, table.Panel, timeseries.Panel)


def curves(
    title: str, description: str, answer: Answer, unit: str, *, stacked: bool = False, floor: bool = True
) -> timeseries.Panel:
    """`floor`: the axis begins at 0."""
    panel = (
        timeseries.Panel()
        .unit(unit)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.TABLE)
            .placement(LegendPlacement.BOTTOM)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
        .show_points(VisibilityMode.NEVER)
        .fill_opacity(30 if stacked else 8)
    )
    if floor:
        panel.min(0)
    if stacked:
        panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL).group("A"))
    return _asking(panel, title, description, answer).height(9)


def number(
    title: str,
    description: str,
    answer: Answer,
    unit: str = RECORDS,
    *,
    statuses: Mapping[int, str] | None = None,
    alarming: bool | None = None,
) -> stat.Panel:
    """The newest values. `statuses`: the values are statuses; `alarming`: red above 0, or (False) at 0."""
    panel = (
        stat.Panel()
        .unit(unit)
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(
            BigValueGraphMode.AREA if statuses is None and alarming is None else BigValueGraphMode.NONE
        )
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .no_value("no data")
    )
    if statuses is not None:
        panel.mappings([status_texts(statuses)]).thresholds(status_thresholds(statuses))
    elif alarming is not None:
        panel.thresholds(
            _steps(("green", None), ("red", 1)) if alarming else _steps(("red", None), ("green", 1))
        )
    else:
        panel.thresholds(_steps(("text", None)))
    return _asking(panel, title, description, answer).height(5)


def timeline(
    title: str, description: str, answer: Answer, statuses: Mapping[int, str]
) -> statetimeline.Panel:
    panel = (
        statetimeline.Panel()
        .merge_values(True)
        .show_value(VisibilityMode.AUTO)
        .row_height(0.8)
        .line_width(0)
        .fill_opacity(70)
        .mappings([status_texts(statuses)])
        .thresholds(status_thresholds(statuses))
        .color_scheme(FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .legend(common.VizLegendOptions().show_legend(False))
        .no_value("no data")
    )
    return _asking(panel, title, description, answer).height(8)


def rows(
    title: str,
    description: str,
    answer: Answer,
    statuses: Mapping[int, str],
    links: Sequence[DashboardLink] = (),
) -> table.Panel:
    """`links`: of the group's name."""
    panel = (
        table.Panel()
        .filterable(True)
        .thresholds(_steps(("text", None)))
        .unit(RECORDS)
        .decimals(0)
        .override_by_name(
            STATUS,
            [
                DynamicConfigValue("mappings", [status_texts(statuses)]),
                DynamicConfigValue("thresholds", status_thresholds(statuses).build()),
                DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
            ],
        )
        .no_value("none")
    )
    if links:
        panel.override_by_name(GROUP, [DynamicConfigValue("links", [link.build() for link in links])])
    return _asking(panel, title, description, answer).height(9)


def status_texts(statuses: Mapping[int, str]) -> ValueMapping:
    return ValueMap(
        {
            str(value): ValueMappingResult(text=status, color=COLOURS[status], index=place)
            for place, (value, status) in enumerate(statuses.items())
        }
    )


def status_thresholds(statuses: Mapping[int, str]) -> ThresholdsConfig:
    return _steps(("text", None), *((COLOURS[status], value) for value, status in statuses.items()))


def coloured_by_status(panel: timeseries.Panel | stat.Panel) -> None:
    """Series whose names end in a status have its colour."""
    for status in ("OK", "WARN", "ERR"):
        colour = {"mode": "fixed", "fixedColor": COLOURS[status]}
        panel.override_by_regexp(f"/.*{status}$/", [DynamicConfigValue("color", colour)])


def link(title: str, url: str, *, blank: bool = False) -> DashboardLink:
    return DashboardLink(title).type(DashboardLinkType.LINK).url(url).target_blank(blank)


def data_source(source: Source) -> DataSourceRef:
    return DataSourceRef(type_val=source.plugin, uid="${datasource}")


def _asking(panel: _Panel, title: str, description: str, answer: Answer) -> _Panel:
    panel.title(title).description(f"{description} {answer.note}".rstrip())
    for query in answer.queries:
        panel.with_target(query)
    for transformation in answer.transformations:
        panel.with_transformation(transformation)
    if answer.interval:
        panel.interval(answer.interval)
    if answer.time_from:
        panel.time_from(answer.time_from)
    if answer.max_data_points:
        panel.max_data_points(answer.max_data_points)
    return panel


def _steps(*steps: tuple[str, float | None]) -> ThresholdsConfig:
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(color=colour, value=value) for colour, value in steps])
    )
