"""The files in the repository are those that the code makes, and dashboards are such as Grafana's types allow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from tools.dashboards.__main__ import DASHBOARDS, ROOT, files
from tools.dashboards.influx_query import register

MADE = files()
BOARDS = {path: json.loads(text) for path, text in MADE.items() if path.startswith(DASHBOARDS)}


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (panel for panel in board["panels"] if panel["type"] != "row")


@pytest.mark.parametrize("path", MADE)
def test_the_file_in_the_repository_is_what_the_code_makes(path: str) -> None:
    assert (ROOT / path).read_text() == MADE[path], "make dashboards"


def test_there_is_no_dashboard_that_the_code_does_not_make() -> None:
    found = {str(path.relative_to(ROOT)) for path in (ROOT / DASHBOARDS).rglob("*.json")}
    assert found == set(BOARDS)


@pytest.mark.parametrize("path", BOARDS)
def test_a_dashboard_is_such_as_the_types_allow(path: str) -> None:
    register_default_plugins()
    register()
    read = Dashboard.from_json(BOARDS[path])
    assert json.loads(json.dumps(read, cls=JSONEncoder)) == BOARDS[path]


@pytest.mark.parametrize("path", BOARDS)
def test_every_panel_says_what_it_shows_and_takes_the_chosen_data_source(path: str) -> None:
    board = BOARDS[path]
    assert board["description"]
    for panel in panels(board):
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["targets"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.parametrize("path", BOARDS)
def test_panels_do_not_cover_each_other(path: str) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in BOARDS[path]["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, (panel["title"], taken[x, y])
                taken[x, y] = panel["title"]


def test_links_to_dashboards_lead_to_one_that_is_there() -> None:
    uids = {board["uid"] for board in BOARDS.values()}
    assert len(uids) == len(BOARDS)
    for text in MADE.values():
        for link in text.split('"url": "/d/')[1:]:
            assert link.partition("?")[0] in uids


def test_the_alert_rules_of_grafana_ask_a_data_source_that_is_provisioned() -> None:
    provisioning = ROOT / "grafana" / "provisioning"
    sources = yaml.safe_load((provisioning / "datasources" / "warren.yaml").read_text())["datasources"]
    groups = yaml.safe_load((provisioning / "alerting" / "rules.yaml").read_text())["groups"]
    asked = {query["datasourceUid"] for group in groups for rule in group["rules"] for query in rule["data"]}
    assert asked - {"__expr__"} <= {source["uid"] for source in sources}


def test_messages_go_to_a_contact_point_that_is_there_and_secrets_come_from_the_environment() -> None:
    alerting = ROOT / "grafana" / "provisioning" / "alerting"
    points = yaml.safe_load((alerting / "contact-points.yaml").read_text())["contactPoints"]
    (policy,) = yaml.safe_load((alerting / "policies.yaml").read_text())["policies"]
    receivers = {policy["receiver"], *(route["receiver"] for route in policy["routes"])}
    assert receivers == {point["name"] for point in points}
    (receiver,) = points[0]["receivers"]
    assert (receiver["type"], receiver["settings"]["url"]) == ("slack", "$SLACK_WEBHOOK_URL")
    (template,) = yaml.safe_load((alerting / "templates.yaml").read_text())["templates"]
    for key in ("title", "text"):
        name = receiver["settings"][key].split('"')[1]
        assert f'define "{name}"' in template["template"]
