"""`python -m tools.dashboards`: writes the files; those that are not made any more are removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Panel
from tools.dashboards.alert_files import grafana_rules, prometheus_rules
from tools.dashboards.answer import Source
from tools.dashboards.boards import of_source
from tools.dashboards.elasticsearch import Elasticsearch
from tools.dashboards.influxdb import Influxdb
from tools.dashboards.panels import data_source
from tools.dashboards.prometheus import Prometheus
from tools.dashboards.warren import warren

ROOT: Final = Path(__file__).parents[2]
DASHBOARDS: Final = "grafana/dashboards"


def boards() -> Iterator[tuple[Source, Dashboard]]:
    sources: tuple[Source, ...] = (Prometheus(), Influxdb(), Elasticsearch())
    for source in sources:
        for board in of_source(source):
            yield source, board
    yield Prometheus(), warren()


def files() -> dict[str, str]:
    """Path in the repository: content."""
    return {
        **dict(_dashboards()),
        "prometheus/alerts.yml": prometheus_rules(),
        "grafana/provisioning/alerting/rules.yaml": grafana_rules(),
    }


def _dashboards() -> Iterator[tuple[str, str]]:
    for source, board in boards():
        made = board.build()
        for number, panel in enumerate(made.panels or (), 1):
            panel.id_val = number
            if isinstance(panel, Panel):
                panel.datasource = data_source(source)
        yield (
            f"{DASHBOARDS}/{source.name}/{made.uid}.json",
            json.dumps(made, cls=JSONEncoder, indent=2, ensure_ascii=False) + "\n",
        )


def main() -> None:
    wanted = files()
    for path in ROOT.glob(f"{DASHBOARDS}/*/*.json"):
        if str(path.relative_to(ROOT)) not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
