"""Links to the pages of a group and of an incident."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from warren.config.sections import General, HttpServer
from warren.config.settings import Settings
from warren.notifier.links import pages


@dataclass(frozen=True)
class Case:
    name: str
    settings: dict[str, Any]
    link: str
    port: int | None = None


def listener(**keys: Any) -> dict[str, Any]:
    return {"httpserver": {"first": HttpServer(**keys), "second": HttpServer(address=":9999")}}


CASES = [
    Case(
        "the address that people use",
        {"general": General(public_url="https://warren.example.com/kafka/"), **listener(address=":8000")},
        "https://warren.example.com/kafka/clusters/prod/groups/billing",
    ),
    Case(
        "the first listener under this host's name",
        listener(address="127.0.0.1:8000"),
        "http://kafka01:8000/clusters/prod/groups/billing",
    ),
    Case(
        "a listener with TLS",
        listener(address=":8443", tls="web"),
        "https://kafka01:8443/clusters/prod/groups/billing",
    ),
    Case(
        "the port that a listener got",
        listener(address=":0"),
        "http://kafka01:41234/clusters/prod/groups/billing",
        port=41234,
    ),
    Case("a port that nobody knows", listener(address=":0"), ""),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_link_leads_to(case: Case) -> None:
    settings = Settings(**case.settings)
    assert pages(settings, case.port, host="kafka01")("prod", "billing") == case.link


def test_names_cannot_leave_their_place_in_the_path() -> None:
    settings = Settings(general=General(public_url="http://w"))
    link = pages(settings)("a/b", "ünï cödé?#&<>|/../x")
    assert link == "http://w/clusters/a%2Fb/groups/%C3%BCn%C3%AF%20c%C3%B6d%C3%A9%3F%23%26%3C%3E%7C%2F..%2Fx"


def test_a_message_of_an_incident_links_to_it() -> None:
    page = pages(Settings(general=General(public_url="http://w/warren")))
    assert page("prod", "billing", "7f3c/9a") == "http://w/warren/incidents/7f3c%2F9a"
    assert page("prod", "", "7f3c") == "http://w/warren/incidents/7f3c"
    assert page("prod", "") == "http://w/warren/about"
