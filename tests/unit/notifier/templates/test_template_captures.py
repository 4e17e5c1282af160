"""What a real Burrow sent, rendered again."""

from __future__ import annotations

import json
import quopri
import re
from collections.abc import Iterator
from email import message_from_string
from typing import Any

import pytest
from tests.unit.notifier.templates.messages import TEMPLATES, captured, of_capture, zone

from warren.notifier.message import Message
from warren.notifier.templates import TemplateError, load_template, text_template

CAPTURES = captured()
FULL = [one for one in CAPTURES if one["notifier"] in {"full", "fullok"}]


@pytest.fixture(autouse=True)
def _in_burrows_zone() -> Iterator[None]:
    with zone("UTC"):
        yield


def _template(name: str) -> str:
    return str(TEMPLATES / name)


def _comparable(body: str) -> str:
    # Burrow shows nanoseconds and its own clock's reading, which say nothing about the incident
    body = re.sub(r"(\.\d{3})\d* (\+0000 UTC) m=\+[\d.]+", r"\1 \2", body)
    # the topics of a status come out of a Go map, in another order every time
    return re.sub(r'(?<="STALL":)\[[^]]*\]', lambda found: json.dumps(sorted(json.loads(found[0]))), body)


def _at(one: dict[str, Any]) -> tuple[Message, dict[str, str]] | None:
    """The message of the same evaluation, out of a capture that says everything."""
    for full in FULL:
        if full["group"] == one["group"] and abs(full["t"] - one["t"]) < 0.06:
            return of_capture(full["body"])
    return None


@pytest.mark.parametrize("at", range(len(FULL)), ids=lambda at: f"{FULL[at]['notifier']}-{FULL[at]['t']}")
def test_everything_of_a_message(at: int) -> None:
    body = FULL[at]["body"]
    text = load_template(_template("all.tmpl"), "").render(*of_capture(body))
    assert _comparable(text) == _comparable(body)


def test_small_messages() -> None:
    template = load_template(_template("small.tmpl"), "")
    others = [one for one in CAPTURES if one["via"] == "http" and one["notifier"] not in {"full", "fullok"}]
    pairs = [(one, found) for one in others if (found := _at(one))]
    assert len(pairs) > 150
    assert [template.render(*found) for _, found in pairs] == [one["body"] for one, _ in pairs]


def test_mails() -> None:
    mails = [one for one in CAPTURES if one["via"] == "smtp"]
    assert len(mails) == 13
    for one in mails:
        found = _at(one)
        assert found
        name = "mail.tmpl" if one["kind"] == "open" else "html.tmpl"
        head, _, body = (
            load_template(_template(name), "").render(found[0], {"app": "burrow"}).partition("\n\n")
        )
        sent = message_from_string(one["data"])
        assert sent["Subject"] == head.splitlines()[0].removeprefix("Subject: ")
        decoded = quopri.decodestring(str(sent.get_payload()).encode()).decode().replace("\r\n", "\n")
        assert decoded.strip("\n") == body.strip("\n")


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("open", "/full/open?id={{.ID}}&group={{.Group}}&status={{.Result.Status}}"),
        ("close", "/full/close/{{.ID}}/{{.Extras.app}}"),
    ],
)
def test_addresses(kind: str, url: str) -> None:
    seen = [one for one in FULL if one["notifier"] == "full" and one["kind"] == kind]
    assert seen
    template = text_template(url, "url")
    assert [template.render(*of_capture(one["body"])) for one in seen] == [one["path"] for one in seen]


def test_the_id_as_burrows_own_template_misspells_it() -> None:
    message, extras = of_capture(FULL[0]["body"])
    assert text_template("{{.Id}}", "close").render(message, extras) == message.incident


def test_a_field_that_burrow_does_not_know() -> None:
    template = load_template(_template("bad.tmpl"), "")
    with pytest.raises(TemplateError, match=r"bad\.tmpl: line 1: there is no field NoSuchField in protocol"):
        template.render(*of_capture(FULL[0]["body"]))
