"""Paths, as people and programs write them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.httpserver.reply import Reply, text
from warren.httpserver.router import Handler, Match, Request, Router


def _page(name: str) -> Handler:
    def page(request: Request) -> Reply:
        return text(f"{name} {request.names}")

    return page


ROUTES = {
    ("GET", "/v3/kafka"): _page("clusters"),
    ("GET", "/v3/kafka/{}/consumer"): _page("groups"),
    ("GET", "/v3/kafka/{}/consumer/{}"): _page("group"),
    ("DELETE", "/v3/kafka/{}/consumer/{}"): _page("delete"),
    ("GET", "/v3/kafka/{}/consumer/{}/lag"): _page("lag"),
    ("POST", "/v3/admin/loglevel"): _page("level"),
}
ROUTER = Router(ROUTES)


@dataclass(frozen=True)
class Case:
    """A request line, and where it leads: names, a redirect, or a status."""

    method: str
    path: str
    names: tuple[str, ...] | None = None
    location: str | None = None
    status: int | None = None


CASES = [
    Case("GET", "/v3/kafka", names=()),
    Case("HEAD", "/v3/kafka", names=()),
    Case("GET", "/v3/kafka/c/consumer/g/lag", names=("c", "g")),
    Case("GET", "/v3/kafka/c/consumer/a%2Fb/lag", names=("c", "a/b")),
    Case("GET", "/v3/kafka/c/consumer/a%2Flag", names=("c", "a/lag")),
    Case("GET", "/v3/kafka/c.d/consumer/pay.ments-gr%C3%B8up", names=("c.d", "pay.ments-grøup")),
    Case("GET", "/v3/kafka/c/consumer/a+b%20c", names=("c", "a+b c")),
    Case("GET", "/v3/kafka/c/consumer/..", names=("c", "..")),
    Case("GET", "/v3/kafka/c/consumer/lag", names=("c", "lag")),
    Case("GET", "/v3/kafka/c/consumer/%FF", names=("c", "\ufffd")),
    Case("GET", "/v3/kafka/c/consumer/100%", names=("c", "100%")),
    Case("GET", "/%763/kafka", names=()),
    Case("GET", "/v3/kafka/", location="/v3/kafka"),
    Case("GET", "//v3//kafka", location="/v3/kafka"),
    Case("GET", "/V3/Kafka/C/Consumer", location="/v3/kafka/C/consumer"),
    Case("GET", "/v3/kafka/c/consumer/g/lag/", location="/v3/kafka/c/consumer/g/lag"),
    Case("GET", "/v3/kafka/c/CONSUMER/a%2Fb%0D%0Ax", location="/v3/kafka/c/consumer/a%2Fb%0D%0Ax"),
    Case("GET", "//evil.example/v3/kafka"),
    Case("POST", "/v3/admin/loglevel/", location="/v3/admin/loglevel"),
    Case("DELETE", "/v3/kafka/"),
    Case("GET", "/v3/kafka/c/consumer/g/"),
    Case("GET", "/v3/kafka/c"),
    Case("GET", "/v3"),
    Case("GET", "/"),
    Case("GET", "*"),
    Case("GET", ""),
    Case("GET", "/nosuch"),
    Case("POST", "/v3/kafka", status=405),
    Case("TRACE", "/v3/kafka", status=405),
    Case("OPTIONS", "/v3/kafka", status=200),
    Case("OPTIONS", "/nosuch"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method} {case.path}")
def test_where_a_path_leads(case: Case) -> None:
    found = ROUTER.find(case.method, case.path.encode())
    if case.names is not None:
        assert isinstance(found, Match)
        assert found.names == case.names
    elif case.location is not None:
        assert isinstance(found, Reply)
        assert found.status == (301 if case.method == "GET" else 307)
        assert dict(found.headers)[b"location"].decode() == case.location
    elif case.status is not None:
        assert isinstance(found, Reply)
        assert found.status == case.status
    else:
        assert found is None


def test_a_redirect_keeps_the_query() -> None:
    found = ROUTER.find("GET", b"/v3/kafka/", b"x=1&y=%20\r\nSet-Cookie: a")
    assert isinstance(found, Reply)
    assert dict(found.headers)[b"location"] == b"/v3/kafka?x=1&y=%20%0D%0ASet-Cookie:%20a"


@given(st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "DELETE"]), st.binary())
def test_any_path_is_answered_and_headers_stay_in_one_line(method: str, path: bytes) -> None:
    for raw_path in (path, b"/" + path, b"/v3/kafka/" + path, b"//V3/kafka/c/consumer/" + path):
        found = ROUTER.find(method, raw_path, path)
        if isinstance(found, Reply):
            assert not any(b"\r" in value or b"\n" in value for _, value in found.headers)
            assert dict(found.headers).get(b"location", b"/v3/").startswith(b"/v3/")


@given(st.text(min_size=1).filter(lambda name: name.isprintable()), st.text(min_size=1))
def test_any_name_that_is_escaped_arrives(cluster: str, group: str) -> None:
    path = "/v3/kafka/{}/consumer/{}".format(*(quote(name, safe="") for name in (cluster, group)))
    found = ROUTER.find("GET", path.encode())
    assert isinstance(found, Match)
    assert found.names == (cluster, group)
