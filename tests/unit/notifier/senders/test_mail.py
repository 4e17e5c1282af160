"""A template's text as a mail."""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.receivers.messages import message, partition

from warren.errors import ConfigError
from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.senders.mail import Content, addresses, content, mail, printable

FROM = addresses("Burrow <burrow@example.com>", "from")[0]
TO = addresses("ops@example.com, Second Shift <second@example.com>", "to")
HEAD = [
    "auto-submitted",
    "content-transfer-encoding",
    "content-type",
    "date",
    "from",
    "message-id",
    "mime-version",
    "references",
    "subject",
    "to",
]


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    found: Content


CASES = [
    Case("a subject and text", "Subject: down\n\nhello\n", Content("down", "text/plain", "\nhello\n\n")),
    Case(
        "every line of the head",
        "Subject: down\nContent-Type: text/html; charset=utf-8;\nMIME-version: 1.0;\n\n<b>x</b>",
        Content("down", "text/html", "\n<b>x</b>\n"),
    ),
    Case(
        "MIME-Version and Content-type as others write them",
        "Subject: down\nMIME-Version: 1.0\nContent-type: text/html\n\nx",
        Content("down", "text/html", "\nx\n"),
    ),
    Case(
        "a head that goes on after an empty line",
        "Subject: down\n\nContent-Type: text/html\n\nx",
        Content("down", "text/html", "\n\nx\n"),
    ),
    Case(
        "a second subject is text",
        "Subject: down\n\nx\nSubject: other",
        Content("down", "text/plain", "\nx\nSubject: other\n"),
    ),
    Case(
        "a head's word in the text is text",
        "Subject: down\n\nx\nContent-Type: text/html\n",
        Content("down", "text/plain", "\nx\nContent-Type: text/html\n\n"),
    ),
    Case(
        "lines that end as on Windows", "Subject: down\r\n\r\nx\r\n", Content("down", "text/plain", "\nx\n\n")
    ),
    Case("no sense in the type", "Subject: down\nContent-Type: ;;\nx", Content("down", "text/plain", "x\n")),
    Case("no text at all", "Subject: down", Content("down", "text/plain", "")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_text_is_taken_apart(case: Case) -> None:
    assert content(case.text) == case.found


@pytest.mark.parametrize("text", ["hello", "", "\nSubject: late", "Content-Type: text/html\nSubject: late"])
def test_a_text_without_subject_is_refused(text: str) -> None:
    with pytest.raises(DeliveryError, match="first line “Subject: …”") as caught:
        content(text)
    assert not caught.value.retriable


def sent(text: str, **changes: Any) -> EmailMessage:
    """As the other side reads it."""
    made = mail(text, message(**changes), FROM, TO)
    return message_from_bytes(made.as_bytes(), policy=policy.default)


def test_a_mail_says_who_when_and_what() -> None:
    read = sent("Subject: [ERR] billing\nContent-Type: text/html\n\ngrøn = equals\n")
    assert read["From"] == "Burrow <burrow@example.com>"
    assert read["To"] == "ops@example.com, Second Shift <second@example.com>"
    assert read["Subject"] == "[ERR] billing"
    assert read["Date"] == "Sun, 15 Nov 2026 08:11:11 +0000"
    assert read["MIME-Version"] == "1.0"
    assert read["Message-ID"] == "<6f1c0a52-8f43-4f6e-9d53-1df1b2a35c11@example.com>"
    assert read["References"] == "<3a946385-b7f8-4ae6-b5f0-2ebc0d9f996f@example.com>"
    assert read["Auto-Submitted"] == "auto-generated"
    assert read.get_content_type() == "text/html"
    assert read.get_content_charset() == "utf-8"
    assert read["Content-Transfer-Encoding"] == "quoted-printable"
    assert read.get_content() == "\r\ngrøn = equals\r\n\r\n"


def test_a_repeat_is_the_same_mail() -> None:
    text = "Subject: s\n\nx"
    assert mail(text, message(), FROM, TO).as_bytes() == mail(text, message(), FROM, TO).as_bytes()


def test_a_mail_without_incident_refers_to_none() -> None:
    assert sent("Subject: s\n\nx", incident="", start_ms=None)["References"] is None


@pytest.mark.parametrize("subject", ["Zürich \N{BUG} 失敗 " * 9, "a" * 300])
def test_subjects_of_any_letters_and_length_arrive(subject: str) -> None:
    assert sent(f"Subject: {subject}\n\nx")["Subject"] == subject.strip()


def test_an_encoded_word_in_a_name_stays_what_it_is() -> None:
    read = sent("Subject: =?utf-8?q?a=0D=0ABcc:_all=40example.com?=\n\nx")
    assert read["Subject"] == "= ?utf-8?q?a=0D=0ABcc:_all=40example.com?="
    assert read["Bcc"] is None


# a busy machine is no fault
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_no_name_makes_a_line_of_the_head(name: str) -> None:
    """Groups, topics and clients are named by strangers."""
    about = printable(message(group=name, cluster=name, partitions=(partition(topic=name),)))
    result = about.result
    text = f"Subject: [{result.status.name}] {result.group} on {result.cluster}\n\n{result.partitions[0].topic}\n"
    made = mail(text, about, FROM, TO)
    read = message_from_bytes(made.as_bytes(), policy=policy.default)
    head = [key.lower() for key in read.keys()]  # noqa: SIM118 - a mail is no mapping
    assert sorted(head) == HEAD
    assert read.get_content_type() == "text/plain"
    assert read["To"] == "ops@example.com, Second Shift <second@example.com>"


def test_a_group_named_like_a_head_stays_in_the_subject() -> None:
    name = "evil\r\nBcc: all@example.com\nContent-Type: text/html\n\n<h1>"
    about = printable(message(group=name))
    made = mail(f"Subject: {about.result.group}\n\nx\n", about, FROM, TO)
    assert made["Bcc"] is None
    assert made.get_content_type() == "text/plain"
    assert made["Subject"] == "evil  Bcc: all@example.com Content-Type: text/html  <h1>"


@dataclass(frozen=True)
class Wrong:
    name: str
    value: str


@pytest.mark.parametrize(
    "case",
    [
        Wrong("no domain", "ops"),
        Wrong("nothing before the @", "@example.com"),
        Wrong("one of two", "ops@example.com, second"),
        Wrong("two lines", "ops@example.com\r\nBcc: all@example.com"),
    ],
    ids=lambda case: case.name,
)
def test_what_is_no_address_is_named(case: Wrong) -> None:
    with pytest.raises(ConfigError, match=r"^to = .* is not a mail address; write ops@example.com"):
        addresses(case.value, "to")


def test_a_name_may_hold_a_comma() -> None:
    found = addresses('"Shift, Second" <second@example.com>,ops@example.com', "to")
    assert [str(address) for address in found] == ['"Shift, Second" <second@example.com>', "ops@example.com"]
