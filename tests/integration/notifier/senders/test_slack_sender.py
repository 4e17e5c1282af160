"""Messages to a server shaped like Slack."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.receivers.http import Reply
from tests.receivers.messages import FixedText, message, partition
from tests.receivers.slack import SlackReceiver

from warren.config.modules import SlackNotifier
from warren.notifier.message import Kind
from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.senders.http_client import HttpClient
from warren.notifier.senders.slack import SlackSender
from warren.notifier.templates import Template
from warren.tls import tls_context

LIMIT_S = 20.0


@pytest.fixture
def slack() -> Iterator[SlackReceiver]:
    with SlackReceiver() as running:
        yield running


def page(cluster: str, group: str, incident: str = "") -> str:
    return f"https://warren.example.com/{cluster}/{group}"


@contextlib.contextmanager
def sender(module: SlackNotifier, texts: dict[Kind, Template] | None = None) -> Iterator[SlackSender]:
    client = HttpClient(tls_context(None, noverify=False), keepalive_s=60, reuse=True)
    with contextlib.closing(SlackSender(module, client, page, texts or {})) as made:
        yield made


def by_webhook(slack: SlackReceiver, **keys: Any) -> SlackNotifier:
    return SlackNotifier(**{"webhook_url": slack.webhook_url} | keys)


def by_bot(slack: SlackReceiver, **keys: Any) -> SlackNotifier:
    return SlackNotifier(**{"token": slack.token, "channel": "#kafka", "api_url": slack.api_url} | keys)


def fault(module: SlackNotifier, texts: dict[Kind, Template] | None = None) -> DeliveryError:
    with sender(module, texts) as made, pytest.raises(DeliveryError) as caught:
        made.send(message(), LIMIT_S)
    return caught.value


def test_a_webhook_takes_open_and_close(slack: SlackReceiver) -> None:
    with sender(by_webhook(slack)) as made:
        assert made.send(message(), LIMIT_S) == "HTTP 200: accepted by Slack"
        assert made.send(message("close"), LIMIT_S) == "HTTP 200: accepted by Slack"
    opened, closed = slack.posts
    assert opened.text == "ERR: billing on prod, 1 of 12 not OK, total lag 365"
    assert "<https://warren.example.com/prod/billing|Open the group's page>" in opened.shown
    assert closed.text == "OK again: billing on prod, after 25 s"
    assert {request.connection for request in slack.http.received} == {1}


def test_a_bot_posts_to_its_channel(slack: SlackReceiver) -> None:
    with sender(by_bot(slack)) as made:
        assert made.send(message(), LIMIT_S).startswith("HTTP 200: accepted by Slack (ts 1")
    (post,) = slack.posts
    assert (post.way, post.channel) == ("bot", "#kafka")
    assert "1 of 12 not OK" in post.text


def test_a_group_with_a_thousand_partitions_is_taken(slack: SlackReceiver) -> None:
    many = tuple(partition("t" * 249, number) for number in range(1000))
    with sender(by_webhook(slack)) as made:
        made.send(message(group="g" * 5000, partitions=many), LIMIT_S)
    assert "and 995 more" in slack.posts[0].shown


def test_a_template_s_text_is_the_text(slack: SlackReceiver) -> None:
    with sender(by_bot(slack), {"open": FixedText("*billing* is down")}) as made:
        made.send(message(), LIMIT_S)
        made.send(message("close"), LIMIT_S)
    opened, closed = slack.posts
    assert opened.payload == {"text": "*billing* is down", "channel": "#kafka"}
    assert closed.text == "OK again: billing on prod, after 25 s"


def test_a_template_s_json_is_the_whole_message(slack: SlackReceiver) -> None:
    given = {"text": "down", "blocks": [{"type": "divider"}], "username": "kafka"}
    with sender(by_webhook(slack), {"open": FixedText(json.dumps(given))}) as made:
        made.send(message(), LIMIT_S)
    assert slack.posts[0].payload == given


@dataclass(frozen=True)
class Case:
    name: str
    reply: Reply
    said: str
    retriable: bool = False
    wait_s: float | None = None


WEBHOOK_ANSWERS = [
    Case(
        "a webhook that was removed",
        Reply(404, b"no_service"),
        "Slack answered HTTP 404: no_service; the webhook was removed: create a new one and put its URL",
    ),
    Case(
        "an archived channel",
        Reply(410, b"channel_is_archived"),
        "Slack answered HTTP 410: channel_is_archived; unarchive the channel",
    ),
    Case(
        "too many",
        Reply(429, b"", (("Retry-After", "30"),)),
        "Slack answered HTTP 429; send less often",
        retriable=True,
        wait_s=30.0,
    ),
    Case("a bad day", Reply(503), "Slack answered HTTP 503; see its status page", retriable=True),
]


@pytest.mark.parametrize("case", WEBHOOK_ANSWERS, ids=lambda case: case.name)
def test_a_webhook_that_says(slack: SlackReceiver, case: Case) -> None:
    slack.http.answer_next(case.reply)
    error = fault(by_webhook(slack))
    assert str(error).startswith(case.said)
    assert (error.retriable, error.wait_s) == (case.retriable, case.wait_s)


def reply(**said: Any) -> Reply:
    return Reply(200, json.dumps(said).encode(), (("Content-Type", "application/json"),))


BOT_ANSWERS = [
    Case(
        "ratelimited",
        reply(ok=False, error="ratelimited"),
        "Slack answered HTTP 200: ratelimited; send less",
        True,
    ),
    Case(
        "internal_error",
        reply(ok=False, error="internal_error"),
        "Slack answered HTTP 200: internal_error",
        True,
    ),
    Case(
        "missing_scope",
        reply(ok=False, error="missing_scope"),
        "Slack answered HTTP 200: missing_scope; give the bot",
    ),
    Case(
        "a new word",
        reply(ok=False, error="on_strike"),
        "Slack answered HTTP 200: on_strike; see Slack's docu",
    ),
    Case("somebody else", Reply(200, b"<html>welcome"), "The answer is not Slack's; check api-url", True),
]


@pytest.mark.parametrize("case", BOT_ANSWERS, ids=lambda case: case.name)
def test_an_api_that_says(slack: SlackReceiver, case: Case) -> None:
    slack.http.answer_next(case.reply)
    error = fault(by_bot(slack))
    assert str(error).startswith(case.said)
    assert error.retriable is case.retriable


def test_a_channel_that_is_not_there(slack: SlackReceiver) -> None:
    error = fault(by_bot(slack, channel="#nowhere"))
    assert str(error) == "Slack answered HTTP 200: channel_not_found; check channel, and invite the bot to it"
    assert not error.retriable


def test_a_wrong_token_is_said_and_not_shown(slack: SlackReceiver) -> None:
    error = fault(by_bot(slack, token="xoxb-wr0ng"))
    assert str(error) == "Slack answered HTTP 200: invalid_auth; check token"


def test_json_that_slack_does_not_take(slack: SlackReceiver) -> None:
    error = fault(by_webhook(slack), {"open": FixedText('{"blocks": [{"type": "nonsense"}]}')})
    assert str(error).startswith("Slack answered HTTP 400: invalid_blocks; check the template's JSON")
    assert not error.retriable


def test_the_webhook_s_address_is_never_shown() -> None:
    with SlackReceiver() as slack:
        slack.http.answer(lambda request: Reply(500, f"failed on {request.path}".encode()))
        assert "s3cretwebhook" not in str(fault(by_webhook(slack)))
        slack.http.answer(Reply(fault="close"))
        assert "s3cretwebhook" not in str(fault(by_webhook(slack)))
    error = str(fault(by_webhook(slack)))
    assert error.startswith(
        f"No connection to 127.0.0.1:{slack.http.port}: Connection refused; check webhook-url"
    )


def test_a_limit_is_over_after_a_while(slack: SlackReceiver) -> None:
    slack.limit_next(7)
    with sender(by_bot(slack)) as made:
        with pytest.raises(DeliveryError) as caught:
            made.send(message(), LIMIT_S)
        assert (caught.value.retriable, caught.value.wait_s) == (True, 7.0)
        made.send(message(), LIMIT_S)
    assert len(slack.posts) == 1
