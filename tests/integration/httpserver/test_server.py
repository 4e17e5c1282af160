"""The server on real sockets: listeners, TLS, time limits, and Burrow's answers over the wire."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import socket
import ssl
import threading
import time
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from prometheus_client import CollectorRegistry
from tests.processes import eventually
from tests.unit.httpserver.asgi import Answered
from tests.unit.httpserver.captures import (
    HOST,
    answers_for,
    captures,
    log_level_for,
    settings_of,
    usual_snapshot,
)
from tests.unit.httpserver.comparison import COMPARED_ELSEWHERE, differs
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel
from tests.unit.httpserver.notifying import MemoryNotifying
from tests.unit.httpserver.test_metrics import timeless

from warren.config import Settings
from warren.config.sections import General, HttpServer, Tls
from warren.httpserver import Server
from warren.httpserver.listener import ListenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORIGIN = "http://dash.example"


@contextlib.contextmanager
def serving(
    *,
    answers: MemoryAnswers | None = None,
    log_level: MemoryLogLevel | None = None,
    notifying: MemoryNotifying | None = None,
    recent: Path | None = None,
    **sections: object,
) -> Iterator[Server]:
    settings = Settings.model_validate(sections)
    server = Server(
        settings,
        answers or MemoryAnswers(snapshots={"local": usual_snapshot()}),
        log_level or MemoryLogLevel(),
        registry=CollectorRegistry(),
        notifying=notifying,
        recent=recent,
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


def test_a_restart_does_not_empty_the_charts_of_the_last_hours(tmp_path: Path) -> None:
    path = tmp_path / "recent.samples"
    now = time.time_ns() // 1_000_000
    seen = MemoryAnswers(snapshots={"local": replace(usual_snapshot(), as_of_ms=now)})
    page = "/v4/clusters/local/groups/stuck/history"

    def times(server: Server) -> list[int]:
        found: list[int] = httpx.get(next(iter(server.urls.values())) + page).json().get("times", [])
        return found

    with serving(answers=seen, recent=path, httpserver={"one": local()}) as server:
        assert eventually(lambda: times(server) == [now], 10)
    with serving(answers=MemoryAnswers(), recent=path, httpserver={"one": local()}) as server:
        assert eventually(lambda: times(server) == [now], 10)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def local(**keys: object) -> HttpServer:
    return HttpServer.model_validate({"address": "127.0.0.1:0", **keys})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """A certificate for localhost that signs itself."""
    directory = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "cert.pem").write_bytes(signed.public_bytes(pem))
    plain, locked = serialization.NoEncryption(), serialization.BestAvailableEncryption(b"S3CRET")
    for file, encryption in (("key.pem", plain), ("locked.pem", locked)):
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, encryption)
        (directory / file).write_bytes(private)
    return Tls(certfile=str(directory / "cert.pem"), keyfile=str(directory / "key.pem"))


def exchange(
    port: int, method: str, target: str, *, headers: dict[str, str] | None = None, body: bytes = b""
) -> Answered:
    """One request whose target goes over the wire as it is written."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body or method == "POST":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return Answered(
            response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        )
    finally:
        connection.close()


def test_burrows_answers_over_the_wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All captures of the main instance but its configuration pages, whose addresses a test cannot have."""
    monkeypatch.setattr(socket, "gethostname", lambda: HOST)
    settings = settings_of("main", tmp_path)
    replayed = [
        capture
        for capture in captures().values()
        if capture.instance == "main"
        and capture.path not in {"/v3/config", "/v3/kafka/local", "/v3/kafka/LOCAL"}
        and not capture.name.startswith("config_")
        and capture.name not in COMPARED_ELSEWHERE
    ]
    assert len(replayed) > 120
    answers, log_level = MemoryAnswers(), MemoryLogLevel()
    general = General(access_control_allow_origin=ORIGIN)
    with serving(answers=answers, log_level=log_level, general=general, httpserver={"a": local()}) as server:
        port = port_of(server.urls["a"])
        problems = {}
        for capture in replayed:
            state = answers_for(capture, settings)
            answers.snapshots, answers.is_ready = state.snapshots, state.is_ready
            log_level.level = log_level_for(capture).level
            answered = exchange(
                port,
                capture.method,
                capture.path,
                headers=dict(capture.request_headers),
                body=capture.request_body,
            )
            if found := differs(capture, answered, origin=ORIGIN):
                problems[capture.name] = found
    assert not problems


def test_without_a_section_a_free_port_is_taken_and_told() -> None:
    with serving() as server:
        (url,) = server.urls.values()
        assert httpx.get(f"{url}/burrow/admin").text == "GOOD"
        # every interface: also by number, of either kind
        assert httpx.get(f"http://127.0.0.1:{port_of(url)}/burrow/admin").text == "GOOD"
        if socket.has_dualstack_ipv6():
            assert httpx.get(f"http://[::1]:{port_of(url)}/burrow/admin").text == "GOOD"


def test_several_listeners_with_and_without_tls_share_the_answers(certificate: Tls) -> None:
    listeners = {"plain": local(), "secure": local(tls="own"), "other": local()}
    with serving(httpserver=listeners, tls={"own": certificate}) as server:
        trusting = ssl.create_default_context(cafile=certificate.certfile)
        assert server.urls["secure"].startswith("https://127.0.0.1:")
        for url in server.urls.values():
            with httpx.Client(verify=trusting) as client:
                assert client.get(f"{url}/v3/kafka").json()["clusters"] == ["local"]


def test_an_ipv6_address() -> None:
    listeners = {"six": HttpServer(address="[::1]:0")}
    if not socket.has_dualstack_ipv6():
        with pytest.raises(ListenError), serving(httpserver=listeners):
            pass
        return
    with serving(httpserver=listeners) as server:
        assert server.urls["six"].startswith("http://[::1]:")
        assert httpx.get(f"{server.urls['six']}/burrow/admin").text == "GOOD"


def test_a_host_name() -> None:
    with serving(httpserver={"named": HttpServer(address="localhost:0")}) as server:
        assert httpx.get(f"{server.urls['named']}/burrow/admin").text == "GOOD"


def test_a_taken_port_is_one_clear_sentence_and_leaves_no_port_open() -> None:
    first = free_port()
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        listeners = {"one": local(address=f"127.0.0.1:{first}"), "two": local(address=f"127.0.0.1:{taken}")}
        server = Server(
            Settings(httpserver=listeners), MemoryAnswers(), MemoryLogLevel(), registry=CollectorRegistry()
        )
        with pytest.raises(
            ListenError, match=rf"^httpserver\.two: cannot listen on 127\.0\.0\.1:{taken}: another"
        ):
            server.start()
    with socket.create_server(("127.0.0.1", first)):
        pass


def test_an_address_of_another_machine() -> None:
    with (
        pytest.raises(ListenError, match="does not have that address"),
        serving(httpserver={"a": HttpServer(address="192.0.2.1:0")}),
    ):
        pass


def test_an_unknown_host() -> None:
    with (
        pytest.raises(ListenError, match="there is no host"),
        serving(httpserver={"a": HttpServer(address="nosuch.invalid:0")}),
    ):
        pass


def test_a_key_with_a_password_is_refused_instead_of_asked_for(certificate: Tls) -> None:
    locked = Tls(certfile=certificate.certfile, keyfile=certificate.keyfile.replace("key.pem", "locked.pem"))
    with (
        pytest.raises(ListenError, match="unencrypted key"),
        serving(httpserver={"a": local(tls="own")}, tls={"own": locked}),
    ):
        pass


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "junk.pem").write_text("junk")
    junk = Tls(certfile=str(tmp_path / "junk.pem"), keyfile=str(tmp_path / "junk.pem"))
    with (
        pytest.raises(ListenError, match=r"junk\.pem are not a certificate"),
        serving(httpserver={"a": local(tls="own")}, tls={"own": junk}),
    ):
        pass


def test_tls_without_a_certificate() -> None:
    with (
        pytest.raises(ListenError, match="add certfile and keyfile"),
        serving(httpserver={"a": local(tls="own")}, tls={"own": Tls()}),
    ):
        pass


def test_after_stop_the_port_is_free_and_the_thread_gone() -> None:
    with serving(httpserver={"a": local()}) as server:
        port = port_of(server.urls["a"])
        idle = socket.create_connection(("127.0.0.1", port))
        assert exchange(port, "GET", "/burrow/admin").status == 200
    idle.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "httpserver"]
    with socket.create_server(("127.0.0.1", port)):
        pass


@pytest.mark.parametrize("cut", [10_000, 45], ids=["in one piece", "cut inside the name"])
def test_names_that_are_not_escaped_at_all(cut: int) -> None:
    asked = "GET /v3/kafka/local/consumer/pay.ments-grøup/lag HTTP/1.0\r\nX-Note: ø\r\n\r\n".encode()
    with (
        serving(httpserver={"a": local()}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"]))) as raw,
    ):
        raw.sendall(asked[:cut])
        time.sleep(0.1)
        raw.sendall(asked[cut:])
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert '"group":"pay.ments-grøup"'.encode() in answer


def closed_within(raw: socket.socket, seconds: float) -> bool:
    raw.settimeout(seconds)
    try:
        while raw.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET /v3/ka", b"POST /v3/admin/loglevel HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n{"],
    ids=["nothing", "half a request line", "half a body"],
)
def test_who_never_finishes_asking_is_hung_up_on(beginning: bytes) -> None:
    with (
        serving(httpserver={"a": local(timeout=1)}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"]))) as raw,
    ):
        raw.sendall(beginning)
        assert closed_within(raw, 10)


def test_an_idle_connection_is_closed_after_the_timeout() -> None:
    with (
        serving(httpserver={"a": local(timeout=1)}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"]))) as raw,
    ):
        raw.sendall(b"GET /burrow/admin HTTP/1.1\r\nHost: h\r\n\r\n")
        assert closed_within(raw, 10)


def test_a_slow_connection_within_the_timeout_is_served() -> None:
    with (
        serving(httpserver={"a": local(timeout=30)}) as server,
        socket.create_connection(("127.0.0.1", port_of(server.urls["a"]))) as raw,
    ):
        for piece in (b"GET /burrow/", b"admin HTTP/1.1\r\n", b"Host: h\r\nConnection: close\r\n\r\n"):
            raw.sendall(piece)
            time.sleep(0.05)
        raw.settimeout(10)
        assert b"".join(iter(lambda: raw.recv(65536), b"")).endswith(b"GOOD")


def test_metrics_come_zipped_to_those_who_ask() -> None:
    with serving(httpserver={"a": local()}) as server:
        url = f"{server.urls['a']}/metrics"
        zipped = httpx.get(url, headers={"Accept-Encoding": "gzip"})
        plain = httpx.get(url, headers={"Accept-Encoding": "identity"})
        assert zipped.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert timeless(zipped.content) == timeless(plain.content)
        assert int(zipped.headers["content-length"]) < len(plain.content) / 5


def test_the_date_is_there_and_no_word_about_the_software() -> None:
    with serving(httpserver={"a": local()}) as server:
        headers = exchange(port_of(server.urls["a"]), "GET", "/burrow/admin").headers
    assert headers["date"].endswith(" GMT")
    assert "server" not in headers
