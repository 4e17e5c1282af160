"""The same configuration and templates: Warren's requests and mails are those of a real Burrow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from email import message_from_string, policy
from pathlib import Path

import pytest
from tests.integration.notifier.senders.captures import Capture, captures, settings
from tests.receivers.http import HttpReceiver, Received, Reply
from tests.receivers.mail import Mail, MailReceiver

from warren.config import Settings
from warren.notifier.senders import DeliveryError, sender

LIMIT_S = 20.0
# the receiver's address, and the client's own name
OWN_HEADERS = {"host", "user-agent"}


def page(cluster: str, group: str, incident: str = "") -> str:
    return ""


@pytest.fixture
def web() -> Iterator[HttpReceiver]:
    with HttpReceiver() as running:
        yield running


@pytest.fixture
def post() -> Iterator[MailReceiver]:
    with MailReceiver(mechanisms=()) as running:
        yield running


@pytest.fixture
def configured(web: HttpReceiver, post: MailReceiver, tmp_path: Path) -> Settings:
    return settings(tmp_path, web.port, post.port)


def by_notifier(via: str) -> dict[str, list[Capture]]:
    """In the order of sending; of many equal ones about the same group each is looked at."""
    found: dict[str, list[Capture]] = {}
    for capture in captures():
        if capture.line["via"] == via:
            found.setdefault(capture.notifier, []).append(capture)
    return found


def headers_of(pairs: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: value for name, value in pairs if name.lower() not in OWN_HEADERS}


def comparable(body: str) -> str:
    """Without what Burrow itself does not say twice in the same way.

    `.Start` ends with its process's own clock, and topics by status come in the order of a Go map.
    """
    body = re.sub(r'"start":"[^"]* UTC[^"]*"', '"start":""', body)
    return re.sub(r'(?<="topicsbystatus":)\{.*?\}', _sorted_lists, body)


def _sorted_lists(found: re.Match[str]) -> str:
    lists = json.loads(found[0])
    return json.dumps({status: sorted(topics) for status, topics in lists.items()})


def check_request(request: Received, capture: Capture) -> None:
    line = capture.line
    assert (request.method, request.path) == (line["method"], line["path"])
    assert comparable(request.text) == comparable(capture.body)
    sent = headers_of(request.headers)
    assert sent.pop("Idempotency-Key") == capture.message.id
    theirs = headers_of(tuple((name, value) for name, value in line["headers"]))
    length = theirs.pop("Content-Length")
    assert sent.pop("Content-Length") == str(len(request.body))
    if not capture.body.startswith("{"):
        assert length == str(len(request.body))
    assert sent == theirs


@pytest.mark.parametrize("notifier", sorted(by_notifier("http")))
def test_requests(notifier: str, web: HttpReceiver, configured: Settings) -> None:
    made = sender(notifier, configured.notifier[notifier], page, configured.path)
    for capture in by_notifier("http")[notifier]:
        made.send(capture.message, LIMIT_S)
        check_request(web.received[-1], capture)
    made.close()
    assert len(web.received) == len(by_notifier("http")[notifier])


def test_a_refusal_is_no_success_as_in_burrow(web: HttpReceiver, configured: Settings) -> None:
    made = sender("failing", configured.notifier["failing"], page, configured.path)
    web.answer(Reply(500))
    with pytest.raises(DeliveryError):
        made.send(by_notifier("http")["failing"][0].message, LIMIT_S)
    made.close()


def check_mail(mail: Mail, capture: Capture) -> None:
    line = capture.line
    assert (mail.mail_from, list(mail.rcpt_to)) == (line["mail_from"], line["rcpt_to"])
    assert mail.ehlo == line["ehlo"]
    sent = mail.message
    theirs = message_from_string(line["data"], policy=policy.default)
    for name in ("From", "To", "Subject", "Date", "MIME-Version", "Content-Transfer-Encoding"):
        assert sent[name] == theirs[name], name
    # Burrow takes the ; out of the type, so that it is none
    media_type = re.split(r"[\s;]", str(line["data"]).partition("Content-Type: ")[2], maxsplit=1)[0]
    assert sent.get_content_type() == media_type
    assert sent.get_content_charset() == "utf-8"
    assert sent.get_payload(decode=True) == theirs.get_payload(decode=True)


@pytest.mark.parametrize("notifier", sorted(by_notifier("smtp")))
def test_mails(notifier: str, tmp_path: Path) -> None:
    mechanisms = ("PLAIN",) if notifier == "mailauth" else ()
    with MailReceiver(mechanisms=mechanisms) as post:
        configured = settings(tmp_path, 1, post.port)
        made = sender(notifier, configured.notifier[notifier], page, configured.path)
        for capture in by_notifier("smtp")[notifier]:
            made.send(capture.message, LIMIT_S)
            check_mail(post.received[-1], capture)
            login = capture.line["auth"]
            assert post.received[-1].login == (login["login"] if login else "")


def test_a_template_without_subject_sends_nothing_as_in_burrow(
    post: MailReceiver, configured: Settings
) -> None:
    made = sender("mailnosubject", configured.notifier["mailnosubject"], page, configured.path)
    with pytest.raises(DeliveryError, match="Subject"):
        made.send(by_notifier("smtp")["mail"][0].message, LIMIT_S)
    assert post.received == []


def test_null_sends_nothing(web: HttpReceiver, configured: Settings) -> None:
    made = sender("nothing", configured.notifier["nothing"], page, configured.path)
    assert made.send(captures()[0].message, LIMIT_S) == "not sent: null"
    assert web.received == []
