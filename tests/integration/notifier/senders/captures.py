"""What a real Burrow sent, and the messages that it sent it for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.burrow_json import group_of

from warren.common.status import Status
from warren.config import Settings, load
from warren.notifier.message import Message
from warren.snapshot.model import Entry, GroupStatus, PartitionStatus

DATA: Final = Path(__file__).parents[3] / "data"
# templates and configuration of that Burrow
CONFIG: Final = DATA / "config" / "notifier"
# its receivers' ports
HTTP_PORT: Final = 47090
MAIL_PORT: Final = 47025
# a receiver's path is named after the notifier, but for this one
_NAMES: Final = {"fail": "failing"}
# "ERR nt-stall 3/3"
_SMALL: Final = re.compile(r"(\w+) (\S+) (\d+)/(\d+)\n")
# "nt-other 0 STALL 365"
_MAIL_LINE: Final = re.compile(r"^(\S+) (\d+) ([A-Z]+) (\d+)\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Capture:
    """One request or mail of a real Burrow."""

    line: Mapping[str, Any]

    @property
    def notifier(self) -> str:
        return _NAMES.get(self.line["notifier"], str(self.line["notifier"]))

    @property
    def body(self) -> str:
        return str(self.line["body"])

    @property
    def message(self) -> Message:
        """What must have been known to send it."""
        if self.line["via"] == "smtp":
            return self._message(_of_mail(self.line), _mail_id(self.line["data"]))
        if self.body.startswith("{"):
            said = json.loads(self.body)
            return self._message(group_of(said["json"]), (said["id"], said["start_rfc3339"]), said["start"])
        return self._message(_of_small(self.body), ("", ""))

    def _message(self, result: GroupStatus, incident: tuple[str, str], start: str = "") -> Message:
        identity, began = incident
        start_ms = None
        if identity:
            # Go shows nanoseconds; a message knows milliseconds
            fraction = re.search(r"\.(\d{3})", start)
            whole = datetime.strptime(began, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            start_ms = int(whole.timestamp()) * 1000 + (int(fraction[1]) if fraction else 0)
        return Message(
            id="6f1c0a52-8f43-4f6e-9d53-1df1b2a35c11",
            module=self.notifier,
            kind=self.line["kind"],
            incident=identity,
            start_ms=start_ms,
            decided_ms=self.line["at_ms"],
            result=result,
        )


@cache
def captures() -> tuple[Capture, ...]:
    lines = (DATA / "notifier" / "received.jsonl").read_text().splitlines()
    return tuple(Capture(json.loads(line)) for line in lines)


def settings(tmp_path: Path, http_port: int, mail_port: int) -> Settings:
    """That Burrow's configuration, with receivers of our own."""
    text = (CONFIG / "burrow.toml").read_text()
    text = text.replace(f":{HTTP_PORT}/", f":{http_port}/").replace(f"port={MAIL_PORT}", f"port={mail_port}")
    text = text.replace('"tmpl/', f'"{CONFIG}/tmpl/').replace('"defaults/', f'"{CONFIG}/defaults/')
    file = tmp_path / "burrow.toml"
    file.write_text(text)
    return load(file, {})


def _of_small(body: str) -> GroupStatus:
    found = _SMALL.fullmatch(body)
    assert found is not None, body
    bad = tuple(_partition("t", number, Status.STALL, 1) for number in range(int(found[3])))
    return _group(found[2], Status[found[1]], bad, int(found[4]))


def _of_mail(line: Mapping[str, Any]) -> GroupStatus:
    found = _MAIL_LINE.findall(line["data"])
    bad = tuple(_partition(topic, int(p), Status[status], int(lag)) for topic, p, status, lag in found)
    return _group(line["group"], Status[line["status"]], bad, 3)


def _mail_id(data: str) -> tuple[str, str]:
    found = re.search(r"id (\S+) start (\S+)", data) or re.search(r"<b>(\S+)()</b>", data)
    assert found is not None, data
    return found[1], found[2] or "2026-11-15T08:10:46Z"


def _partition(topic: str, number: int, status: Status, lag: int) -> PartitionStatus:
    entry = Entry(offset=1, timestamp=1, observed_at=1, lag=lag)
    return PartitionStatus(topic, number, "", "", status, entry, entry, lag, 1.0, None, None)


def _group(name: str, status: Status, bad: tuple[PartitionStatus, ...], count: int) -> GroupStatus:
    return GroupStatus("local", name, status, 1.0, bad, count, bad[0] if bad else None, 0)
