"""Messages to a real HTTP server."""

from __future__ import annotations

import contextlib
import email.utils
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.receivers.http import HttpReceiver, Reply
from tests.receivers.messages import FixedText, message

from warren import __version__
from warren.config.modules import HttpNotifier
from warren.demo.certificates import Certificates
from warren.errors import ConfigError
from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.senders.http import HttpSender
from warren.notifier.senders.http_client import HttpClient
from warren.tls import tls_context

LIMIT_S = 20.0


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as running:
        yield running


@contextlib.contextmanager
def sender_to(url: str, body: str = "trouble\n", **keys: Any) -> Iterator[HttpSender]:
    module = HttpNotifier(url_open=f"{url}/open", url_close=f"{url}/close", **keys)
    context = tls_context(Path(module.extra_ca) if module.extra_ca else None, noverify=module.noverify)
    client = HttpClient(context, keepalive_s=module.keepalive, reuse=not module.disable_http_keepalive)
    made = HttpSender(
        module,
        client,
        {"open": FixedText(module.url_open), "close": FixedText(module.url_close)},
        {"open": FixedText(body), "close": FixedText("over\n")},
    )
    with contextlib.closing(made):
        yield made


def fault(url: str, limit_s: float = LIMIT_S, **keys: Any) -> DeliveryError:
    with sender_to(url, **keys) as sender, pytest.raises(DeliveryError) as caught:
        sender.send(message(), limit_s)
    return caught.value


def test_a_request_has_what_burrow_s_has(receiver: HttpReceiver) -> None:
    with sender_to(receiver.url, body="grøn") as sender:
        assert sender.send(message(), LIMIT_S) == "HTTP 200"
    (request,) = receiver.received
    assert (request.method, request.path, request.body) == ("POST", "/open", "grøn".encode())
    assert dict(request.headers) == {
        "Host": receiver.url.removeprefix("http://"),
        "User-Agent": f"Warren/{__version__}",
        "Accept-Encoding": "gzip",
        "Content-Type": "application/json",
        "Content-Length": "5",
        "Idempotency-Key": message().id,
    }


def test_open_and_close_have_their_own_address_method_and_text(receiver: HttpReceiver) -> None:
    with sender_to(receiver.url, method_open="PUT", method_close="DELETE") as sender:
        sender.send(message(), LIMIT_S)
        sender.send(message("close"), LIMIT_S)
    assert [(r.method, r.path, r.text) for r in receiver.received] == [
        ("PUT", "/open", "trouble\n"),
        ("DELETE", "/close", "over\n"),
    ]


def test_a_get_has_a_body_as_in_burrow(receiver: HttpReceiver) -> None:
    with sender_to(receiver.url, method_open="GET") as sender:
        sender.send(message(), LIMIT_S)
    assert receiver.received[0].text == "trouble\n"


def test_the_configuration_s_headers_take_the_place_of_ours(receiver: HttpReceiver) -> None:
    headers = {"x-token": "abc", "content-type": "application/vnd.test+json", "user-agent": "Pager"}
    with sender_to(receiver.url, username="hook", password="pass", headers=headers) as sender:
        sender.send(message(), LIMIT_S)
    (request,) = receiver.received
    names = [name for name, _ in request.headers]
    assert len(names) == len({name.lower() for name in names})
    assert request.header("X-Token") == "abc"
    assert request.header("Content-Type") == "application/vnd.test+json"
    assert request.header("User-Agent") == "Pager"
    assert request.header("Authorization") == "Basic aG9vazpwYXNz"


def test_a_repeat_can_be_told(receiver: HttpReceiver) -> None:
    receiver.answer_next(Reply(503))
    with sender_to(receiver.url) as sender:
        with pytest.raises(DeliveryError):
            sender.send(message(), LIMIT_S)
        sender.send(message(), LIMIT_S)
        sender.send(message(id="another"), LIMIT_S)
    keys = [request.header("Idempotency-Key") for request in receiver.received]
    assert keys == [message().id, message().id, "another"]


@dataclass(frozen=True)
class Refusal:
    status: int
    retriable: bool
    remedy: str = "see its log"
    headers: tuple[tuple[str, str], ...] = ()
    wait_s: float | None = None


REFUSALS = [
    Refusal(304, retriable=False),
    Refusal(400, retriable=False),
    Refusal(401, retriable=False, remedy="check username, password and headers"),
    Refusal(404, retriable=False, remedy="check the URL"),
    Refusal(408, retriable=True),
    Refusal(410, retriable=False),
    Refusal(425, retriable=True),
    Refusal(429, retriable=True, remedy="send less often", headers=(("Retry-After", "17"),), wait_s=17.0),
    Refusal(500, retriable=True),
    Refusal(503, retriable=True, headers=(("Retry-After", "soon"),)),
    Refusal(503, retriable=True, headers=(("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"),), wait_s=0.0),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.status} {case.wait_s}")
def test_an_answer_that_is_no_success(receiver: HttpReceiver, case: Refusal) -> None:
    receiver.answer(Reply(case.status, headers=case.headers))
    error = fault(receiver.url)
    assert error.retriable is case.retriable
    assert error.wait_s == case.wait_s
    assert str(error).startswith(f"The receiver answered HTTP {case.status}; {case.remedy}")
    assert len(receiver.received) == 1


def test_a_wait_may_be_a_date(receiver: HttpReceiver) -> None:
    until = email.utils.formatdate(time.time() + 120, usegmt=True)
    receiver.answer(Reply(503, headers=(("Retry-After", until),)))
    wait_s = fault(receiver.url).wait_s
    assert wait_s is not None
    assert 60 < wait_s <= 121


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_answer_from_200_to_299_is_success(receiver: HttpReceiver, status: int) -> None:
    receiver.answer(Reply(status))
    with sender_to(receiver.url) as sender:
        assert sender.send(message(), LIMIT_S) == f"HTTP {status}"


@pytest.mark.parametrize("secret", ["s3cretpass", "t0ken", "Bearer b34rer", "b34rer"])
def test_a_receiver_that_repeats_a_secret_does_not_bring_it_into_the_log(
    receiver: HttpReceiver, secret: str
) -> None:
    receiver.answer(Reply(403, f"no {secret}\n\x1b[31m".encode() + b"x" * 9000))
    headers = {"X-Api-Key": "t0ken", "Authorization": "Bearer b34rer"}
    error = str(fault(receiver.url, username="hook", password="s3cretpass", headers=headers))
    assert error.startswith('The receiver answered HTTP 403: "no REDACTED')
    assert len(error) < 300
    assert secret not in error
    assert "\x1b" not in error


def test_a_receiver_that_repeats_the_path_does_not_bring_it_into_the_log(receiver: HttpReceiver) -> None:
    receiver.answer(Reply(404, b"<pre>Cannot POST /hook/SECRETTOKEN/send</pre>"))
    error = str(fault(f"{receiver.url}/hook/SECRETTOKEN/send"))
    assert "REDACTED/send" in error
    assert "SECRET" not in error


@dataclass(frozen=True)
class Redirect:
    status: int
    method: str
    arrives: str
    body: bytes = field(default=b"trouble\n")


REDIRECTS = [
    Redirect(301, "POST", "GET", b""),
    Redirect(301, "DELETE", "GET", b""),
    Redirect(302, "PUT", "GET", b""),
    Redirect(303, "POST", "GET", b""),
    Redirect(307, "POST", "POST"),
    Redirect(308, "DELETE", "DELETE"),
]


@pytest.mark.parametrize("case", REDIRECTS, ids=lambda case: f"{case.status} {case.method}")
def test_a_redirect_is_followed_as_go_s_client_does(receiver: HttpReceiver, case: Redirect) -> None:
    receiver.answer_next(Reply(case.status, headers=(("Location", "/elsewhere?x=1"),)))
    with sender_to(receiver.url, method_open=case.method, username="hook", password="pass") as sender:
        assert sender.send(message(), LIMIT_S) == "HTTP 200"
    assert [request.path for request in receiver.received] == ["/open", "/elsewhere?x=1"]
    arrived = receiver.received[-1]
    assert (arrived.method, arrived.body) == (case.arrives, case.body)
    assert arrived.header("Authorization") == "Basic aG9vazpwYXNz"


def test_a_redirect_to_another_host_does_not_take_the_login_along(receiver: HttpReceiver) -> None:
    with HttpReceiver() as other:
        receiver.answer(Reply(307, headers=(("Location", f"{other.url}/there"),)))
        with sender_to(receiver.url, username="hook", password="pass") as sender:
            sender.send(message(), LIMIT_S)
        assert other.received[0].header("Authorization") is None
        assert other.received[0].header("Host") == other.url.removeprefix("http://")


def test_a_circle_of_redirects_ends(receiver: HttpReceiver) -> None:
    receiver.answer(Reply(307, headers=(("Location", "/open"),)))
    error = fault(receiver.url)
    assert not error.retriable
    assert "redirected the request more than" in str(error)
    assert len(receiver.received) == 10


def test_who_hangs_is_left_within_the_time(receiver: HttpReceiver) -> None:
    receiver.answer(Reply(fault="hang"))
    began = time.monotonic()
    error = fault(receiver.url, limit_s=0.3)
    assert time.monotonic() - began < 5
    assert error.retriable
    assert "did not answer within 0.3 s" in str(error)


def test_who_answers_byte_by_byte_is_left_within_the_time(receiver: HttpReceiver) -> None:
    """Each byte comes in time, all of them together do not."""
    with sender_to(receiver.url) as sender:
        # also on a connection that was kept
        assert sender.send(message(), LIMIT_S) == "HTTP 200"
        receiver.answer(Reply(fault="trickle"))
        for _ in range(2):
            with pytest.raises(DeliveryError, match=r"did not answer within 0\.5 s") as caught:
                sender.send(message(), 0.5)
            assert caught.value.retriable
        receiver.answer(Reply())
        assert sender.send(message(), LIMIT_S) == "HTTP 200"
    assert [request.connection for request in receiver.received] == [1, 1, 2, 3]


def test_who_answers_byte_by_byte_over_tls_is_left_too(certificates: Certificates) -> None:
    with HttpReceiver(certificates) as receiver:
        receiver.answer(Reply(fault="trickle"))
        error = fault(receiver.url, limit_s=0.5, extra_ca=str(certificates.ca))
    assert "did not answer within 0.5 s" in str(error)


def test_the_module_s_own_time_holds_too(receiver: HttpReceiver) -> None:
    receiver.answer(Reply(fault="hang"))
    assert "did not answer within 1 s" in str(fault(receiver.url, timeout=1))


def test_who_is_slow_but_in_time_is_heard(receiver: HttpReceiver) -> None:
    receiver.answer(Reply(202, wait_s=0.2))
    with sender_to(receiver.url) as sender:
        assert sender.send(message(), LIMIT_S) == "HTTP 202"


def test_who_breaks_off_is_asked_again_later(receiver: HttpReceiver) -> None:
    receiver.answer(Reply(fault="close"))
    error = fault(receiver.url)
    assert error.retriable
    assert "closed the connection without a response" in str(error)


def test_nobody_there() -> None:
    with HttpReceiver() as gone:
        url = gone.url
    error = fault(url + "/s3cret-path")
    assert error.retriable
    assert str(error).startswith(
        f"No connection to {url.removeprefix('http://')}: Connection refused; check url-open"
    )
    assert "s3cret-path" not in str(error)


def test_a_receiver_that_comes_back_is_found() -> None:
    with contextlib.ExitStack() as running:
        first = running.enter_context(HttpReceiver())
        with sender_to(first.url) as sender:
            sender.send(message(), LIMIT_S)
            running.close()
            with pytest.raises(DeliveryError) as caught:
                sender.send(message(), LIMIT_S)
            assert caught.value.retriable
            with HttpReceiver(port=first.port) as second:
                assert sender.send(message(), LIMIT_S) == "HTTP 200"
                assert len(second.received) == 1


def test_a_proxy_for_the_world_is_not_for_this_machine(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HttpReceiver() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with sender_to(receiver.url) as sender:
            sender.send(message(), LIMIT_S)
        with sender_to("http://hooks.example.com") as sender:
            sender.send(message(), LIMIT_S)
        assert [request.path for request in receiver.received] == ["/open"]
        assert [request.path for request in proxy.received] == ["http://hooks.example.com/open"]


@pytest.mark.parametrize("url", ["ftp://example.com", "http://exa mple\n", "nothing"])
def test_an_address_that_is_none_is_not_tried_again(url: str) -> None:
    module = HttpNotifier(url_open="http://example.com")
    client = HttpClient(tls_context(None, noverify=False), keepalive_s=1, reuse=True)
    sender = HttpSender(module, client, {"open": FixedText(url)}, {"open": FixedText("x")})
    with (
        contextlib.closing(sender),
        pytest.raises(DeliveryError, match=r"cannot be made.*check url-open") as caught,
    ):
        sender.send(message(), LIMIT_S)
    assert not caught.value.retriable


@pytest.mark.parametrize("value", ["s3cret\n", "s3crét"])
def test_a_header_that_cannot_be_sent_is_not_shown(receiver: HttpReceiver, value: str) -> None:
    error = fault(receiver.url, headers={"X-Token": value})
    assert str(error).startswith("The request cannot be made: a header contains an invalid character")
    assert "s3cr" not in str(error)
    assert not error.retriable


def test_connections_are_kept(receiver: HttpReceiver) -> None:
    with sender_to(receiver.url) as sender:
        for _ in range(3):
            sender.send(message(), LIMIT_S)
    assert [request.connection for request in receiver.received] == [1, 1, 1]


def test_connections_are_not_kept_when_told_so(receiver: HttpReceiver) -> None:
    with sender_to(receiver.url, disable_http_keepalive=True) as sender:
        for _ in range(3):
            sender.send(message(), LIMIT_S)
    assert [request.connection for request in receiver.received] == [1, 2, 3]
    assert [request.header("Connection") for request in receiver.received] == ["close"] * 3


def test_a_certificate_of_an_authority_in_extra_ca_is_trusted(certificates: Certificates) -> None:
    with HttpReceiver(certificates) as receiver:
        with sender_to(receiver.url, extra_ca=str(certificates.ca)) as sender:
            assert sender.send(message(), LIMIT_S) == "HTTP 200"
        assert len(receiver.received) == 1


def test_a_certificate_of_a_stranger_is_not_trusted(certificates: Certificates, others: Certificates) -> None:
    with HttpReceiver(certificates) as receiver:
        for extra_ca in ("", str(others.ca)):
            error = str(fault(receiver.url, extra_ca=extra_ca))
            assert "has a certificate that is not trusted (unable to get local issuer certificate)" in error
            assert "name the certificate of its CA in extra-ca, or set noverify" in error
        assert receiver.received == []


def test_any_certificate_is_good_enough_without_verification(certificates: Certificates) -> None:
    with HttpReceiver(certificates) as receiver, sender_to(receiver.url, noverify=True) as sender:
        assert sender.send(message(), LIMIT_S) == "HTTP 200"


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    with pytest.raises(ConfigError, match=r"extra-ca .*ca\.pem: contains no certificates; name a file"):
        tls_context(file, noverify=False)
    with pytest.raises(ConfigError, match=r"extra-ca .*gone\.pem: No such file"):
        tls_context(tmp_path / "gone.pem", noverify=False)
