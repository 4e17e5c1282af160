"""Builds a mail from a template's text."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Final

import msgspec

from warren.errors import ConfigError
from warren.notifier.message import Message
from warren.notifier.senders.delivery import DeliveryError
from warren.snapshot.model import PartitionStatus

# line breaks and invisible characters: not allowed in a mail's headers
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# the lines of a template that Burrow parses as headers; MIME-Version is spelled in many ways
_HEAD_LINE: Final = re.compile(r"(subject|content-type|mime-version): ?(.*)", re.IGNORECASE)
_MEDIA_TYPE: Final = re.compile(r"\s*([\w.+-]+)/([\w.+-]+)", re.ASCII)


@dataclass(frozen=True)
class Content:
    """A template's text, parsed."""

    subject: str
    # type and subtype, without parameters: the text is always sent in UTF-8
    media_type: str
    body: str


def content(text: str) -> Content:
    """As Burrow parses it: Subject first, then Content-Type and MIME-version anywhere in the headers.

    The headers end with the first line of text after an empty one, so that no name in the text is parsed as one.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    first = _HEAD_LINE.match(lines[0])
    if first is None or first[1].lower() != "subject":
        raise DeliveryError(
            "The template's text does not begin with a subject; make its first line “Subject: …”",
            retriable=False,
        )
    media_type = "text/plain"
    body = []
    gap = over = False
    for line in lines[1:]:
        head = None if over else _HEAD_LINE.match(line)
        if head is None or head[1].lower() == "subject":
            body.append(line)
            over = over or (gap and line != "")
            gap = gap or line == ""
        elif head[1].lower() == "content-type":
            found = _MEDIA_TYPE.match(head[2])
            media_type = f"{found[1]}/{found[2]}".lower() if found else media_type
    # a name that looks like an encoded word must not be decoded: it could contain anything
    subject = _one_line(first[2]).replace("=?", "= ?").strip()
    return Content(subject, media_type, "".join(line + "\n" for line in body))


def mail(text: str, message: Message, sender: Address, recipients: Sequence[Address]) -> EmailMessage:
    """Ready to send; the same for every attempt at the same message."""
    parts = content(text)
    made = EmailMessage(policy=policy.SMTP)
    made["Date"] = datetime.fromtimestamp(message.decided_ms / 1000, UTC)
    made["Message-ID"] = _reference(message.id, sender)
    if message.incident:
        # mail programs show an incident's mails as one conversation
        made["References"] = _reference(message.incident, sender)
    made["From"] = sender
    made["To"] = tuple(recipients)
    made["Subject"] = parts.subject
    # suppresses out-of-office replies
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(parts.body.encode("utf-8", "replace").decode(), charset="utf-8", cte="quoted-printable")
    made.replace_header("Content-Type", f'{parts.media_type}; charset="utf-8"')
    return made


def addresses(value: str, key: str) -> tuple[Address, ...]:
    """Addresses separated by commas, with or without names; ConfigError names the invalid one."""
    made = []
    for name, address in email.utils.getaddresses([value]):
        user, _, domain = address.rpartition("@")
        if not user or not domain or " " in address or _UNPRINTABLE.search(value):
            what = f'{key} = "{_one_line(value)}": “{address or value}” is not a mail address'
            raise ConfigError([f"{what}; write ops@example.com, or Ops <ops@example.com>"])
        made.append(Address(display_name=name, username=user, domain=domain))
    return tuple(made)


def printable(message: Message) -> Message:
    """The message with names that contain no line breaks: Kafka allows any name for a group."""
    result = message.result
    return msgspec.structs.replace(
        message,
        result=msgspec.structs.replace(
            result,
            cluster=_one_line(result.cluster),
            group=_one_line(result.group),
            partitions=tuple(_printable_partition(partition) for partition in result.partitions),
            maxlag=None if result.maxlag is None else _printable_partition(result.maxlag),
        ),
    )


def _printable_partition(partition: PartitionStatus) -> PartitionStatus:
    return msgspec.structs.replace(
        partition,
        topic=_one_line(partition.topic),
        owner=_one_line(partition.owner),
        client_id=_one_line(partition.client_id),
    )


def _one_line(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text)


def _reference(name: str, sender: Address) -> str:
    return f"<{re.sub(r'[^A-Za-z0-9.-]', '', name)}@{sender.domain}>"
