"""Messages for the tests of templates."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.burrow_json import group_of

from warren.common.status import Status
from warren.notifier.message import Message
from warren.snapshot.model import Entry, GroupStatus, PartitionStatus

DATA = Path(__file__).parents[3] / "data" / "notifier"
TEMPLATES = DATA / "templates"


@contextmanager
def zone(name: str) -> Iterator[None]:
    """This process in another time zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


def _entry(offset: int, timestamp: int, lag: int | None) -> Entry:
    return Entry(offset, timestamp, timestamp - timestamp % 1000, lag)


_WORST = PartitionStatus(
    topic="orders<&>",
    partition=3,
    owner="/10.0.0.1",
    client_id="client-é",
    status=Status.STALL,
    start=_entry(100, 1794730237166, 315),
    end=_entry(100, 1794730246280, 360),
    current_lag=365,
    complete=1.0,
    head=None,
    tail=None,
)
_OTHER = PartitionStatus(
    topic="refunds",
    partition=0,
    owner="",
    client_id="",
    status=Status.WARN,
    start=_entry(7, 1794730237001, None),
    end=_entry(9, 1794730246999, 12),
    current_lag=12,
    complete=1 / 3,
    head=None,
    tail=None,
)
# what the cases of go_cases.jsonl were executed with, by Go itself
EXAMPLE = Message(
    id="1",
    module="m",
    kind="open",
    incident="3a946385-b7f8-4ae6-b5f0-2ebc0d9f996f",
    start_ms=1794730246461,
    decided_ms=0,
    result=GroupStatus(
        cluster="local",
        group='pay"ments',
        status=Status.ERR,
        complete=0.7,
        partitions=(_WORST, _OTHER),
        partition_count=12,
        maxlag=_WORST,
        totallag=377,
    ),
)
EXTRAS = {"app": "burrow", "tier": "STG", "empty": "", "html": "<a href='x'>&</a>"}


def captured() -> list[dict[str, Any]]:
    """Everything that a real Burrow sent."""
    lines = (DATA / "received.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def of_capture(body: str) -> tuple[Message, dict[str, str]]:
    """The message and extras that all.tmpl made this of."""
    said = json.loads(body)
    return (
        Message(
            id="1",
            module="m",
            kind="open",
            incident=said["id"],
            start_ms=_start_ms(said["start"]),
            decided_ms=0,
            result=group_of(said["json"]),
        ),
        said["extras"],
    )


def _start_ms(text: str) -> int | None:
    if text.startswith("0001-01-01"):
        return None
    found = re.match(r"(\S+ \S+)\.(\d{3})\d* ", text)
    assert found
    return int(datetime.fromisoformat(found[1] + "+00:00").timestamp()) * 1000 + int(found[2])
