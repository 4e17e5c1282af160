"""The files of the web pages: what is sent, how long it may be kept, and what it may do in a browser."""

from __future__ import annotations

import gzip
import re

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import Answered, ask
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel

from warren import pages
from warren.config import Settings
from warren.evaluator.rules import Rule
from warren.httpserver.access import Role
from warren.httpserver.app import App
from warren.httpserver.files import ADDRESSES, is_open

APP = App(Settings(), MemoryAnswers(), MemoryLogLevel(), CollectorRegistry(), host="here")


def get(path: str, **headers: str) -> Answered:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(APP, path, headers=named, role=Role.READ)


def links(page: Answered) -> list[str]:
    return re.findall(r'(?:href|src)="(\./[^"]+)"', page.body.decode())


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_is_the_page_and_its_files_are_there(address: str) -> None:
    path = address.replace("{}", "a%2Fb")
    page = get(path)
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    found = links(page)
    assert len(found) > 20
    for link in found:
        # as a browser resolves it
        up = link.count("../")
        assert up == path.count("/") - 1
        file = get("/" + link.removeprefix("./").removeprefix("../" * up))
        assert file.status == 200, link
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_nothing_inline_and_nothing_from_elsewhere_may_run() -> None:
    page = get("/")
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    text = page.body.decode()
    assert not re.search(r"<script(?![^>]* src=)", text)
    assert "<style" not in text
    assert " style=" not in text


def test_files_name_no_other_host_and_make_no_markup_of_text() -> None:
    for path, content in pages.read().items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path
        if path.endswith(".js"):
            forbidden = (
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\"style\""
            )
            assert not re.search(forbidden, text), path


def test_a_page_that_is_known_is_not_sent_again() -> None:
    page = get("/")
    assert page.headers["cache-control"] == "no-cache"
    again = get("/", if_none_match=page.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert get("/", if_none_match='"another"').status == 200


def test_files_are_compressed_for_those_who_take_it() -> None:
    plain, packed = get("/"), get("/", accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body)


def test_a_page_from_before_an_update_still_finds_its_files_but_does_not_keep_them() -> None:
    file = get("/pages/0123456789abcdef/shell/main.js")
    assert file.status == 200
    assert file.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/pages/0/shell/nothing.js",
        "/pages/0/__init__.py",
        "/pages/0/deno.json",
        "/pages/0/..%2Finit.py",
        "/pages/0/index.html",
        "/pages",
        "/clusters",
        "/clusters/c",
        "/index.html",
        "/x",
        "//",
    ],
)
def test_anything_else_is_not_found_as_in_burrow(path: str) -> None:
    answer = get(path)
    assert answer.status == 404
    assert answer.body == b'{"error":true,"message":"invalid request type","result":{}}\n'


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_pages_are_only_read(method: str) -> None:
    assert ask(APP, "/", method=method, role=Role.ADMIN).status == 405


def test_only_the_files_need_no_credentials() -> None:
    for address in ADDRESSES:
        assert is_open("GET", address.replace("{}", "x").encode())
        assert not is_open("DELETE", address.replace("{}", "x").encode())
    assert is_open("GET", b"/pages/0/shell/main.js")
    for path in (b"/v4/health", b"/v3/kafka", b"/metrics", b"/v4/session", b"*", b"", b"//v4/health"):
        assert not is_open("GET", path)


def test_every_rule_is_explained() -> None:
    text = pages.read()["rules/rules.js"].decode()
    assert re.findall(r'name: "(\w+)"', text) == [rule.name.lower() for rule in Rule]
