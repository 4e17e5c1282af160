"""What the benchmark of the API makes of what it measured, and how it asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest
from tests.integration.httpserver.test_server import local, serving
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers

from warren.bench.api import classified
from warren.bench.line import BenchError
from warren.bench.load_client import Load, scraped
from warren.bench.open_pages import OpenPages


class Case(NamedTuple):
    name: str
    snapshots_at: list[float]
    firsts: list[float]
    nexts: list[float]


CASES = [
    Case("no snapshot between", [9.9, 10.9], [0.3], [0.1]),
    Case("a snapshot between: both are firsts", [9.9, 10.2], [0.3, 0.1], []),
    Case("a snapshot at the very moment of the second", [10.51], [0.3, 0.1], []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_scrapes_are_first_or_next(case: Case) -> None:
    scrapes = [{"at": 10.0, "seconds": 0.3}, {"at": 10.5, "seconds": 0.1}]
    assert classified(scrapes, case.snapshots_at) == (case.firsts, case.nexts)


class Pages(BaseHTTPRequestHandler):
    """Answers every path with itself; 404 for those that have `gone` in them; never compresses."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.path.encode()
        self.send_response(404 if "gone" in self.path else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield "127.0.0.1", server.server_address[1]
        server.shutdown()


def _loaded(address: tuple[str, int], *paths: str, rate: float | None, seconds: float) -> dict[str, Any]:
    return asyncio.run(Load(address, paths, connections=2, rate=rate, seconds=seconds).run())


def test_a_load_counts_answers_and_failures(address: tuple[str, int]) -> None:
    done = _loaded(address, "/a", "/b", "/c", "/gone", rate=None, seconds=0.3)
    assert done["requests"] > 8
    assert done["failed"] == pytest.approx(done["requests"] / 4, abs=1)
    assert done["bytes"] > 2 * done["requests"]


def test_a_paced_load_asks_no_more_than_it_should(address: tuple[str, int]) -> None:
    assert 1 <= _loaded(address, "/a", rate=50, seconds=0.5)["requests"] <= 25


def test_a_scrape_takes_the_whole_answer(address: tuple[str, int]) -> None:
    assert scraped(*address, "plain")["bytes"] == len("/metrics")


def test_a_scrape_in_another_form_than_asked_for_is_an_error(address: tuple[str, int]) -> None:
    with pytest.raises(BenchError, match="identity instead of gzip"):
        scraped(*address, "gzip")


def test_open_pages_follow_the_stream_and_ask_as_the_overview_does() -> None:
    answers = MemoryAnswers(["local"], {"local": usual_snapshot()})
    with serving(answers=answers, httpserver={"a": local()}) as server:
        address = ("127.0.0.1", int(server.urls["a"].rpartition(":")[2]))
        pages = OpenPages(address, "local", usual_snapshot().groups(), pages=30, seconds=1.0)
        found = asyncio.run(pages.run())
    assert found["failed"] == 0
    # all groups at first, and then nothing changes
    assert found["events"] == 30
    assert found["bytes"] > 30 * 200
    # a health in five seconds, and some lines in sixty
    assert found["asked"]["requests"] == pytest.approx(30 * 13 / 60, abs=2)


def test_pages_that_get_nothing_are_no_measurement(address: tuple[str, int]) -> None:
    with pytest.raises(BenchError, match="no event"):
        asyncio.run(OpenPages(address, "local", ["a"], pages=60, seconds=0.2).run())
