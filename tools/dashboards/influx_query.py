"""A query of Grafana's InfluxDB data source: the SDK has no type for it."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.runtime import DataqueryConfig, register_dataquery_variant
from grafana_foundation_sdk.cog.variants import Dataquery


class InfluxQuery(Dataquery, Builder[Dataquery]):
    """InfluxQL, written out. Fields as in Grafana's `InfluxQuery`."""

    def __init__(
        self, query: str, alias: str = "", result_format: str = "time_series", ref_id: str = "A"
    ) -> None:
        self.query = query
        self.alias = alias
        self.result_format = result_format
        self.ref_id = ref_id

    def build(self) -> Dataquery:
        return self

    def to_json(self) -> dict[str, object]:
        return {
            "refId": self.ref_id,
            "query": self.query,
            "rawQuery": True,
            "resultFormat": self.result_format,
            "alias": self.alias,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InfluxQuery:
        return cls(data["query"], data["alias"], data["resultFormat"], data["refId"])


def register() -> None:
    """Let the SDK read such queries."""
    register_dataquery_variant(DataqueryConfig("influxdb", InfluxQuery.from_json))
