"""Times in zones: what the machine's zone changes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from tests.unit.notifier.templates.messages import EXAMPLE, zone

from warren.notifier.templates import text_template


class Case(NamedTuple):
    name: str
    zone: str
    template: str
    text: str


CASES = [
    Case("start", "Europe/Berlin", "{{.Start}}", "2026-11-15 09:10:46.461 +0100 CET"),
    Case(
        "summer",
        "America/New_York",
        '{{(.Start.AddDate 0 -4 0).Format "15:04 MST -0700"}}',
        "03:10 EDT -0400",
    ),
    Case(
        "half hours",
        "Asia/Kolkata",
        '{{.Start.Format "15:04 Z07:00 -07 -070000"}}',
        "13:40 +05:30 +05 +053000",
    ),
    Case("utc", "Asia/Kolkata", "{{.Start.UTC}}", "2026-11-15 08:10:46.461 +0000 UTC"),
    Case(
        "timestamp", "America/Caracas", '{{formattimestamp 0 "2006-01-02 15:04 MST"}}', "1969-12-31 20:00 -04"
    ),
    Case("unix", "Europe/Berlin", "{{.Start.Unix}} {{.Start.UnixMilli}}", "1794730246 1794730246461"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_zones(case: Case) -> None:
    with zone(case.zone):
        assert text_template(case.template, "t").render(EXAMPLE, {}) == case.text


def test_a_time_that_was_never_set() -> None:
    message = msgspec.structs.replace(EXAMPLE, start_ms=None, incident="")
    text = '{{.Start}}|{{.Start.IsZero}}|{{.Start.Format "Monday, January 2 2006"}}|{{.Start.Unix}}'
    rendered = text_template(text, "t").render(message, {})
    assert rendered == "0001-01-01 00:00:00 +0000 UTC|true|Monday, January 1 0001|-62135596800"
