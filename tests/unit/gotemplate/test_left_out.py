"""What Go's templates have and these have not is an error that names it, never another text."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from warren.gotemplate.errors import TemplateError
from warren.gotemplate.execution import Program
from warren.gotemplate.functions import BUILTINS
from warren.gotemplate.parser import parse
from warren.gotemplate.times import TIME, Moment
from warren.gotemplate.types import Value


class Case(NamedTuple):
    template: str
    fault: str


CASES = [
    Case("{{3i}}", r'bad number syntax: "3i"'),
    Case("{{1+2i}}", r'bad number syntax: "\+2i"'),
    Case("{{0x1p4}}", r'bad number syntax: "0x1p"'),
    Case('{{printf "%U" 65}}', "%U is not supported: use one of the verbs v, s, q"),
    Case('{{printf "%o" 8}}', "%o is not supported"),
    Case('{{printf "%08b" 8}}', "%08b is not supported"),
    Case('{{printf "%p" .}}', "%p is not supported"),
    Case('{{printf "%#v" "x"}}', "%#v is not supported"),
    Case('{{printf "%+q" "x"}}', r"%\+q is not supported"),
    Case('{{printf "%q" 65}}', "%q of a number is not supported"),
    Case('{{printf "%x" 1.5}}', "%x of a float is not supported"),
    Case('{{printf "%*d" 5 1}}', r"%\* is not supported"),
    Case('{{printf "%9999999d" 1}}', "%9999999d is too wide"),
    Case('{{slice "abc" 1 2 3}}', "too many slice indexes: 3"),
    Case("{{call 1}}", 'function "call" not defined'),
    Case("{{.Sub .}}", "there is no field Sub in time.Time; it has Format"),
    Case("{{.Date}}", "there is no field Date in time.Time"),
]


def _executed(template: str) -> str:
    tree = parse("case", template, BUILTINS)
    for fault in tree.faults:
        raise TemplateError("case", fault.line, fault.what, fault.remedy)
    return Program(tree, BUILTINS).execute(Value(TIME, Moment(0)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template)
def test_it_says_what_is_not_there(case: Case) -> None:
    with pytest.raises(TemplateError, match=case.fault):
        _executed(case.template)
