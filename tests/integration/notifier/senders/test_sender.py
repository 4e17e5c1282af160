"""A [notifier.N] section as a sender: files beside the configuration, and Warren's own templates."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.receivers.http import HttpReceiver
from tests.receivers.mail import MailReceiver
from tests.receivers.messages import message
from tests.receivers.slack import SlackReceiver

from warren.config.modules import EmailNotifier, HttpNotifier, SlackNotifier
from warren.notifier.senders import sender
from warren.notifier.templates import TemplateError

LIMIT_S = 20.0


def page(cluster: str, group: str, incident: str = "") -> str:
    return f"https://warren.example.com/{cluster}/{group}"


def test_http_without_templates_sends_json_of_warren_s_own() -> None:
    with HttpReceiver() as receiver:
        module = HttpNotifier(
            url_open=f"{receiver.url}/{{{{.Group}}}}", url_close=f"{receiver.url}/{{{{.ID}}}}"
        )
        with contextlib.closing(sender("ops", module, page)) as made:
            made.send(message(), LIMIT_S)
            made.send(message("close"), LIMIT_S)
        opened, closed = receiver.received
    assert opened.path == "/billing"
    assert closed.path == f"/{message().incident}"
    assert "billing" in json.dumps(json.loads(opened.body))
    assert "billing" in json.dumps(json.loads(closed.body))


def test_mail_without_templates_has_a_subject_of_warren_s_own() -> None:
    with MailReceiver() as receiver:
        module = EmailNotifier(
            server=receiver.host, port=receiver.port, from_="warren@example.com", to="ops@example.com"
        )
        made = sender("ops", module, page)
        made.send(message(), LIMIT_S)
        made.send(message("close"), LIMIT_S)
        opened, closed = receiver.received
    assert "billing" in opened.subject
    assert "billing" in closed.subject
    assert opened.subject != closed.subject


def test_files_are_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "open.tmpl").write_text("{{.Group}} has {{.Result.TotalLag}}")
    with SlackReceiver() as slack:
        module = SlackNotifier(webhook_url=SecretStr(slack.webhook_url), template_open="open.tmpl")
        with contextlib.closing(sender("ops", module, page, lambda name: tmp_path / name)) as made:
            made.send(message(), LIMIT_S)
            made.send(message("close"), LIMIT_S)
    opened, closed = slack.posts
    assert opened.payload == {"text": "billing has 365"}
    assert "<https://warren.example.com/prod/billing|Open the group's page>" in closed.shown


def test_a_template_s_mistake_is_found_before_anything_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "open.tmpl"
    file.write_text("{{.Group")
    with pytest.raises(TemplateError, match=r"open\.tmpl: line 1"):
        sender("ops", HttpNotifier(url_open="http://example.com", template_open=str(file)), page)
    with pytest.raises(TemplateError, match=r"notifier\.ops: url-open"):
        sender("ops", HttpNotifier(url_open="http://example.com/{{nosuch}}"), page)
