"""Times in zones: what the machine's zone changes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from tests.unit.notifier.templates.messages import EXAMPLE, zone

from warren.gotemplate.layouts import format_time
from warren.gotemplate.times import ZERO, Moment, duration_text
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
    Case("not summer", "America/New_York", "{{.Start.IsDST}}", "false"),
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
    Case("location", "Europe/Berlin", "{{.Start.Location}} {{.Start.UTC.Location}}", "Local UTC"),
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


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (ZERO, "0001-01-01T00:00:00Z"),
        (Moment(253402300800), "10000-01-01T00:00:00Z"),
        (Moment(-62135596801), "0000-12-31T23:59:59Z"),
        (Moment(-62198755200), "-0001-01-01T00:00:00Z"),
    ],
)
def test_years_that_python_does_not_know(moment: Moment, text: str) -> None:
    assert format_time(moment, "2006-01-02T15:04:05Z07:00") == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (-2_200_000, "-2.2ms"),
        (3_300_000_000, "3.3s"),
        (245_000_000_000, "4m5s"),
    ],
)
def test_durations(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text
