"""How long a receiver asks to be left alone, and what errors say."""

from __future__ import annotations

import email.utils
import ssl
import time

import httpx
import pytest

from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.senders.http_client import HttpClient, _retry_after_s


def error_of(url: str) -> str:
    client = HttpClient(ssl.create_default_context(), keepalive_s=1, reuse=False)
    with pytest.raises(DeliveryError) as raised:
        client.request("POST", url, {}, b"", timeout_s=5, keys="url-open")
    client.close()
    return str(raised.value)


def test_the_error_about_a_url_quoted_its_password() -> None:
    said = error_of("https://ops:S3cret/x@h.example/")
    assert "S3cret" not in said
    assert "The request cannot be made: the URL is not valid; check url-open" in said


def test_a_receiver_that_does_not_speak_http_gave_the_path_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def repeated(*_: object) -> None:
        echo = "illegal status line: bytearray(b'POST /bot123456:AAHsecret/sendMessage HTTP/1.1')"
        raise httpx.RemoteProtocolError(echo)

    monkeypatch.setattr(HttpClient, "_once", repeated)
    said = error_of("http://h.example/bot123456:AAHsecret/sendMessage")
    assert said.startswith("h.example closed the connection without a response (illegal status line")
    assert "AAHsecret" not in said


@pytest.mark.parametrize("ahead_s", [0, 3 * 3600, -3 * 3600])
def test_a_wait_until_a_date_is_counted_by_the_receivers_clock(ahead_s: int) -> None:
    now_s = time.time() + ahead_s
    dates = [email.utils.formatdate(now_s + more, usegmt=True) for more in (0, 120)]
    assert _retry_after_s(httpx.Headers({"Date": dates[0], "Retry-After": dates[1]})) == 120.0


def test_a_wait_that_is_over_is_none() -> None:
    past = email.utils.formatdate(0, usegmt=True)
    assert _retry_after_s(httpx.Headers({"Retry-After": past})) == 0.0
    assert _retry_after_s(httpx.Headers({"Retry-After": "soon"})) is None
