"""Extras that are secrets, after a template has sent them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warren.common.status import Status
from warren.config.modules import HttpNotifier, SlackNotifier
from warren.config.settings import AnyNotifier
from warren.notifier.senders import DeliveryError, sender
from warren.notifier.senders.http_client import HttpClient, Response
from warren.notifier.templates import sample

KEY = "R0UT1NGK3Y"
EXTRAS = {"routing_key": KEY, "app": "payments"}


@pytest.mark.parametrize(
    "module",
    [
        HttpNotifier.model_validate({"url-open": "https://events.example/v2", "extras": EXTRAS}),
        SlackNotifier.model_validate({"webhook-url": "https://hooks.slack.com/services/x", "extras": EXTRAS}),
    ],
    ids=["http", "slack"],
)
def test_a_receiver_that_repeats_the_body_gave_a_key_among_the_extras_away(
    module: AnyNotifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "open.tmpl"
    template.write_text('{"key":"{{.Extras.routing_key}}","app":"{{.Extras.app}}"}')
    monkeypatch.setattr(HttpClient, "request", repeated)
    sending = sender("n", module.model_copy(update={"template_open": str(template)}), lambda *_: "")
    with pytest.raises(DeliveryError) as raised:
        sending.send(sample(Status.ERR, "n", "open", 1_700_000_000_000), 5)
    sending.close()
    assert KEY not in str(raised.value)
    assert "payments" in str(raised.value)


def repeated(
    _client: HttpClient, _method: str, _url: str, _headers: object, body: bytes, **_: Any
) -> Response:
    """The answer of a receiver that repeats what it does not accept."""
    return Response(422, None, body.decode())
