"""What a configuration page may show."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from warren.httpserver import redaction


@dataclass(frozen=True)
class Extra:
    """A name in a notifier's extras."""

    name: str
    hidden: bool


EXTRAS = [
    Extra("api_key", True),
    Extra("api-key", True),
    Extra("apikey", True),
    Extra("key", True),
    Extra("routing_key", True),
    Extra("service_key", True),
    Extra("integration.key", True),
    Extra("password", True),
    Extra("db_passwd", True),
    Extra("auth", True),
    Extra("access_token", True),
    Extra("client_secret", True),
    Extra("app", False),
    Extra("tier", False),
    Extra("fabric", False),
    Extra("runbook", False),
    Extra("keyspace", False),
    Extra("monkey", False),
]


@pytest.mark.parametrize("case", EXTRAS, ids=lambda case: case.name)
def test_extras_with_a_secrets_name_are_hidden(case: Extra) -> None:
    assert redaction.extras({case.name: "value"}) == {case.name: redaction.HIDDEN if case.hidden else "value"}


@dataclass(frozen=True)
class Address:
    """An address and what is shown of it."""

    name: str
    url: str
    shown: str


ADDRESSES = [
    Address("plain", "http://127.0.0.1:47090/open/{{.ID}}", "http://127.0.0.1:47090/open/{{.ID}}"),
    Address("nothing", "", ""),
    Address("user", "https://u:p@h/x", "https://REDACTED@h/x"),
    Address("token as user", "https://tok@h/x?y=@z", "https://REDACTED@h/x?y=@z"),
    Address(
        "query", "http://h/o?id={{.ID}}&token=abc&group=g", "http://h/o?id={{.ID}}&token=REDACTED&group=g"
    ),
    Address(
        "template in query",
        "http://h/o?api_key={{.Extras.api_key}}",
        "http://h/o?api_key={{.Extras.api_key}}",
    ),
    Address("Slack", "https://hooks.slack.com/services/T/B/x", "https://hooks.slack.com/REDACTED"),
    Address(
        "Teams", "https://acme.webhook.office.com/webhookb2/a/b", "https://acme.webhook.office.com/REDACTED"
    ),
    Address("Discord", "https://discord.com/api/webhooks/1/x", "https://discord.com/REDACTED"),
]


@pytest.mark.parametrize("case", ADDRESSES, ids=lambda case: case.name)
def test_addresses_are_shown_without_their_secrets(case: Address) -> None:
    assert redaction.url(case.url) == case.shown


def test_an_address_among_the_extras_is_shown_without_its_secrets() -> None:
    shown = redaction.extras({"link": "https://u:p@h/x", "app": "burrow"})
    assert list(shown.items()) == [("app", "burrow"), ("link", "https://REDACTED@h/x")]
