"""Warren itself. Only `/metrics` has this data, so the dashboard is there for Prometheus only."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from tools.dashboards.boards import started
from tools.dashboards.panels import BYTES, RECORDS, RECORDS_PER_SECOND, SECONDS, curves, number
from tools.dashboards.prometheus import Prometheus, line, lines


def warren() -> Dashboard:
    board = started(
        "itself",
        "Warren itself",
        Prometheus(),
        "Does Warren read, write and notify? Only Warren's own metrics have this data, so there is no such dashboard "
        "for InfluxDB and Elasticsearch.",
    )
    _at_a_glance(board)
    board.with_row(Row("Reading"))
    _reading(board)
    board.with_row(Row("Writing"))
    _writing(board)
    board.with_row(Row("Messages and requests"))
    _answering(board)
    return board


def _at_a_glance(board: Dashboard) -> None:
    for panel in (
        number(
            "Ready",
            "1: everything that was there at the start has been read, of every cluster that can be reached.",
            line("warren_ready", "{{instance}}"),
            alarming=False,
        ),
        number(
            "Clusters",
            "1: the brokers respond and the query runs.",
            line("min by (cluster) (warren_cluster_up)", "{{cluster}}"),
            alarming=False,
        ),
        number(
            "Sinks",
            "1: the last attempt to write did not fail.",
            line("min by (sink) (warren_sink_up)", "{{sink}}"),
            alarming=False,
        ),
        number(
            "Notifying instances",
            "Instances that send messages: one, or none without notifiers.",
            line("sum(warren_notifier_leader)", "instances"),
            alarming=False,
        ),
    ):
        board.with_panel(panel.span(6))


def _reading(board: Dashboard) -> None:
    for panel in (
        curves(
            "Behind the brokers",
            "Age of the moment as of which groups are evaluated. It grows while brokers do not respond.",
            line("time() - (max by (cluster) (warren_cluster_seen_timestamp_seconds) > 0)", "{{cluster}}"),
            SECONDS,
        ),
        curves(
            "Duration of a trigger",
            "How long the last trigger of each cluster's query took.",
            line("max by (cluster, instance) (warren_trigger_seconds)", "{{cluster}} {{instance}}"),
            SECONDS,
        ),
        curves(
            "Records read",
            "Records of the offsets topic per second.",
            line(
                "max by (cluster, instance) (rate(warren_records_total[$__rate_interval]))",
                "{{cluster}} {{instance}}",
            ),
            RECORDS_PER_SECOND,
        ),
        curves(
            "Records left",
            "Records of the offsets topic that are still to be read.",
            line("max by (cluster, instance) (warren_records_left)", "{{cluster}} {{instance}}"),
            RECORDS,
        ),
        curves(
            "Restarts of queries",
            "How often a cluster's query failed and was started again, in the last ten minutes.",
            line(
                "max by (cluster, instance) (increase(warren_query_restarts_total[10m]))",
                "{{cluster}} {{instance}}",
            ),
            RECORDS,
        ),
        curves(
            "Memory",
            "Of Warren's own process; Java and Spark's Python processes are not in it.",
            lines({"{{instance}}": "process_resident_memory_bytes and on (instance, job) warren_ready"}),
            BYTES,
        ),
    ):
        board.with_panel(panel.span(8))


def _writing(board: Dashboard) -> None:
    for panel in (
        curves(
            "Sinks behind",
            "Age of the oldest sample that a sink has not written yet.",
            line("max by (sink, instance) (warren_sink_behind_seconds)", "{{sink}} {{instance}}"),
            SECONDS,
        ),
        curves(
            "Rows written",
            "Rows per second into each sink.",
            line(
                "max by (sink, instance) (rate(warren_sink_rows_total[$__rate_interval]))",
                "{{sink}} {{instance}}",
            ),
            RECORDS_PER_SECOND,
        ),
        curves(
            "Samples dropped, rows rejected, attempts failed",
            "In the last ten minutes.",
            lines(
                {
                    "{{sink}} dropped": "max by (sink) (increase(warren_sink_samples_dropped_total[10m]))",
                    "{{sink}} rejected": "max by (sink) (increase(warren_sink_rows_rejected_total[10m]))",
                    "{{sink}} failed": "max by (sink) (increase(warren_sink_failures_total[10m]))",
                }
            ),
            RECORDS,
        ),
    ):
        board.with_panel(panel.span(8))


def _answering(board: Dashboard) -> None:
    for panel in (
        curves(
            "Open incidents",
            "Groups, and clusters, that are in trouble now.",
            line("max by (cluster) (warren_incidents_open)", "{{cluster}}"),
            RECORDS,
        ),
        curves(
            "Messages",
            "Messages that were sent or failed in the last ten minutes, and those that are not sent yet.",
            lines(
                {
                    "{{module}} {{outcome}}": "sum by (module, outcome) (increase(warren_notifications_total[10m]))",
                    "{{module}} pending": "max by (module) (warren_notifications_owed)",
                }
            ),
            RECORDS,
        ),
        curves(
            "Connections and refused requests",
            "Open connections of each listener, and requests per second that access control or limits refused.",
            lines(
                {
                    "{{listener}} connections": "sum by (listener) (warren_http_connections)",
                    "{{listener}} {{code}}": (
                        "sum by (listener, code) (rate(warren_http_refused_total[$__rate_interval]))"
                    ),
                }
            ),
            RECORDS,
        ),
    ):
        board.with_panel(panel.span(8))
