"""Templates that Go itself has executed: the same text, or a mistake where Go found one."""

from __future__ import annotations

import json

from tests.unit.notifier.templates.messages import EXAMPLE, EXTRAS, TEMPLATES, zone

from warren.notifier.templates import TemplateError, text_template


def _rendered(text: str) -> str | None:
    try:
        return text_template(text, "case").render(EXAMPLE, EXTRAS)
    except TemplateError:
        return None


def test_every_template_gives_what_go_gave() -> None:
    # shape of a line: [template, text or null for an error]
    lines = (TEMPLATES / "go_cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases: list[tuple[str, str | None]] = [(case[0], case[1]) for case in map(json.loads, lines)]
    assert len(cases) > 2000
    with zone("UTC"):
        different = [(text, wanted, got) for text, wanted in cases if (got := _rendered(text)) != wanted]
    assert different == []
