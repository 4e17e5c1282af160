"""Trying the servers of notifiers: reached or not, and nothing is ever sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.receivers.http import HttpReceiver, Received, Reply
from tests.receivers.mail import MailReceiver

from warren.cli.attempts import Outcome, run_probes
from warren.cli.probes import probes
from warren.config import AnyNotifier, Settings
from warren.config.modules import EmailNotifier, HttpNotifier, NullNotifier, SlackNotifier
from warren.demo.certificates import Certificates, ensure_certificates

NOBODY = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"), "127.0.0.1")


@pytest.fixture
def receivers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def tried(module: AnyNotifier) -> list[Outcome]:
    return run_probes(list(probes(Settings(notifier={"n": module}))), 5)


def outcome(module: AnyNotifier) -> tuple[bool, str]:
    (only,) = tried(module)
    return only.reached, only.detail


def mail(receiver: MailReceiver, **more: object) -> EmailNotifier:
    return EmailNotifier.model_validate(
        {"server": receiver.host, "port": receiver.port, "from": "a@example.com", "to": "b@example.com"}
        | more
    )


def test_every_host_is_tried_once_and_no_secret_shows() -> None:
    settings = Settings(
        notifier={
            "one": HttpNotifier(
                url_open="https://u:p@hooks.example.com/a?k=1", url_close="https://hooks.example.com/b"
            ),
            "two": HttpNotifier(url_open="http://a.example.com:81/x", url_close="http://b.example.com/x"),
            "mail": EmailNotifier(server="mail.example.com", from_="a@example.com", to="b@example.com"),
            "hook": SlackNotifier(webhook_url=SecretStr("https://hooks.slack.com/services/T/B/s3cret")),
            "bot": SlackNotifier(token=SecretStr("xoxb"), channel="#kafka"),
            "none": NullNotifier(),
        }
    )
    assert [(probe.key, probe.kind, probe.address) for probe in probes(settings)] == [
        ("notifier.one", "HTTP", "https://hooks.example.com"),
        ("notifier.two", "HTTP", "http://a.example.com:81"),
        ("notifier.two", "HTTP", "http://b.example.com"),
        ("notifier.mail", "SMTP", "mail.example.com:25"),
        ("notifier.hook", "Slack", "https://hooks.slack.com"),
        ("notifier.bot", "Slack", "https://slack.com/api"),
    ]


def test_a_web_server_is_connected_to_and_asked_nothing(receivers: ExitStack) -> None:
    receiver = receivers.enter_context(HttpReceiver())
    assert outcome(HttpNotifier(url_open=f"{receiver.url}/hook")) == (True, "connected")
    assert outcome(SlackNotifier(webhook_url=SecretStr(f"{receiver.url}/services/x"))) == (True, "connected")
    assert receiver.received == []


def test_certificates_are_looked_at_as_the_notifier_does(
    receivers: ExitStack, certificates: Certificates
) -> None:
    receiver = receivers.enter_context(HttpReceiver(certificates))
    plain = HttpNotifier(url_open=receiver.url)
    reached, detail = outcome(plain)
    assert not reached
    assert "certificate verify failed" in detail
    make_context = plain.model_copy(update={"extra_ca": str(certificates.ca)})
    assert outcome(make_context) == (True, "connected with TLSv1.3")
    assert outcome(plain.model_copy(update={"noverify": True})) == (True, "connected with TLSv1.3")
    assert receiver.received == []


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    module = HttpNotifier(url_open="https://127.0.0.1:1", extra_ca=str(tmp_path / "ca.pem"))
    reached, detail = outcome(module)
    assert not reached
    assert detail.startswith(f"extra-ca {tmp_path / 'ca.pem'}: contains no certificates")


@pytest.mark.parametrize(
    "module",
    [
        HttpNotifier(url_open=NOBODY),
        SlackNotifier(webhook_url=SecretStr(NOBODY)),
        SlackNotifier(token=SecretStr("t"), channel="#c", api_url=NOBODY),
        EmailNotifier(server="127.0.0.1", port=1, from_="a@example.com", to="b@example.com"),
    ],
    ids=["http", "webhook", "bot", "email"],
)
def test_nobody_listens(module: AnyNotifier) -> None:
    assert outcome(module) == (False, "[Errno 111] Connection refused")


def test_a_host_that_a_template_makes_is_not_tried() -> None:
    module = HttpNotifier(url_open='http://{{index .Extras "host"}}/x?id={{.ID}}')
    assert outcome(module) == (True, "not tried: its host comes from a template")


def test_a_mail_server_greets(receivers: ExitStack, certificates: Certificates) -> None:
    plain = receivers.enter_context(MailReceiver())
    assert outcome(mail(plain)) == (True, "connected without TLS, accepts no login")
    secured = receivers.enter_context(
        MailReceiver(certificates, tls="starttls", mechanisms=("PLAIN", "LOGIN"))
    )
    login = {"auth-type": "plain", "username": "u", "password": "p", "extra-ca": str(certificates.ca)}
    reached, detail = outcome(mail(secured, **login))
    assert (reached, detail.partition(",")[0]) == (True, "connected with STARTTLS")
    assert "PLAIN" in detail
    reached, detail = outcome(mail(secured, **login | {"extra-ca": ""}))
    assert not reached
    assert "certificate verify failed" in detail
    assert plain.received == secured.received == []


def test_a_mail_server_without_the_tls_that_is_wanted(receivers: ExitStack) -> None:
    receiver = receivers.enter_context(MailReceiver())
    assert outcome(mail(receiver, tls="starttls")) == (
        False,
        "does not offer STARTTLS; change port or tls",
    )


def test_a_mail_server_that_speaks_tls_from_the_first_byte(
    receivers: ExitStack, certificates: Certificates
) -> None:
    receiver = receivers.enter_context(MailReceiver(certificates, tls="tls"))
    module = mail(receiver, **{"tls": "tls", "extra-ca": str(certificates.ca)})
    assert outcome(module) == (True, "connected with TLS, accepts no login")


def test_a_login_that_the_mail_server_does_not_take(receivers: ExitStack) -> None:
    receiver = receivers.enter_context(MailReceiver(mechanisms=["PLAIN"]))
    reached, detail = outcome(mail(receiver, **{"auth-type": "login", "username": "u", "password": "p"}))
    assert not reached
    assert detail.startswith("accepts only PLAIN: auth-type login will fail")


def test_a_login_where_none_is_taken_is_left_out(receivers: ExitStack) -> None:
    receiver = receivers.enter_context(MailReceiver())
    module = mail(receiver, **{"auth-type": "login", "username": "u", "password": "p"})
    assert outcome(module) == (True, "connected without TLS, accepts no login")


def test_slack_says_whose_token_it_is(receivers: ExitStack) -> None:
    def slack(request: Received) -> Reply:
        known = request.header("Authorization") == "Bearer xoxb-good"
        told = (
            {"ok": True, "user": "warren", "team": "Kafka"}
            if known
            else {"ok": False, "error": "invalid_auth"}
        )
        return Reply(200, json.dumps(told).encode())

    receiver = receivers.enter_context(HttpReceiver(responder=slack))
    bot = SlackNotifier(token=SecretStr("xoxb-good"), channel="#c", api_url=f"{receiver.url}/api/")
    assert outcome(bot) == (True, "token of warren in Kafka")
    wrong = bot.model_copy(update={"token": SecretStr("xoxb-bad")})
    assert outcome(wrong) == (False, "refuses the token: invalid_auth")
    assert {(request.method, request.path) for request in receiver.received} == {("POST", "/api/auth.test")}


def test_nothing_is_tried_for_null() -> None:
    assert tried(NullNotifier()) == []
