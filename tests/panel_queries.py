"""Asks data sources what Grafana would ask them for a panel or a variable, and reads the answers as Grafana does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tests.grafana import (
    Point,
    Row,
    Shown,
    View,
    lucene,
    organized,
    prometheus_regex,
    regex,
    replaced,
    summed,
)
from tests.influxdb import InfluxServer
from tests.prometheus import PrometheusServer
from tests.search_server import SearchServer

Panel = Mapping[str, Any]


class Asked(Protocol):
    """One data source."""

    def show(self, panel: Panel, view: View) -> Shown: ...

    def choices(self, query: str, view: View) -> list[str]:
        """What a variable offers."""


@dataclass(frozen=True)
class AskedPrometheus:
    server: PrometheusServer

    def show(self, panel: Panel, view: View) -> Shown:
        shown = Shown()
        interval_s = view.interval_s(panel)
        # one row for each combination of labels, as the transformation "merge" makes it
        merged: dict[frozenset[tuple[str, str]], Row] = {}
        for target in panel["targets"]:
            query = self._query(target["expr"], view, interval_s)
            if target.get("instant"):
                for each in self.server.instant(query, view.to_s):
                    name = "Value" if len(panel["targets"]) == 1 else f"Value #{target['refId']}"
                    row = merged.setdefault(frozenset(each["metric"].items()), dict(each["metric"]))
                    row["Time"], row[name] = view.to_s, float(each["value"][1])
                continue
            for each in self.server.range(query, view.from_s, view.to_s, interval_s):
                name = _legend(target["legendFormat"], each["metric"])
                assert name not in shown.series, (panel["title"], name)
                shown.series[name] = [(time, float(value)) for time, value in each["values"]]
        shown.rows = organized(panel, list(merged.values()))
        return shown

    def choices(self, query: str, view: View) -> list[str]:
        match = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
        assert match is not None, query
        return self.server.label_values(match[2], self._query(match[1], view, view.every_s))

    def _query(self, expression: str, view: View, interval_s: int) -> str:
        values = {
            "__rate_interval": f"{max(interval_s + view.every_s, 4 * view.every_s)}s",
            "__interval": f"{interval_s}s",
            "__range": f"{int(view.to_s - view.from_s)}s",
            **view.variables,
        }
        return replaced(expression, values, {"": prometheus_regex})


def _legend(pattern: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{\s*([\w.]+)\s*\}\}", lambda match: labels.get(match[1], ""), pattern)


@dataclass(frozen=True)
class AskedInflux:
    server: InfluxServer
    database: str

    def show(self, panel: Panel, view: View) -> Shown:
        shown = Shown()
        rows: list[Row] = []
        for target in panel["targets"]:
            found = self.server.query(
                self._query(target["query"], view, view.interval_s(panel)), self.database
            )
            for each in found:
                tags = each.get("tags", {})
                if target["resultFormat"] == "table":
                    columns = ["Time", *each["columns"][1:]]
                    rows += [tags | dict(zip(columns, values, strict=True)) for values in each["values"]]
                    continue
                name = re.sub(r"\$tag_(\w+)", lambda match, tags=tags: tags[match[1]], target["alias"])  # type: ignore[misc]
                assert name not in shown.series, (panel["title"], name)
                shown.series[name] = [
                    (time_ms / 1000, value) for time_ms, value in each["values"] if value is not None
                ]
        shown.rows = organized(panel, rows)
        return shown

    def choices(self, query: str, view: View) -> list[str]:
        found = self.server.rows(self._query(query, view, view.every_s), self.database)
        return [row["value"] for row in found]

    def _query(self, query: str, view: View, interval_s: int) -> str:
        from_ms, to_ms = int(view.from_s * 1000), int(view.to_s * 1000)
        values = {
            "timeFilter": f"time >= {from_ms}ms and time <= {to_ms}ms",
            "__interval": f"{interval_s}s",
            "__to": str(to_ms),
            **view.variables,
        }
        return replaced(query, values, {"regex": regex})


# Grafana's names in tables
_METRIC_NAMES: Final = {"max": "Max", "cardinality": "Unique Count"}


@dataclass(frozen=True)
class AskedElasticsearch:
    """`with_rates`: an OpenSearch with the same documents; the tests' Elasticsearch has no module for derivatives."""

    server: SearchServer
    with_rates: SearchServer
    index: str

    def show(self, panel: Panel, view: View) -> Shown:
        shown = Shown()
        rows: list[Row] = []
        for target in panel["targets"]:
            body = self._body(target, panel, view)
            rates = any(metric["type"] == "derivative" for metric in target["metrics"])
            answer = self._search(body, self.with_rates if rates else self.server)
            last = target["bucketAggs"][-1]["type"]
            for names, bucket in _buckets(answer["aggregations"], target["bucketAggs"][:-1]):
                if last == "date_histogram":
                    self._curves(target, names, bucket, shown)
                else:
                    rows += self._rows(target, names, bucket)
        shown.series = summed(panel, shown.series)
        shown.rows = organized(panel, rows)
        return shown

    def choices(self, query: str, view: View) -> list[str]:
        # quotes in Lucene's values are escaped once more, since the query stands in JSON
        asked = json.loads(
            replaced(
                query,
                view.variables,
                {"": lambda chosen: lucene(chosen).replace("\\", "\\\\").replace('"', '\\"')},
            )
        )
        body = {
            "size": 0,
            "query": _filtered(asked["query"], view.from_s, view.to_s),
            "aggs": {"1": {"terms": {"field": asked["field"], "size": asked["size"]}}},
        }
        return [bucket["key"] for bucket in self._search(body, self.server)["aggregations"]["1"]["buckets"]]

    def _search(self, body: Mapping[str, Any], server: SearchServer) -> Any:
        return server.request("POST", f"{self.index}/_search", body)

    def _body(self, target: Mapping[str, Any], panel: Panel, view: View) -> dict[str, Any]:
        query = replaced(target["query"], view.variables, {"": lucene})
        from_s = view.began_s(panel)
        aggregations: dict[str, Any] = {}
        body = {"size": 0, "query": _filtered(query, from_s, view.to_s), "aggs": aggregations}
        for bucket in target["bucketAggs"]:
            kind, settings = bucket["type"], bucket.get("settings", {})
            inner: dict[str, Any] = {}
            made: dict[str, Any] = {"aggs": inner}
            if kind == "terms":
                order = settings["orderBy"]
                if order.isdigit():
                    (metric,) = (each for each in target["metrics"] if each["id"] == order)
                    inner[order] = {metric["type"]: {"field": metric["field"]}}
                made["terms"] = {
                    "field": bucket["field"],
                    "size": int(settings["size"]),
                    "min_doc_count": int(settings["min_doc_count"]),
                    "order": {"_key" if order == "_term" else order: settings["order"]},
                }
            elif kind == "filters":
                made["filters"] = {
                    "filters": {
                        each["label"]: {"query_string": {"query": each["query"], "analyze_wildcard": True}}
                        for each in settings["filters"]
                    }
                }
            else:
                assert kind == "date_histogram", kind
                made["date_histogram"] = {
                    "field": bucket["field"],
                    "fixed_interval": f"{view.interval_s(panel)}s",
                    "min_doc_count": int(settings["min_doc_count"]),
                    "extended_bounds": {"min": int(from_s * 1000), "max": int(view.to_s * 1000)},
                    "format": "epoch_millis",
                }
            aggregations[bucket["id"]] = made
            aggregations = inner
        for metric in target["metrics"]:
            settings = {
                key: int(value) if key == "precision_threshold" else value
                for key, value in metric.get("settings", {}).items()
            }
            where = (
                {"buckets_path": metric["field"]}
                if metric["type"] == "derivative"
                else {"field": metric["field"]}
            )
            aggregations[metric["id"]] = {metric["type"]: where | settings}
        return body

    def _curves(
        self, target: Mapping[str, Any], names: Mapping[str, str], bucket: Mapping[str, Any], shown: Shown
    ) -> None:
        for metric in target["metrics"]:
            if metric.get("hide"):
                continue
            points: list[Point] = []
            for each in bucket[target["bucketAggs"][-1]["id"]]["buckets"]:
                found = each.get(metric["id"])
                value = found and found.get("normalized_value", found.get("value"))
                if value is not None:
                    points.append((each["key"] / 1000, value))
            name = _legend(target["alias"], names)
            assert name not in shown.series, name
            shown.series[name] = points

    def _rows(
        self, target: Mapping[str, Any], names: Mapping[str, str], bucket: Mapping[str, Any]
    ) -> Iterator[Row]:
        last = target["bucketAggs"][-1]
        kinds = [metric["type"] for metric in target["metrics"]]
        for each in bucket[last["id"]]["buckets"]:
            row: Row = {**names, last["field"]: each["key"]}
            for metric in target["metrics"]:
                name = _METRIC_NAMES[metric["type"]]
                column = f"{name} {metric['field']}" if kinds.count(metric["type"]) > 1 else name
                row[column] = each[metric["id"]]["value"]
            yield row


def _filtered(query: str, from_s: float, to_s: float) -> dict[str, Any]:
    range_ = {"gte": int(from_s * 1000), "lte": int(to_s * 1000), "format": "epoch_millis"}
    text = {"query_string": {"query": query, "analyze_wildcard": True}}
    return {"bool": {"filter": [{"range": {"@timestamp": range_}}, text]}}


def _buckets(
    aggregations: Mapping[str, Any], path: list[Mapping[str, Any]], names: Mapping[str, str] | None = None
) -> Iterator[tuple[dict[str, str], Mapping[str, Any]]]:
    """Every bucket at the end of the path, with the names on the way."""
    so_far = dict(names or {})
    if not path:
        yield so_far, aggregations
        return
    buckets = aggregations[path[0]["id"]]["buckets"]
    if path[0]["type"] == "filters":
        for label, bucket in buckets.items():
            yield from _buckets(bucket, path[1:], so_far | {"filter": label})
    else:
        for bucket in buckets:
            yield from _buckets(bucket, path[1:], so_far | {path[0]["field"]: str(bucket["key"])})
