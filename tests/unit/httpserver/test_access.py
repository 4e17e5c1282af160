"""Who may do what."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

import pytest

from warren.config.sections import HttpServer
from warren.httpserver.access import Access, Client, Role, is_loopback
from warren.httpserver.reply import Reply

HERE, THERE = "127.0.0.1", "192.0.2.7"


def section(**keys: object) -> HttpServer:
    return HttpServer.model_validate(
        {"address": "127.0.0.1:0", **{k.replace("_", "-"): v for k, v in keys.items()}}
    )


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


OPEN = section()
TOKENS = section(read_token="r34d", admin_token="4dm1n")
USERS = section(read_username="rita", read_password="r34d:ø", admin_username="ada", admin_password="4dm1n")
ONLY_READ = section(read_token="r34d")
ONLY_ADMIN = section(admin_token="4dm1n")
ANYWHERE = section(admin_from_anywhere=True)


@dataclass(frozen=True)
class Case:
    name: str
    section: HttpServer
    expected: Role | None  # None: refused
    address: str = HERE
    headers: dict[str, str] = field(default_factory=dict)
    origin: str = ""


CASES = (
    Case("open, from this machine", OPEN, Role.ADMIN),
    Case("open, from this machine by IPv6", OPEN, Role.ADMIN, "::1"),
    Case("open, from this machine by mapped IPv4", OPEN, Role.ADMIN, "::ffff:127.0.0.1"),
    Case("open, from elsewhere", OPEN, Role.READ, THERE),
    Case("open, from elsewhere by mapped IPv4", OPEN, Role.READ, "::ffff:192.0.2.7"),
    Case("open, from no address", OPEN, Role.READ, ""),
    Case(
        "open, forged forwarding",
        OPEN,
        Role.READ,
        THERE,
        {"x-forwarded-for": HERE, "forwarded": f"for={HERE}"},
    ),
    Case("open, needless credentials", OPEN, Role.READ, THERE, bearer("anything")),
    Case("anywhere", ANYWHERE, Role.ADMIN, THERE),
    Case("tokens, none given", TOKENS, Role.NOTHING),
    Case("tokens, reader", TOKENS, Role.READ, HERE, bearer("r34d")),
    Case("tokens, admin", TOKENS, Role.ADMIN, THERE, bearer("4dm1n")),
    Case("tokens, scheme in another case", TOKENS, Role.ADMIN, THERE, {"authorization": "bEARER  4dm1n "}),
    Case("tokens, wrong", TOKENS, None, HERE, bearer("r34D")),
    Case("tokens, beginning", TOKENS, None, HERE, bearer("r34")),
    Case("tokens, longer", TOKENS, None, HERE, bearer("r34dd")),
    Case("tokens, empty", TOKENS, None, HERE, {"authorization": "Bearer "}),
    Case("tokens, no scheme", TOKENS, None, HERE, {"authorization": "r34d"}),
    Case("tokens, as a user", TOKENS, None, HERE, basic("", "r34d")),
    Case("tokens, not ASCII", TOKENS, None, HERE, bearer("ø")),
    Case("users, none given", USERS, Role.NOTHING),
    Case("users, reader", USERS, Role.READ, THERE, basic("rita", "r34d:ø")),
    Case("users, admin", USERS, Role.ADMIN, THERE, basic("ada", "4dm1n")),
    Case("users, the other's password", USERS, None, HERE, basic("rita", "4dm1n")),
    Case("users, no base64", USERS, None, HERE, {"authorization": "Basic ???"}),
    Case("users, no colon", USERS, None, HERE, {"authorization": "Basic cml0YQ=="}),
    Case("only readers have a token, from here", ONLY_READ, Role.ADMIN, HERE, bearer("r34d")),
    Case("only readers have a token, from elsewhere", ONLY_READ, Role.READ, THERE, bearer("r34d")),
    Case("only readers have a token, none given", ONLY_READ, Role.NOTHING, HERE),
    Case("only admins have a token, none given", ONLY_ADMIN, Role.READ, HERE),
    Case("only admins have a token, given", ONLY_ADMIN, Role.ADMIN, THERE, bearer("4dm1n")),
    Case("only admins have a token, wrong", ONLY_ADMIN, None, HERE, bearer("guess")),
    Case(
        "a script of another site",
        OPEN,
        Role.READ,
        HERE,
        {"origin": "http://evil.example", "host": "localhost:8000"},
    ),
    Case("a script of no site", OPEN, Role.READ, HERE, {"origin": "null", "host": "localhost:8000"}),
    Case(
        "a script of a name that leads here",
        OPEN,
        Role.READ,
        HERE,
        {"origin": "http://evil.example:8000", "host": "evil.example:8000"},
    ),
    Case("a script with a host that is none", OPEN, Role.READ, HERE, {"origin": "http://[", "host": "["}),
    Case(
        "our own page by name",
        OPEN,
        Role.ADMIN,
        HERE,
        {"origin": "http://localhost:8000", "host": "localhost:8000"},
    ),
    Case(
        "our own page by number",
        OPEN,
        Role.ADMIN,
        HERE,
        {"origin": "http://127.0.0.1:8000", "host": "127.0.0.1:8000"},
    ),
    Case(
        "the configured site",
        OPEN,
        Role.ADMIN,
        HERE,
        {"origin": "http://dash.example", "host": "localhost:8000"},
        "http://dash.example",
    ),
    Case(
        "any site may read, none administer",
        OPEN,
        Role.READ,
        HERE,
        {"origin": "http://dash.example", "host": "localhost:8000"},
        "*",
    ),
    Case(
        "another site with the password that a browser remembers",
        USERS,
        Role.READ,
        THERE,
        {"sec-fetch-site": "cross-site", "origin": "https://evil.example", **basic("ada", "4dm1n")},
    ),
    Case(
        "our own page with the password that a browser remembers",
        USERS,
        Role.ADMIN,
        THERE,
        {"sec-fetch-site": "same-origin", "origin": "https://warren.example", **basic("ada", "4dm1n")},
    ),
    Case(
        "the configured site with a password",
        USERS,
        Role.ADMIN,
        THERE,
        {"sec-fetch-site": "cross-site", "origin": "http://dash.example", **basic("ada", "4dm1n")},
        "http://dash.example",
    ),
    Case(
        "a script with credentials",
        TOKENS,
        Role.ADMIN,
        HERE,
        {"origin": "http://evil.example", **bearer("4dm1n")},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_role(case: Case) -> None:
    headers = tuple((name.encode(), value.encode()) for name, value in case.headers.items())
    found = Access(case.section, case.origin).role(Client(case.address, headers))
    if case.expected is None:
        assert isinstance(found, Reply)
        assert found.status == 401
        assert [name for name, _ in found.headers].count(b"www-authenticate") == 2
    else:
        assert found is case.expected


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        (OPEN, ("anyone", "this machine only")),
        (ANYWHERE, ("anyone", "anyone")),
        (TOKENS, ("with credentials", "with credentials")),
        (ONLY_READ, ("with credentials", "this machine only")),
        (ONLY_ADMIN, ("anyone", "with credentials")),
    ],
)
def test_the_rules_in_words(listener: HttpServer, words: tuple[str, str]) -> None:
    access = Access(listener)
    assert (access.readers, access.admins) == words


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::1%lo", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_loopback(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected
