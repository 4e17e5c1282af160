"""A sample through a notifier, as the page asks for it, against a real receiver."""

from __future__ import annotations

import json

from pydantic import SecretStr
from tests.receivers.http import HttpReceiver, Reply

from warren.common.status import Status
from warren.config import Settings
from warren.config.modules import HttpNotifier, SlackNotifier
from warren.config.sections import Cluster
from warren.notifier.trial import SAMPLE_GROUP, tried


def page(cluster: str, group: str, incident: str = "") -> str:
    return f"https://warren.example.com/{cluster}/{group}/{incident}"


def settings_of(url: str) -> Settings:
    module = HttpNotifier(url_open=f"{url}/S3CR3T?token=S3CR3T", headers={"X-Own": SecretStr("S3CR3T")})
    return Settings(notifier={"ops": module}, cluster={"prod": Cluster(servers=("x:1",))})


def test_the_receiver_gets_it_and_its_answer_is_told() -> None:
    with HttpReceiver() as receiver:
        trial = tried(settings_of(receiver.url), "ops", Status.ERR, "open", page)
        (received,) = receiver.received
    said = json.loads(received.body)
    assert (said["group"], said["cluster"], said["status"], said["event"]) == (
        SAMPLE_GROUP,
        "prod",
        "ERR",
        "open",
    )
    assert said["link"] == page("prod", SAMPLE_GROUP, said["id"])
    assert (trial.sent, trial.answer, trial.retriable) == (True, "HTTP 200", False)
    assert json.loads(trial.body) == said
    assert trial.head[0] == f"POST {receiver.url}/REDACTED"
    assert "S3CR3T" not in json.dumps([trial.head, trial.answer])


def test_why_it_was_not_sent() -> None:
    with HttpReceiver(responder=lambda _: Reply(503, b"busy")) as receiver:
        trial = tried(settings_of(receiver.url), "ops", Status.WARN, "open", page)
    assert (trial.sent, trial.retriable) == (False, True)
    assert 'HTTP 503: "busy"' in trial.answer
    gone = tried(settings_of(receiver.url), "ops", Status.WARN, "open", page)
    assert (gone.sent, gone.retriable) == (False, True)
    assert "S3CR3T" not in gone.answer


def test_a_template_with_a_mistake_is_told_and_nothing_is_sent() -> None:
    module = SlackNotifier(webhook_url=SecretStr("http://127.0.0.1:9/x"), template_open="nowhere.tmpl")
    trial = tried(Settings(notifier={"chat": module}), "chat", Status.WARN, "open", page)
    assert not trial.sent
    assert "nowhere.tmpl" in trial.answer
    assert trial.head == ()
