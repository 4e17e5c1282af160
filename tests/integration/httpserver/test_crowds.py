"""Clients that want too much: all connections, all descriptors, all memory, or all the time in the world."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.httpserver.test_server import (
    certificate,
    closed_within,
    exchange,
    local,
    port_of,
    serving,
)
from tests.processes import eventually
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemorySnapshot
from tests.unit.httpserver.test_kafka import partition

from warren.common.status import Status
from warren.config.sections import Tls
from warren.httpserver import Server
from warren.httpserver.connections import RESERVE
from warren.snapshot.model import GroupStatus

ROOT = Path(__file__).parents[3]

STREAM = b"GET /v4/changes HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"
EVENTS = "{} HTTP/1.1\r\nAccept: text/event-stream\r\nX-Rest:"
SMALL = b"GET /burrow/admin HTTP/1.1\r\nHost: h\r\n\r\n"

__all__ = ["certificate"]


@contextlib.contextmanager
def silent(port: int, count: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Connections that say nothing."""
    with contextlib.ExitStack() as closing:
        yield [
            closing.enter_context(
                socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(source, 0))
            )
            for _ in range(count)
        ]


def taken(server: Server) -> int:
    """Connections that the listener holds, by its own account."""
    return len(server._guards["a"].connections)


def test_idle_connections_took_every_descriptor_of_the_process() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.integration.httpserver.narrow"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        lines = iter(child.stdout.readline, "")
        port = port_of(next(line for line in lines if line.startswith("http://")))
        with silent(port, 260):
            for _ in range(3):
                assert exchange(port, "GET", "/burrow/admin").body == b"GOOD"
                child.stdin.write("open\n")
                child.stdin.flush()
                assert next(lines) == "opened\n"
            assert exchange(port, "GET", "/v3/kafka").status == 503
        assert eventually(lambda: exchange(port, "GET", "/v3/kafka").status == 200, 10)
        child.stdin.close()
        assert child.wait(20) == 0


def test_health_checks_went_unanswered_while_all_connections_were_taken() -> None:
    listener = local(max_connections=3, max_connections_per_client=100)
    with serving(httpserver={"a": listener}) as server:
        port = port_of(server.urls["a"])
        with silent(port, 3):
            assert eventually(lambda: taken(server) == 3, 10)
            for page, body in (("/burrow/admin", b"GOOD"), ("/burrow/admin/ready", b"READY")):
                answered = exchange(port, "GET", page)
                assert (answered.status, answered.body) == (200, body)
                assert answered.headers["connection"] == "close"
            assert exchange(port, "GET", "/v4/health").status == 200
            refused = exchange(port, "GET", "/v3/kafka")
            assert refused.status == 503
            assert json.loads(refused.body) == {
                "error": True,
                "message": "too many connections",
                "result": {},
            }
            # the reserve cannot be taken either
            with silent(port, RESERVE + 30):
                assert exchange(port, "GET", "/burrow/admin").body == b"GOOD"
                assert taken(server) <= 3 + RESERVE
        assert eventually(lambda: taken(server) == 0, 10)
        assert exchange(port, "GET", "/v3/kafka").status == 200


def test_one_client_took_the_connections_of_all_others() -> None:
    listener = local(max_connections=100, max_connections_per_client=4)
    with serving(httpserver={"a": listener}) as server:
        port = port_of(server.urls["a"])
        with silent(port, 40, source="127.0.0.2"):
            assert eventually(lambda: taken(server) == 4 + RESERVE, 10)
            assert exchange(port, "GET", "/v3/kafka").status == 200


def test_connections_without_a_handshake_are_counted_and_cut_off(certificate: Tls) -> None:
    listener = local(tls="t", max_connections=3, read_timeout=2)
    context = ssl.create_default_context(cafile=certificate.certfile)
    with serving(httpserver={"a": listener}, tls={"t": certificate}) as server:
        port = port_of(server.urls["a"])

        def asked(page: str) -> bytes:
            with (
                socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
                context.wrap_socket(raw, server_hostname="127.0.0.1") as secure,
            ):
                secure.sendall(f"GET {page} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
                return b"".join(iter(lambda: secure.recv(65536), b""))

        with silent(port, 3) as idle:
            assert eventually(lambda: taken(server) == 3, 10)
            assert asked("/v3/kafka").startswith(b"HTTP/1.1 503")
            assert asked("/burrow/admin").endswith(b"GOOD")
            assert all(closed_within(each, 10) for each in idle)
            assert eventually(lambda: taken(server) == 0, 10)
            assert asked("/v3/kafka").startswith(b"HTTP/1.1 200")


def test_headers_that_came_byte_by_byte_held_a_connection_for_minutes() -> None:
    listener = local(timeout=300, read_timeout=1)
    with (
        serving(httpserver={"a": listener}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"]))) as raw,
    ):
        # a first request in full: the deadline holds for every one
        raw.sendall(b"GET /burrow/admin HTTP/1.1\r\nHost: h\r\n\r\n")
        raw.settimeout(10)
        assert raw.recv(65536).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        with contextlib.suppress(OSError):
            for byte in b"GET /burrow/admin HTTP/1.1\r\nX-Slow: " + b"x" * 200:
                raw.sendall(bytes([byte]))
                time.sleep(0.1)
        assert time.monotonic() - began < 8


def test_a_blank_line_after_an_answer_held_a_connection_for_ever() -> None:
    with (
        serving(httpserver={"a": local(timeout=300, read_timeout=3)}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"])), timeout=10) as raw,
    ):
        for _ in range(2):
            # the blank line is no error: the next request is answered
            raw.sendall(SMALL)
            assert raw.recv(65536).startswith(b"HTTP/1.1 200")
            raw.sendall(b"\r\n")
            time.sleep(0.2)
        assert closed_within(raw, 10)


def large_snapshot(number: int, groups: int) -> MemorySnapshot:
    parts = tuple(partition(f"a-topic-with-a-name-{at}", at, 5) for at in range(3))
    verdicts = {
        f"consumer-group-with-a-usual-name-{at:06d}": GroupStatus(
            "local", f"g{at}", Status.OK, 1.0, parts, 3, None, 5
        )
        for at in range(groups)
    }
    return MemorySnapshot(number=number, statuses=verdicts)


def secured(raw: socket.socket, tls: Tls | None) -> socket.socket:
    """The connection after the handshake, if there is one."""
    if tls is None:
        return raw
    return ssl.create_default_context(cafile=tls.certfile).wrap_socket(raw, server_hostname="127.0.0.1")


def listening(tls: Tls | None, **keys: object) -> dict[str, Any]:
    """The sections for one listener "a"."""
    if tls is None:
        return {"httpserver": {"a": local(**keys)}}
    return {"httpserver": {"a": local(tls="t", **keys)}, "tls": {"t": tls}}


@pytest.fixture(params=["plain", "tls"])
def maybe_tls(request: pytest.FixtureRequest, certificate: Tls) -> Tls | None:
    return certificate if request.param == "tls" else None


def reader(port: int, page: str = "/metrics", tls: Tls | None = None) -> socket.socket:
    """Asks, and takes nothing."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", port))
    raw = secured(raw, tls)
    raw.sendall(f"GET {page} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    return raw


def test_readers_that_do_not_read_held_the_text_of_every_snapshot() -> None:
    answers = MemoryAnswers(snapshots={"local": large_snapshot(0, 4000)})
    most = 20_000_000
    with (
        serving(answers=answers, httpserver={"a": local(max_unsent=most, write_timeout=2)}) as server,
        contextlib.ExitStack() as closing,
    ):
        port, unsent = port_of(server.urls["a"]), server._guards["a"].unsent
        size = int(exchange(port, "GET", "/metrics").headers["content-length"])
        assert 6_000_000 < size < most / 2
        statuses = []
        for number in range(1, 9):
            answers.snapshots["local"] = dataclasses.replace(answers.snapshots["local"], number=number)  # type: ignore[type-var]
            raw = closing.enter_context(reader(port))
            raw.settimeout(20)
            statuses.append(raw.recv(12)[-3:])
            assert unsent.bytes <= most
        assert statuses[0] == b"200"
        assert statuses[-1] == b"503"
        # a small page is no trouble, and who reads gets the text that others hold already
        assert exchange(port, "GET", "/v3/kafka").status == 200
        # those who take nothing are cut off in the end
        assert eventually(lambda: unsent.bytes == 0, 30)
        assert exchange(port, "GET", "/metrics").status == 200


def test_over_tls_a_page_was_buffered_whole_for_everyone_who_does_not_read(maybe_tls: Tls | None) -> None:
    answers = MemoryAnswers(snapshots={"local": large_snapshot(0, 100_000)})
    with (
        serving(answers=answers, **listening(maybe_tls, max_unsent=15_000_000, write_timeout=2)) as server,
        contextlib.ExitStack() as closing,
    ):
        port, unsent = port_of(server.urls["a"]), server._guards["a"].unsent
        statuses = []
        for _ in range(4):
            # in one piece, and anew for each
            raw = closing.enter_context(reader(port, "/v4/changes", maybe_tls))
            raw.settimeout(20)
            statuses.append(raw.recv(12)[-3:])
        assert statuses == [b"200", b"200", b"503", b"503"]
        assert 10_000_000 < unsent.bytes <= 15_000_000
        assert eventually(lambda: unsent.bytes == 0, 30)
        assert taken(server) == 2


@pytest.mark.parametrize("closing", ["", "Connection: close\r\n"], ids=["kept", "closing"])
def test_a_reader_that_takes_nothing_is_cut_off_and_a_slow_one_is_not(
    closing: str, maybe_tls: Tls | None
) -> None:
    # more than the system's own buffers hold
    answers = MemoryAnswers(snapshots={"local": large_snapshot(0, 20_000)})
    with serving(answers=answers, **listening(maybe_tls, write_timeout=1)) as server:
        port = port_of(server.urls["a"])
        page = f"/metrics HTTP/1.1\r\n{closing}X-Rest:"
        with reader(port, page, maybe_tls) as stuck, reader(port, tls=maybe_tls) as slow:
            slow.settimeout(10)
            got, until = 0, time.monotonic() + 5
            while time.monotonic() < until:
                got += len(slow.recv(8192))
                time.sleep(0.05)
            # bytes went out for as long as somebody took them
            assert got > 100_000
            assert eventually(lambda: taken(server) == 1, 10)
            assert slow.recv(1024)
            assert closed_within(stuck, 10)


def test_the_same_text_for_many_counts_once() -> None:
    answers = MemoryAnswers(snapshots={"local": large_snapshot(0, 2000)})
    with (
        serving(answers=answers, httpserver={"a": local(max_unsent=5_000_000)}) as server,
        contextlib.ExitStack() as closing,
    ):
        port = port_of(server.urls["a"])
        answered: Callable[[socket.socket], bytes] = lambda raw: raw.recv(12)[-3:]  # noqa: E731
        assert {answered(closing.enter_context(reader(port))) for _ in range(10)} == {b"200"}


def test_a_usual_snapshot_is_served_to_many_at_once() -> None:
    answers = MemoryAnswers(snapshots={"local": usual_snapshot()})
    with serving(answers=answers, httpserver={"a": local()}) as server:
        port = port_of(server.urls["a"])
        with silent(port, 200) as many:
            for each in many:
                each.sendall(b"GET /v3/kafka/local/consumer HTTP/1.1\r\nHost: h\r\n\r\n")
            assert {each.recv(12) for each in many} == {b"HTTP/1.1 200"}


def running(server: Server) -> int:
    """Requests that are being answered."""
    return len(server._listeners[0]._server.server_state.tasks)


def test_a_stream_with_a_request_behind_it_was_not_told_that_its_client_had_gone(
    maybe_tls: Tls | None, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(**listening(maybe_tls)) as server:
        port = port_of(server.urls["a"])
        for _ in range(3):
            with secured(socket.create_connection(("127.0.0.1", port), timeout=10), maybe_tls) as raw:
                raw.sendall(STREAM + SMALL)
                assert raw.recv(12)[-3:] == b"200"
        assert eventually(lambda: running(server) == 0, 5)
    assert not caplog.records


@pytest.mark.parametrize(("count", "accepted"), [(10, True), (2000, False)])
def test_thousands_of_requests_waited_behind_a_stream(count: int, accepted: bool) -> None:
    with (
        serving(httpserver={"a": local()}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"])), timeout=10) as raw,
    ):
        raw.sendall(STREAM)
        assert raw.recv(12)[-3:] == b"200"
        raw.sendall(SMALL * count)
        assert closed_within(raw, 2) is not accepted
        assert eventually(lambda: running(server) == accepted, 5)


def test_requests_that_wait_behind_another_are_answered_in_order() -> None:
    with (
        serving(httpserver={"a": local()}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"])), timeout=10) as raw,
    ):
        raw.sendall(SMALL * 14 + SMALL.replace(b"Host: h", b"Connection: close"))
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
        assert answer.count(b"HTTP/1.1 200") == 15


def test_a_long_poll_went_on_after_its_client_had_gone() -> None:
    with serving(httpserver={"a": local()}) as server:
        port = port_of(server.urls["a"])
        page = "/v4/clusters/local/changes"
        known = json.loads(exchange(port, "GET", page).body)["snapshot"]["cursor"]
        with reader(port, f"{page}?wait=60&only=status&since={known}"):
            assert eventually(lambda: running(server) == 1, 5)
        assert eventually(lambda: running(server) == 0, 5)


def test_every_stream_buffered_a_copy_of_all_groups() -> None:
    answers = MemoryAnswers(snapshots={"local": large_snapshot(0, 100_000)})
    with (
        serving(answers=answers, httpserver={"a": local(max_unsent=10_000_000, write_timeout=2)}) as server,
        contextlib.ExitStack() as closing,
    ):
        port, unsent = port_of(server.urls["a"]), server._guards["a"].unsent
        for _ in range(5):
            raw = closing.enter_context(reader(port, EVENTS.format("/v4/changes")))
            raw.settimeout(20)
            assert raw.recv(12)[-3:] == b"200"
        # all have the same, so it counts once
        assert eventually(lambda: 6_000_000 < unsent.bytes < 10_000_000, 10)
        connections = server._listeners[0]._server.server_state.connections
        assert sum(each.transport.get_write_buffer_size() for each in connections) < 5 * 200_000
        # this one has a text of its own, which is too much: it ends, and its client tries again
        own = closing.enter_context(reader(port, EVENTS.format("/v4/clusters/local/changes")))
        own.settimeout(10)
        assert read_until(own, b"0\r\n\r\n").startswith(b"HTTP/1.1 200")
        assert eventually(lambda: unsent.bytes == 0, 30)
        # who reads gets everything
        reading = closing.enter_context(reader(port, EVENTS.format("/v4/clusters/local/changes")))
        reading.settimeout(10)
        assert len(read_until(reading, b"}\r\n2\r\n\n\n\r\n")) > 6_000_000


def read_until(raw: socket.socket, end: bytes) -> bytes:
    found = bytearray()
    while not found.endswith(end):
        piece = raw.recv(65536)
        assert piece
        found += piece
    return bytes(found)
