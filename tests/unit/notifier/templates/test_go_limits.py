"""No template may hang or fill the process; no text may break the parser."""

from __future__ import annotations

import contextlib
import json
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.notifier.templates.messages import EXAMPLE, EXTRAS, TEMPLATES

from warren.gotemplate import execution
from warren.notifier.templates import TemplateError, text_template


class Case(NamedTuple):
    name: str
    template: str
    what: str


CASES = [
    Case("endless range", "{{range 1000000000000}}{{end}}", "steps"),
    Case("text that doubles", '{{$x := "a"}}{{range 99}}{{$x = printf "%s%s" $x $x}}{{end}}', "longer than"),
    Case("wide numbers", '{{range 100}}{{printf "%999999d" 1}}{{end}}', "longer than"),
    Case("calls itself", '{{define "a"}}{{template "a"}}{{end}}{{template "a"}}', "maximum template depth"),
    Case(
        "calls itself twice",
        '{{define "a"}}{{range 2}}{{template "a"}}{{end}}{{end}}{{template "a"}}',
        "depth",
    ),
    Case("parentheses", "{{print " + "(" * 2000 + "1" + ")" * 2000 + "}}", "too many parentheses"),
    Case("branches", "{{if 1}}" * 2000 + "{{end}}" * 2000, "too many actions"),
    Case("alternatives", "{{if 0}}" + "{{else if 0}}" * 2000 + "{{end}}", "too many actions"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_limits(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "MAX_STEPS", 20_000)  # the real one takes seconds
    with pytest.raises(TemplateError, match=case.what):
        text_template(case.template, "t").render(EXAMPLE, {})


def test_a_thousand_partitions_are_within_the_limits() -> None:
    many = msgspec.structs.replace(EXAMPLE.result, group="g", partitions=EXAMPLE.result.partitions[:1] * 1000)
    text = (TEMPLATES / "all.tmpl").read_text(encoding="utf-8")
    rendered = text_template(text, "all").render(msgspec.structs.replace(EXAMPLE, result=many), EXTRAS)
    assert len(json.loads(rendered)["json"]["partitions"]) == 1000


WORDS = """{{ }} if else end range with define template block break continue nil true := = . | ( ) , /* */
$x .Group .Result.Partitions 1 -2.5 0x 1i print printf len index eq"""
PIECES = st.sampled_from([*WORDS.split(), '"a"', "`b`", "'c'", '"%d%s%"', "{{- ", " -}}", "\n", " "])


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=25), st.sampled_from(["", " "]))
def test_any_text_is_a_template_or_a_mistake(pieces: list[str], glue: str) -> None:
    with contextlib.suppress(TemplateError):
        text_template(glue.join(pieces), "t").render(EXAMPLE, EXTRAS)


@given(st.text())
def test_text_without_actions_stays_as_it_is(text: str) -> None:
    if "{{" not in text:
        assert text_template(text, "t").render(EXAMPLE, {}) == text
