"""/v4/about: the configuration is there, and no secret in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemoryProgress

import warren
from warren.config import Settings, load
from warren.httpserver.access import Role
from warren.httpserver.app import App
from warren.httpserver.v4 import shapes

CONFIGURATION = """
[general]
public-url = "https://warren.example.com/kafka"

[cluster.local]
servers = ["kafka01:9092"]
client-profile = "secure"

[client-profile.secure]
sasl = "login"

[sasl.login]
username = "warren"
password = "S3CR3T-1"

[httpserver.web]
address = ":8000"
admin-token = "S3CR3T-2"

[notifier.ops]
class-name = "http"
url-open = "https://receiver.example.com/in/S3CR3T-3?token=S3CR3T-4"
group-allowlist = "^pay"
headers = { X-Own = "S3CR3T-5" }
extras = { team = "payments", api_key = "S3CR3T-6", runbook = "https://wiki.example.com/payments" }

[notifier.chat]
class-name = "slack"
webhook-url = "https://hooks.slack.com/services/S3CR3T-7"

[notifier.post]
class-name = "email"
server = "mail.example.com"
from = "a@example.com"
to = "b@example.com"
auth-type = "plain"
username = "u"
password = "S3CR3T-8"

[sink.series]
class-name = "influxdb"
url = "https://influx.example.com:8086"
org = "o"
bucket = "b"
token = "S3CR3T-9"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "burrow.toml"
    file.write_text(CONFIGURATION)
    return load(file, {})


def got(settings: Settings, role: Role = Role.READ, answers: MemoryAnswers | None = None) -> Any:
    app = App(settings, answers or MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")
    answered = ask(app, "/v4/about", role=role)
    assert answered.status == 200
    msgspec.json.decode(answered.body, type=shapes.About)
    return json.loads(answered.body)


@pytest.mark.parametrize("role", [Role.READ, Role.ADMIN])
def test_no_secret_is_shown_to_anybody(settings: Settings, role: Role) -> None:
    text = json.dumps(got(settings, role))
    assert "S3CR3T" not in text
    assert text.count("REDACTED") >= 9


def test_a_password_among_the_options_of_java_was_shown() -> None:
    options = "-Djavax.net.ssl.keyStorePassword=S3CR3T -Dproxy=http://u:S3CR3T@proxy -Xmx1g"
    settings = Settings.model_validate({"spark": {"conf": {"spark.driver.extraJavaOptions": options}}})
    shown = got(settings)["configuration"]["spark"]["conf"]["spark.driver.extraJavaOptions"]
    assert shown == "-Djavax.net.ssl.keyStorePassword=REDACTED -Dproxy=http://REDACTED@proxy -Xmx1g"


def test_what_is_no_secret_is_shown_under_the_names_of_the_file(settings: Settings) -> None:
    shown = got(settings)["configuration"]
    assert shown["cluster"] == {"local": {"servers": ["kafka01:9092"], "client-profile": "secure"}}
    assert shown["sasl"] == {"login": {"username": "warren", "password": "REDACTED"}}
    assert shown["general"] == {"public-url": "https://warren.example.com/kafka"}
    assert shown["notifier"]["ops"]["group-allowlist"] == "^pay"
    assert shown["notifier"]["post"]["auth-type"] == "plain"
    # nothing that is not set
    assert set(shown) == {"general", "cluster", "client-profile", "sasl", "httpserver", "notifier", "sink"}


def test_nobody_sees_the_path_of_an_address_that_is_sent_to(settings: Settings) -> None:
    reader, admin = got(settings), got(settings, Role.ADMIN)
    assert reader["configuration"] == admin["configuration"]
    ops = admin["configuration"]["notifier"]["ops"]
    assert ops["extras"]["runbook"] == "https://wiki.example.com/REDACTED"
    assert ops["url-open"] == "https://receiver.example.com/REDACTED"
    assert (reader["source"], admin["source"]) == ("", str(settings.source))


def test_version_uptime_and_the_times_of_triggers(settings: Settings) -> None:
    progress = MemoryProgress(recent_triggers=((1_700_000_000_000, 300), (1_700_000_010_000, 280)))
    page = got(settings, answers=MemoryAnswers(queries={"local": progress}))
    assert (page["version"], page["host"]) == (warren.__version__, "here")
    assert 0 <= page["uptime_ms"] < 60_000
    assert page["triggers"] == [
        {"cluster": "local", "times": [1_700_000_000_000, 1_700_000_010_000], "took_ms": [300, 280]}
    ]
