"""CSV and JSON for programs, with names that others chose."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import pytest

from warren.history.answers import Answer, Column, Kind
from warren.history.export import as_csv, as_json

COLUMNS = (Column("group", Kind.TEXT), Column("time", Kind.TIME), Column("max_lag", Kind.COUNT, spare=True))


def answer(name: str) -> Answer:
    return Answer("", COLUMNS, [(name, 1_794_787_200_500, None)])


def test_numbers_have_no_units_and_times_are_in_utc() -> None:
    found = list(csv.DictReader(io.StringIO(as_csv(answer("payments")))))
    assert found == [{"group": "payments", "time": "2026-11-16T00:00:00.500Z", "max_lag": ""}]
    assert json.loads(as_json(("groups", answer("payments")))) == {
        "groups": [{"group": "payments", "time": "2026-11-16T00:00:00.500Z", "max_lag": None}]
    }


@pytest.mark.parametrize("name", ['=HYPERLINK("http://x")', "+1", "-1", "@x", "\tx"])
def test_a_name_that_a_spreadsheet_would_run_is_text_in_csv_and_itself_in_json(name: str) -> None:
    assert next(csv.DictReader(io.StringIO(as_csv(answer(name)))))["group"] == f"'{name}"
    assert json.loads(as_json(("groups", answer(name))))["groups"][0]["group"] == name


@pytest.mark.parametrize("name", ["a,b", 'a"b', "a\nb", "größe", "[red]x[/red]"])
def test_other_names_come_back_as_they_were(name: str) -> None:
    assert next(csv.DictReader(io.StringIO(as_csv(answer(name)))))["group"] == name


def test_a_user_s_query_may_have_any_type() -> None:
    columns = [Column(name, Kind.ANY) for name in ("decimal", "list", "nan", "bytes")]
    found = Answer("", columns, [(Decimal("1.5"), [1, None], float("nan"), b"\x01")])
    assert json.loads(as_json(("rows", found)))["rows"] == [
        {"decimal": 1.5, "list": [1, None], "nan": "nan", "bytes": "01"}
    ]
    assert as_csv(found).splitlines()[1].startswith('1.5,"[1, null]",nan,')
