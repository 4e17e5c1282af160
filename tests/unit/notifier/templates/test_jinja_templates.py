"""Jinja2: the same data under Python's names, in a sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.unit.notifier.templates.messages import EXAMPLE, EXTRAS, zone

from warren.common.status import Status
from warren.config.modules import HttpNotifier
from warren.config.settings import Settings
from warren.notifier.message import Message
from warren.notifier.templates import TemplateError, examine, load_template, sample
from warren.notifier.templates.jinja import faults
from warren.snapshot.model import BurrowPartition


class Case(NamedTuple):
    name: str
    template: str
    text: str


CASES = [
    Case("names", "{{ cluster }} {{ group }} {{ id[:4] }} {{ kind }}", 'local pay"ments 3a94 open'),
    Case(
        "status", "{{ result.status }} {{ result.status == 'ERR' }} {{ result.status.number }}", "ERR True 3"
    ),
    Case("start", "{{ start.strftime('%Y-%m-%d %H:%M %Z') }}", "2026-11-15 09:10 CET"),
    Case("extras", "{{ extras.app }} {{ extras['tier'] }}", "burrow STG"),
    Case(
        "partitions",
        "{% for p in result.partitions %}{{ p.topic }}:{{ p.status }} {% endfor %}",
        "orders<&>:STALL refunds:WARN ",
    ),
    Case("lag", "{% for p in result.partitions %}{{ p.start.lag or 'none' }} {% endfor %}", "315 none "),
    Case("no escaping", "{{ extras.html }}", "<a href='x'>&</a>"),
    Case("the line at the end stays", "a\n", "a\n"),
    Case("counts", "{{ partitioncounts(result.partitions).stall }}", "1"),
    Case("topics", "{{ (result.partitions | topicsbystatus).WARN[0] }}", "refunds"),
    Case("maxlag", "{{ maxlag(result.maxlag) }} {{ result.maxlag | maxlag }}", "365 365"),
    Case("timestamp", "{{ formattimestamp(0, '2006-01-02 15:04') }}", "1970-01-01 01:00"),
    Case("sums", "{{ add(1, 2) }} {{ minus(1, 2) }} {{ multiply(2, 3) }} {{ divide(-7, 2) }}", "3 -1 6 -3"),
    Case(
        "json of text", "{{ jsonencoder('<') }}{{ [1, none, true] | jsonencoder }}", '"\\u003c"[1,null,true]'
    ),
    Case(
        "widths",
        "{{ '%6.2f|%-4s|' | format(1.5, 'a') }}{{ 'a' | center(3) }}{{ 'a'.ljust(2) }}|",
        "  1.50|a   | a a |",
    ),
    Case(
        "a key and words",
        "{{ '%(a)s (prod) *critical* (lag) 123456' | format(a=1) }}",
        "1 (prod) *critical* (lag) 123456",
    ),
    Case("doubled braces", """{{ '{{"text": "{}"}}'.format(1) }}""", '{"text": "1"}'),
    Case("fields", "{{ '{:>4}|{x:<3}|'.format(12345, x='a') }}", "12345|a  |"),
    Case("lines", "{{ 'a b' | wordwrap(1) | indent(2) }}", "a\n  b"),
    Case("powers", "{{ 2 ** 64 + 1 }}", "18446744073709551617"),
    Case("range", "{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
]


def _render(directory: Path, text: str, message: Message = EXAMPLE) -> str:
    path = directory / "t.j2"
    path.write_text(text, encoding="utf-8", newline="")
    return load_template(str(path), "").render(message, EXTRAS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rendering(case: Case, tmp_path: Path) -> None:
    with zone("Europe/Berlin"):
        assert _render(tmp_path, case.template) == case.text


def test_json_is_that_of_go(tmp_path: Path) -> None:
    go = tmp_path / "t.tmpl"
    go.write_text(
        "{{jsonencoder .Result}}{{jsonencoder .Result.Partitions}}{{jsonencoder .Extras}}", encoding="utf-8"
    )
    wanted = load_template(str(go), "").render(EXAMPLE, EXTRAS)
    text = "{{ jsonencoder(result) }}{{ jsonencoder(result.partitions) }}{{ extras | jsonencoder }}"
    assert _render(tmp_path, text) == wanted
    assert json.loads(_render(tmp_path, "{{ jsonencoder(result.maxlag) }}"))["topic"] == "orders<&>"


def test_no_incident_has_no_start(tmp_path: Path) -> None:
    message = msgspec.structs.replace(EXAMPLE, start_ms=None, incident="")
    assert _render(tmp_path, "{{ start is none }} {{ id == '' }}", message) == "True True"


DOUBLING = (
    "{% set ns = namespace(x='x') %}{% for i in range(60) %}"
    "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}"
)
LINES = "{% set s %}{% for i in range(2000) %}a {{ '\\n' }}{% endfor %}{% endset %}"
FORBIDDEN = [
    "{{ ''.__class__ }}",
    "{{ result._source }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ extras.update({'a': 'b'}) }}",
    "{{ nosuch }}",
    "{{ result.nosuch }}",
    "{{ extras.nosuch }}",
    "{{ 'a' * 1000000000 }}",
    "{{ 9 ** 999999 }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%999999999d' | format(1) }}",
    "{{ '%*d' | format(999999999, 1) }}",
    "{{ '%(x)99999999d' | format(x=1) | length }}",
    "{{ '%((x))99999999d' | format(**{'(x)': 1}) | length }}",
    "{{ '{:>99999999}'.format('x') | length }}",
    "{{ '{x:>99999999}'.format_map({'x': 'y'}) | length }}",
    "{{ '{:>{}}'.format('x', '99999999') | length }}",
    "{{ (9 ** 100) ** 100 > 1 }}",
    "{{ multiply(9 ** 99, 9 ** 99) ** 99 > 1 }}",
    "{% set ns = namespace(x=9) %}{% for i in range(14) %}{% set ns.x = multiply(ns.x, ns.x) %}{% endfor %}",
    "{{ ('f' | center(9999)).replace(' ', 'f') | int(base=16) % 2 }}",
    LINES + "{{ s | indent(9999, true) | length }}",
    LINES + "{{ s | indent('x' | center(9999)) | length }}",
    LINES + "{{ s | wordwrap(1, wrapstring='y' | center(9999)) | length }}",
    "{{ 'a' | center(999999999) }}",
    "{{ 'a'.ljust(999999999) }}",
    "{{ 'a'.encode().zfill(999999999) }}",
    "{{ [1] | batch(999999999, 'x') | list }}",
    "{{ lipsum() }}",
    "{{ multiply('x', 200000000) | length }}",
    "{{ 'x' | multiply(200000000) | length }}",
    "{{ [[1]] | multiply(50000000) | length }}",
    "{{ add('a', 'b') }}",
    "{{ 'a'.ljust(9999).replace(' ', ' '.ljust(9999)) | length }}",
    "{{ 'a'.ljust(9999) | replace(' ', ' '.ljust(9999)) | length }}",
    "{{ 'a'.ljust(9999).join(range(9999)) | length }}",
    "{{ range(9999) | join('a'.ljust(9999)) | length }}",
    "{{ 'a'.ljust(9999).replace(' ', '\\t').expandtabs(9999) | length }}",
    "{% set ns = namespace(x='x') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x='x') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    DOUBLING,
    "{{ 1.5 | round(99999999, 'ceil') }}",
    "{{ [[1]] | tojson(indent=999999999) }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% include 'other' %}",
    "{{ 1 / 0 }}",
]


@pytest.mark.parametrize("text", FORBIDDEN)
def test_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"t\.j2: line 2: "):
        _render(tmp_path, "\n" + text)


# shape: template, [(line, part of what, remedy)]
MISTAKES = [
    ("\n{{ gruop }}", [(2, '"gruop" is not defined', "did you mean group?")]),
    ("{% if false %}{{ result.stats }}{% endif %}", [(1, 'no "stats"', "did you mean status?")]),
    ("{% for p in result.partitions %}\n{{ p.topc }}{% endfor %}", [(2, 'no "topc"', "did you mean topic?")]),
    ("{{ result.maxlag.start.offst }}", [(1, 'no "offst"', "did you mean offset?")]),
    ("{{ group | nosuch }}", [(1, "nosuch", "correct the template")]),
    ("{% if group %}", [(1, "Unexpected end of template", "correct the template")]),
    ("{{ extras.ap }}", [(1, 'extras has no "ap"', "did you mean app?")]),
    ("{{ a }}{{ b }}", [(1, '"a"', "known"), (1, '"b"', "known")]),
    ("{{ result.partitions[9].topic }}", [(1, "no element 9", "known")]),
]


@pytest.mark.parametrize(("text", "faults"), MISTAKES, ids=lambda one: one if isinstance(one, str) else "")
def test_mistakes(text: str, faults: list[tuple[int, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "t.j2"
    path.write_text(text, encoding="utf-8")
    module = HttpNotifier.model_validate(
        {"url_open": "http://h.example.com/", "template_open": str(path), "extras": {"app": "x"}}
    )
    found = [one for one in examine(Settings(notifier={"n": module})) if one.severity == "error"]
    assert len(found) == len(faults), found
    for problem, (line, what, remedy) in zip(found, faults, strict=True):
        assert f"{path}, line {line}: " in problem.what
        assert what in problem.what
        assert remedy in problem.remedy


def test_a_partition_says_which_rule_decided_and_why(tmp_path: Path) -> None:
    message = sample(Status.STALL, "m", "open")
    text = "{% for p in result.partitions %}{{ p.rule }}: {{ p.because }}\n{% endfor %}"
    assert _render(tmp_path, text, message).splitlines()[0] == (
        "stalled: All 10 commits have offset 1250000, and the lag is 4812: the consumer commits but does not move."
    )


def test_the_check_of_templates_knows_rule_and_reason() -> None:
    loop = "{% for p in result.partitions %}{{ p.rule }} {{ p.because }}{% endfor %}"
    assert faults(loop + "{{ result.maxlag.rule }} {{ result.maxlag.because }}", ()) == []
    assert faults("{{ result.maxlag.becuase }}", ()) != []


def test_go_templates_ask_for_the_reason_and_print_burrow_s_fields_only(tmp_path: Path) -> None:
    go = tmp_path / "t.tmpl"
    go.write_text("{{range .Result.Partitions}}{{rule .}}: {{because .}}\n{{jsonencoder .}}\n{{end}}")
    first, shown = load_template(str(go), "").render(sample(Status.STALL, "m", "open"), {}).splitlines()[:2]
    assert first.startswith("stalled: All 10 commits have offset 1250000")
    assert list(json.loads(shown)) == [*BurrowPartition.__struct_fields__]
