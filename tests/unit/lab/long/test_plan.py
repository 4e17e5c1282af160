"""A long run from end to end, in small: its classes, figures and tables."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from warren.lab.forward import Judge
from warren.lab.long.classes import LONG_SCENARIOS
from warren.lab.long.plan import JUDGES, LongFindings, LongProgramme, carry_out_long
from warren.lab.long.report import long_markdown, long_tables
from warren.lab.plan import LabError, chosen
from warren.lab.scenarios import Kind

# trouble begins in the third hour
SHORT = LongProgramme(3.3 * 3_600.0, 1)
SHORTEST = LongProgramme(1_800.0, 1)
SOME = ["load 0.5", "job every 60", "dead, commits", "stuck, commits every 5", "always 10 s late"]


@pytest.fixture(scope="module")
def findings() -> LongFindings:
    return carry_out_long(SHORT, chosen(SOME, LONG_SCENARIOS), seed=3)


def test_every_class_is_judged_by_every_judge(findings: LongFindings) -> None:
    both = [*findings.names(healthy=True), *findings.names(healthy=False)]
    assert both == [
        "random service, load 0.5",
        "job every 60 min",
        "always 10 s late",
        "dead, commits every 5 s",
        "stuck, commits every 5 s",
    ]
    assert {(each.name, each.judge) for each in findings.classes} == {
        (name, judge) for name in both for judge in JUDGES
    }
    # commits every 1, 5 and 60 s; two kinds of traffic; and troubles, of which there are four each
    assert [findings.of(name, Judge.TREND).groups for name in both] == [3, 1, 2, 4, 4]
    assert findings.group_days == pytest.approx(14 * 3.3 / 24)


def test_trouble_is_seen_and_calm_is_not_disturbed(findings: LongFindings) -> None:
    for name in ("dead, commits every 5 s", "stuck, commits every 5 s"):
        score = findings.of(name, Judge.TREND)
        assert len(score.seen_after_s) == 4
        assert score.unseen == 0
        assert score.right_share > 0.99
    assert findings.of("random service, load 0.5", Judge.TREND).false_alarms == 0


def test_the_same_seed_finds_the_same() -> None:
    few = chosen(["job every 15"], LONG_SCENARIOS)
    first, again, other = (carry_out_long(SHORTEST, few, seed=seed).to_dict() for seed in (5, 5, 6))
    assert first == again
    assert first["classes"] != other["classes"]


@pytest.mark.parametrize(("width", "judges"), [(80, "trend Burrow"), (120, "trend caching Burrow")])
def test_the_tables_fit_a_terminal(findings: LongFindings, width: int, judges: str) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    for each in long_tables(findings, width):
        console.print(each)
    text = console.export_text()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert f"consumer {judges} {judges}" in lines
    assert f"consumer {' '.join([judges] * 4)}" in lines
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    # figures are whole
    assert "…" not in text


def test_the_figures_are_json_and_a_page(findings: LongFindings) -> None:
    read = json.loads(json.dumps(findings.to_dict(), allow_nan=False))
    assert read["groups"] == 14
    assert {each["judge"] for each in read["classes"]} == {"trend", "caching", "burrow"}
    page = long_markdown(findings)
    # two tables with a heading each, and the sum of what is healthy
    assert page.count("\n| ") == 3 + 1 + 1 + 2
    assert all(line.count("|") in {0, 8, 14} for line in page.splitlines())


def test_what_was_never_seen_is_no_number(findings: LongFindings) -> None:
    blind = [replace(each, seen_after_s=[float("inf")] * len(each.seen_after_s)) for each in findings.classes]
    figures = replace(findings, classes=blind).to_dict()["classes"]
    assert [each["seen_after_median_s"] for each in figures if each["troubles"]] == [None] * 6
    assert "never" in long_markdown(replace(findings, classes=blind))


def test_a_class_is_healthy_or_in_trouble_as_a_whole() -> None:
    kinds: dict[str, set[bool]] = {}
    for each in LONG_SCENARIOS:
        kinds.setdefault(each.name, set()).add(each.kind is Kind.HEALTHY)
    assert all(len(found) == 1 for found in kinds.values())


def test_a_class_that_there_is_not_is_an_error_that_names_those_that_there_are() -> None:
    with pytest.raises(LabError, match='no class matches nonesuch; there are "random service, load'):
        chosen(["nonesuch"], LONG_SCENARIOS)
