"""compose/compose.yaml cannot be run in the tests: each part's configuration is tried with the real server instead."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka.admin import AdminClient
from tests.conftest import BrokerFactory
from tests.processes import eventually
from tests.prometheus import PrometheusServer
from tools.dashboards.__main__ import DASHBOARDS, ROOT
from tools.dashboards.alerts import ALL
from typer.testing import CliRunner

from warren.cli.main import app

COMPOSE = ROOT / "compose"
SERVICES: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
PROVISIONING = ROOT / "grafana" / "provisioning"


def test_the_file_is_such_as_the_compose_specification_allows() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"],
        cwd=COMPOSE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_everything_that_is_mounted_or_built_from_is_there() -> None:
    volumes = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["volumes"]
    for service in SERVICES.values():
        for source, *_ in (each.split(":") for each in service.get("volumes", ())):
            assert source in volumes or (COMPOSE / source).exists(), source
        if build := service.get("build"):
            assert (COMPOSE / build["context"] / build["dockerfile"]).exists()


def test_every_image_has_a_version() -> None:
    """Ours is made here."""
    images = {service["image"] for service in SERVICES.values()}
    assert all(re.search(r":v?\d+\.\d+", image) for image in images - {"warren"})


def test_grafana_has_every_variable_that_its_files_take_from_the_environment() -> None:
    used = {
        name
        for path in PROVISIONING.rglob("*.yaml")
        for name in re.findall(r"(?<!\$)\$\{?([A-Z_]+)", path.read_text())
    }
    assert used <= set(SERVICES["grafana"]["environment"])
    assert used > {"SLACK_WEBHOOK_URL"}


def test_grafana_finds_its_dashboards_where_the_provider_looks() -> None:
    mounted = dict(each.split(":")[:2] for each in SERVICES["grafana"]["volumes"])
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards" / "warren.yaml").read_text())["providers"]
    assert mounted[f"../{DASHBOARDS}"] == provider["options"]["path"]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (ROOT / DASHBOARDS / Path(home).relative_to(provider["options"]["path"])).exists()


def test_warren_takes_its_configuration_and_names_services_that_are_there() -> None:
    checked = CliRunner().invoke(app, ["check", "--config-dir", str(COMPOSE)])
    assert checked.exit_code == 0, checked.output
    text = (COMPOSE / "burrow.toml").read_text()
    assert set(re.findall(r'"(?:http://)?([a-z]+):\d+"', text)) - {"localhost"} == {
        "kafka",
        "influxdb",
        "elasticsearch",
    }
    database = tomllib.loads(text)["sink"]["influxdb"]["database"]
    assert SERVICES["influxdb"]["environment"]["INFLUXDB_DB"] == database
    assert SERVICES["grafana"]["environment"]["INFLUXDB_DATABASE"] == database


def test_a_real_broker_takes_the_settings_of_kafka(broker_factory: BrokerFactory) -> None:
    """But the addresses. The image makes properties of its variables in this way."""
    settings = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in SERVICES["kafka"]["environment"].items()
        if "LISTENER" not in name and "VOTERS" not in name
    }
    running = broker_factory(settings=settings)
    known = AdminClient({"bootstrap.servers": running.bootstrap_servers}).list_topics(timeout=30)
    assert list(known.brokers) == [1]


def test_a_real_prometheus_takes_its_configuration_and_the_rules(tmp_path: Path) -> None:
    directory = ROOT / "prometheus"
    (tmp_path / "alerts.yml").write_text((directory / "alerts.yml").read_text())
    with PrometheusServer(tmp_path, "", (directory / "prometheus.yml").read_text()) as server:

        def targets() -> list[str]:
            found = server.client.get("/api/v1/targets").json()["data"]["activeTargets"]
            return [target["scrapeUrl"] for target in found]

        assert eventually(lambda: targets() == ["http://warren:8000/metrics"], 30)
        groups = server.client.get("/api/v1/rules").json()["data"]["groups"]
        loaded = {rule["name"] for group in groups for rule in group["rules"] if rule["type"] == "alerting"}
        assert loaded == {rule.name for group in ALL for rule in group.rules}
