"""What is a secret, and what is shown in its place."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from warren import secrecy


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
    Extra("pagerduty_key", True),
    Extra("api_key_ops", True),
    Extra("pwd", True),
    Extra("bearer", True),
    Extra("author", False),
    Extra("password_hint_page", True),
    Extra("app", False),
    Extra("tier", False),
    Extra("fabric", False),
    Extra("runbook", False),
    Extra("keyspace", False),
    Extra("monkey", False),
]


@pytest.mark.parametrize("case", EXTRAS, ids=lambda case: case.name)
def test_extras_with_a_secrets_name_are_hidden(case: Extra) -> None:
    shown = {case.name: secrecy.HIDDEN if case.hidden else "value"}
    assert secrecy.extras({case.name: "value"}, everything=True) == shown
    assert secrecy.extras({case.name: "value"}, everything=False) == shown


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("Bearer abc", True),
        ("eyJhbGciOi.eyJzdWIi.sig", True),
        ("xoxb-123-456", True),
        ("0123456789abcdef0123456789abcdef", True),
        ("3f2b8c1e-0000-4000-8000-0123456789ab", True),
        ("Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5", True),
        ("consumer-lag-prod-eu-west-1", False),
        ("payments", False),
        ("see the runbook, page 12", False),
        ("42", False),
    ],
)
def test_values_that_look_like_a_secret_are_hidden_whatever_their_name(value: str, hidden: bool) -> None:
    assert secrecy.extras({"x": value}, everything=True) == {"x": secrecy.HIDDEN if hidden else value}


@dataclass(frozen=True)
class Address:
    """An address, what an administrator is shown of it, and what a reader."""

    name: str
    url: str
    shown: str
    to_readers: str


ADDRESSES = [
    Address(
        "plain",
        "http://127.0.0.1:47090/open/{{.ID}}",
        "http://127.0.0.1:47090/open/{{.ID}}",
        "http://127.0.0.1:47090/REDACTED",
    ),
    Address("nothing", "", "", ""),
    Address("host alone", "https://h.example/", "https://h.example/", "https://h.example/"),
    Address("a template", "{{.Extras.hook}}", "{{.Extras.hook}}", "{{.Extras.hook}}"),
    Address("no address", "h.example/in/x", "h.example/in/x", "REDACTED"),
    Address("user", "https://u:p@h/x", "https://REDACTED@h/x", "https://h/REDACTED"),
    Address(
        "a password with an @",
        "https://ops:p@ssW0rd@hooks.example.com/x",
        "https://REDACTED@hooks.example.com/REDACTED",
        "https://hooks.example.com/REDACTED",
    ),
    Address("IPv6", "http://u:p@[::1]:80/x", "http://REDACTED@[::1]:80/x", "http://[::1]:80/REDACTED"),
    Address("token as user", "https://tok@h/x?y=@z", "https://REDACTED@h/x?y=@z", "https://h/REDACTED"),
    Address(
        "query",
        "http://h/o?id={{.ID}}&token=abc&group=g",
        "http://h/o?id={{.ID}}&token=REDACTED&group=g",
        "http://h/REDACTED",
    ),
    Address(
        "code",
        "https://x.example/?k=v&code=SECRET",
        "https://x.example/?k=REDACTED&code=REDACTED",
        "https://x.example/REDACTED",
    ),
    Address(
        "template in query",
        "http://h/o?api_key={{.Extras.api_key}}",
        "http://h/o?api_key={{.Extras.api_key}}",
        "http://h/REDACTED",
    ),
    Address(
        "Slack",
        "https://hooks.slack.com/services/T/B/x",
        "https://hooks.slack.com/REDACTED",
        "https://hooks.slack.com/REDACTED",
    ),
    Address(
        "Teams",
        "https://acme.webhook.office.com/webhookb2/a/b",
        "https://acme.webhook.office.com/REDACTED",
        "https://acme.webhook.office.com/REDACTED",
    ),
    Address(
        "Discord",
        "https://discord.com/api/webhooks/1/x",
        "https://discord.com/REDACTED",
        "https://discord.com/REDACTED",
    ),
    Address(
        "Telegram",
        "https://api.telegram.org/bot123456:AAH-secret/sendMessage",
        "https://api.telegram.org/bot123456:AAH-secret/sendMessage",
        "https://api.telegram.org/REDACTED",
    ),
]


@pytest.mark.parametrize("case", ADDRESSES, ids=lambda case: case.name)
def test_addresses_are_shown_without_their_secrets(case: Address) -> None:
    assert secrecy.address(case.url) == case.shown
    assert secrecy.origin(case.url) == case.to_readers


@pytest.mark.parametrize("password", ["S3cr/et", "S3cr#et", "S3cr?et"])
def test_the_beginning_of_a_password_was_taken_for_the_port(password: str) -> None:
    assert secrecy.origin(f"https://ops:{password}@h.example/x") == secrecy.HIDDEN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-Da.keyStorePassword=x -Xmx1g", "-Da.keyStorePassword=REDACTED -Xmx1g"),
        (
            """LoginModule required username="u" password="a b";""",
            """LoginModule required username="u" password=REDACTED;""",
        ),
        ("-javaagent:x.jar=port=1,password=x,y", "-javaagent:x.jar=port=1,password=REDACTED"),
        ("jdbc:db://h;user=u;password=a;ssl=yes -Xmx1g", "jdbc:db://h;user=u;password=REDACTED -Xmx1g"),
        ("-Da=1 -Dpassword=x", "-Da=1 -Dpassword=REDACTED"),
        ("-Dfile.encoding=UTF-8", "-Dfile.encoding=UTF-8"),
        ("http://h/x?token=a&b=c", "http://h/x?token=a&b=c"),
    ],
)
def test_passwords_among_options_are_hidden(text: str, shown: str) -> None:
    assert secrecy.without_assigned(text) == shown


def test_an_address_among_the_extras_is_shown_without_its_secrets() -> None:
    given = {"link": "https://u:p@h/x", "app": "burrow"}
    assert list(secrecy.extras(given, everything=True).items()) == [
        ("app", "burrow"),
        ("link", "https://REDACTED@h/x"),
    ]
    assert secrecy.extras(given, everything=False)["link"] == "https://h/REDACTED"


@pytest.mark.parametrize(
    "echo",
    [
        "Cannot POST /hook/SECRETTOKEN/send",
        "no route for SECRETTOKEN",
        "/hook/SECRET%54OKEN/send?code=PARAM%41METER was not found",
        "bad code PARAMAMETER",
        "next=%2Fhook%2FSECRETTOKEN%2Fsend",
        "/a%3ASECRETWORD",
    ],
)
def test_a_receiver_that_repeats_the_path_gave_the_secret_away(echo: str) -> None:
    secrets = secrecy.parts("https://bot.example/hook/SECRET%54OKEN/a:SECRETWORD/send?code=PARAM%41METER")
    told = secrecy.without(echo, secrets)
    assert "SECRET" not in told
    assert "PARAM" not in told


def test_a_short_secret_inside_of_a_long_one_left_the_rest_of_it() -> None:
    assert secrecy.without("key abcd1234", ("abcd", "abcd1234")) == "key REDACTED"
