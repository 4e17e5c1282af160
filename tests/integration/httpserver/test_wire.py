"""What strangers put on the wire: malformed, oversized, forged; and answers that go on."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.httpserver.test_server import local, port_of, serving
from tests.processes import eventually
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemorySnapshot

from warren.httpserver.v4 import streams

HOST = b"Host: h\r\n"


def spoken(port: int, *pieces: bytes) -> bytes:
    """What comes back, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        try:
            for piece in pieces:
                raw.sendall(piece)
        except ConnectionError:
            # hung up in the middle: the answer is there all the same
            pass
        answer = b""
        try:
            while piece := raw.recv(65536):
                answer += piece
        except ConnectionError:
            pass
        return answer


CASES = {
    "no HTTP at all": (400, [b"hello\r\n\r\n"]),
    "bytes that are no text": (400, [bytes(range(128, 256)) + b"\r\n\r\n"]),
    "a header without a colon": (400, [b"GET /v3/kafka HTTP/1.1\r\n" + HOST + b"nonsense\r\n\r\n"]),
    "a header with a nothing in it": (400, [b"GET /v3/kafka HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n"]),
    "a header folded into the next line": (
        400,
        [b"GET /v3/kafka HTTP/1.1\r\n" + HOST + b"X: a\r\n b\x01c\r\n\r\n"],
    ),
    "two lengths": (
        400,
        [
            b"POST /v3/admin/loglevel HTTP/1.1\r\n"
            + HOST
            + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"
        ],
    ),
    "a length and chunks": (
        400,
        [
            b"POST /v3/admin/loglevel HTTP/1.1\r\n" + HOST,
            b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ],
    ),
    "a length below nothing": (
        400,
        [b"POST /v3/admin/loglevel HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n"],
    ),
    "a body announced too long": (
        413,
        [b"POST /v3/admin/loglevel HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999\r\n\r\n{"],
    ),
    "chunks without an end": (
        413,
        [
            b"POST /v3/admin/loglevel HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
            *[b"4000\r\n" + b" " * 0x4000 + b"\r\n"] * 8,
        ],
    ),
    "headers without an end": (
        431,
        [b"GET /v3/kafka HTTP/1.1\r\n" + HOST, *[b"X: " + b"a" * 8000 + b"\r\n"] * 20],
    ),
    "a path without an end": (431, [b"GET /" + b"a" * 200_000]),
    "a long path": (
        414,
        [b"GET /v3/" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"],
    ),
    "an escaped line break": (
        400,
        [b"GET /v3/kafka/a%0d%0aX:b HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"],
    ),
}


# where the server of this module listens; hypothesis wants no fixtures
FUZZED: dict[str, int] = {}


@pytest.fixture(scope="module", autouse=True)
def port() -> Iterator[int]:
    with serving(httpserver={"a": local(timeout=60)}) as server:
        FUZZED["port"] = port_of(server.urls["a"])
        yield FUZZED["port"]


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_a_clean_refusal(port: int, name: str) -> None:
    status, pieces = CASES[name]
    answer = spoken(port, *pieces)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:300]
    shown = json.loads(body)
    assert list(shown) == ["error", "message", "result"]
    assert (shown["error"], shown["result"]) == (True, {})
    # and the next one is served
    assert httpx.get(f"http://127.0.0.1:{port}/burrow/admin").text == "GOOD"


def test_credentials_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    listener = local(
        **{"read-token": "r34d-S3CRET", "admin-username": "ada", "admin-password": "4dm1n-S3CRET"}
    )
    with structlog.testing.capture_logs() as logged, serving(httpserver={"a": listener}) as server:
        url = server.urls["a"]
        assert (
            httpx.get(f"{url}/v3/kafka", headers={"Authorization": "Bearer wrong-S3CRET"}).status_code == 401
        )
        assert (
            httpx.get(f"{url}/v3/kafka", headers={"Authorization": "Bearer r34d-S3CRET"}).status_code == 200
        )
        assert httpx.get(f"{url}/v3/config", auth=("ada", "4dm1n-S3CRET")).status_code == 200
        shown = httpx.get(f"{url}/v3/config", auth=("ada", "4dm1n-S3CRET")).text
    listening = next(each for each in logged if each["event"] == "listening")
    assert (listening["may_read"], listening["may_administer"]) == ("with credentials", "with credentials")
    assert "S3CRET" not in f"{logged}{capsys.readouterr()}{shown}"


def test_each_listener_has_its_own_rules() -> None:
    answers = MemoryAnswers(snapshots={"local": usual_snapshot()})
    listeners = {"inside": local(), "outside": local(**{"read-token": "r34d"})}
    with serving(answers=answers, httpserver=listeners) as server:
        assert httpx.get(f"{server.urls['inside']}/v3/kafka").status_code == 200
        assert httpx.get(f"{server.urls['outside']}/v3/kafka").status_code == 401


def test_events_come_as_they_happen_and_end_with_the_server() -> None:
    first = replace(usual_snapshot(), details={}, number=3)
    answers = MemoryAnswers(snapshots={"local": first})
    events: list[dict[str, str]] = []
    with serving(answers=answers, httpserver={"a": local(timeout=1)}) as server:
        url = f"{server.urls['a']}/v4/clusters/local/changes"
        with (
            httpx.Client(timeout=10) as client,
            client.stream("GET", url, headers={"Accept": "text/event-stream"}) as response,
        ):
            assert response.headers["content-type"] == "text/event-stream"
            lines = response.iter_lines()
            events.append(next_event(lines))
            # longer than a client may take to ask: it has asked
            time.sleep(1.3)
            answers.snapshots["local"] = replace(first.without("dead"), number=4)
            events.append(next_event(lines))
        # the place of the last event, as a browser sends it when it comes back
        answers.snapshots["local"] = first_again = replace(first, number=5)
        headers = {"Accept": "text/event-stream", "Last-Event-ID": events[-1]["id"]}
        with httpx.Client(timeout=10) as client, client.stream("GET", url, headers=headers) as response:
            lines = response.iter_lines()
            events.append(next_event(lines))
            stopping = threading.Thread(target=server.stop)
            stopping.start()
            # ended as HTTP ends a body, not cut off: else this raises
            assert all(not line or line.startswith(":") for line in lines)
            stopping.join()
    told = [json.loads(event["data"]) for event in events]
    assert [event["id"] for event in events] == ["3", "4", "5"]
    assert [each["complete"] for each in told] == [True, False, False]
    assert len(told[0]["groups"]) == len(first_again.statuses)
    assert told[1]["removed"] == ["dead"]
    assert [group["group"] for group in told[2]["groups"]] == ["dead"]


def next_event(lines: Iterator[str]) -> dict[str, str]:
    """The next event that carries data; its fields."""
    event: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif "data" in event:
            return event
        else:
            event = {}
    raise AssertionError("the stream has ended")


def test_a_long_poll_returns_with_the_change() -> None:
    first = MemorySnapshot(number=3)
    answers = MemoryAnswers(snapshots={"local": first})
    with serving(answers=answers, httpserver={"a": local()}) as server:
        url = f"{server.urls['a']}/v4/clusters/local/changes"
        change = threading.Timer(
            0.3, lambda: answers.snapshots.update(local=replace(usual_snapshot(), details={}, number=4))
        )
        change.start()
        answer = httpx.get(url, params={"since": "3", "wait": 30}, timeout=20).json()
        change.join()
        at_once = httpx.get(url, params={"since": "4"}).json()
    assert answer["snapshot"]["number"] == 4
    assert len(answer["groups"]) == len(usual_snapshot().statuses)
    assert at_once["groups"] == []


def test_only_so_many_streams_and_room_again_when_one_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_STREAMS", 1)
    answers = MemoryAnswers(snapshots={"local": MemorySnapshot(number=3)})
    headers = {"Accept": "text/event-stream"}
    with serving(answers=answers, httpserver={"a": local()}) as server, httpx.Client(timeout=10) as client:
        url = f"{server.urls['a']}/v4/clusters/local/changes"

        def status() -> int:
            with client.stream("GET", url, headers=headers) as response:
                if response.status_code == 200:
                    next_event(response.iter_lines())
                return response.status_code

        with client.stream("GET", url, headers=headers) as response:
            # held: the connection ends with its iterator
            lines = response.iter_lines()
            next_event(lines)
            assert status() == 503
        assert eventually(lambda: status() == 200, 10)


@settings(max_examples=60, deadline=None, database=None)
@given(
    st.one_of(
        st.binary(min_size=1, max_size=300),
        st.tuples(
            st.sampled_from([b"GET ", b"POST ", b"DELETE ", b"BREW "]),
            st.binary(max_size=100),
            st.sampled_from([b" HTTP/1.1\r\n", b" HTTP/9.9\r\n", b"\r\n"]),
            st.binary(max_size=100),
        ).map(b"".join),
    )
)
def test_whatever_is_sent_the_server_stays(anything: bytes) -> None:
    with socket.create_connection(("127.0.0.1", FUZZED["port"]), timeout=10) as raw:
        raw.sendall(anything + b"\r\n\r\n")
        raw.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := raw.recv(65536):
                answer += piece
    # nothing, where the request was not complete; never a fault of ours
    assert answer == b"" or answer[9:10] in {b"2", b"3", b"4"}, answer[:200]
