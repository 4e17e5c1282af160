"""Who is shown what of the configuration."""

from __future__ import annotations

import json

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel

from warren.config import Settings
from warren.config.modules import HttpNotifier, SlackNotifier
from warren.httpserver.access import Role
from warren.httpserver.app import App

HOOK = "https://api.telegram.example/bot123456:AAH-hidden/sendMessage"


@pytest.fixture
def app() -> App:
    http = HttpNotifier.model_validate(
        {
            "url-open": HOOK,
            "url-close": HOOK,
            "send-close": True,
            "extras": {"page": "https://wiki.example/lag", "pagerduty_key": "hidden", "team": "ops"},
            "headers": {"X-Hook": "hidden"},
        }
    )
    slack = SlackNotifier.model_validate({"webhook-url": "https://hooks.slack.com/services/T/B/hidden"})
    settings = Settings(notifier={"hook": http, "chat": slack})
    return App(settings, MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")


def test_the_path_of_a_webhook_was_shown_to_strangers(app: App) -> None:
    shown = ask(app, "/v3/config/notifier/hook", role=Role.READ).body
    module = json.loads(shown)["module"]
    assert module["url-open"] == module["url-close"] == "https://api.telegram.example/REDACTED"
    assert module["extra"] == {
        "page": "https://wiki.example/REDACTED",
        "pagerduty_key": "REDACTED",
        "team": "ops",
    }
    assert b"hidden" not in shown + ask(app, "/v3/config/notifier/chat", role=Role.READ).body


def test_administrators_see_the_address(app: App) -> None:
    module = json.loads(ask(app, "/v3/config/notifier/hook", role=Role.ADMIN).body)["module"]
    assert module["url-open"] == HOOK
    assert module["extra"]["page"] == "https://wiki.example/lag"
    assert module["extra"]["pagerduty_key"] == "REDACTED"
