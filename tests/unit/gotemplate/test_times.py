"""Years on both sides of those that Python knows."""

from __future__ import annotations

import pytest

from warren.gotemplate.layouts import format_time
from warren.gotemplate.times import ZERO, Moment


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
