"""Go's regular expressions in Python: what they match, and what cannot be had."""

import contextlib
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.config.patterns import POSIX_CLASSES, PatternError, compiled


class Match(NamedTuple):
    """An expression, names that it matches in Go, and names that it does not."""

    source: str
    yes: tuple[str, ...]
    no: tuple[str, ...]


MATCHES = [
    Match("team", ("team", "my-team-1"), ("Team",)),
    Match("^(console-|quick-).*$", ("console-1", "quick-"), ("a-quick-one",)),
    Match("a$", ("a", "ba"), ("a\n", "ab")),
    Match("(?m)a$", ("a", "a\nb"), ("ab",)),
    Match(r"a\z", ("ba",), ("a\n",)),
    Match(r"^\d+$", ("12",), ("१२", "a")),
    Match(r"^\w+$", ("a_1",), ("é",)),
    Match(r"^\W$", ("é", "-"), ("a",)),
    Match(r"^[\w-]+$", ("a-b",), ("a b", "é")),
    Match(r"^[^\s]+$", ("ab",), ("a b",)),
    Match(r"\bteam\b", ("a team b", "éteam"), ("teams",)),
    Match("^[[:alpha:]]+$", ("abc",), ("a1", ":")),
    Match("^[[:digit:]_-]+$", ("1_2-3",), ("a",)),
    Match("^[^[:space:]]$", ("a",), (" ",)),
    Match("(?i)team", ("TEAM",), ("tea",)),
    Match("a(?i)b", ("aB",), ("AB",)),
    Match("(a(?i)b)c", ("aBc",), ("aBC", "Abc")),
    Match("(?i:a)b", ("Ab",), ("AB",)),
    Match("(?i)a(?-i)b", ("Ab",), ("AB",)),
    Match("(?P<n>a)b", ("ab",), ("a",)),
    Match("(?<n>a)b", ("ab",), ("a",)),
    Match(r"^\Qa.b*\E+$", ("a.b*", "a.b**"), ("axb*",)),
    Match(r"\Qa.b", ("a.b",), ("axb",)),
    Match(r"\x{e9}", ("é",), ("e",)),
    Match(r"^[\x{61}-\x{63}]$", ("b",), ("d",)),
    Match("^[]a]$", ("]", "a"), ("b",)),
    Match("^[a[]$", ("[", "a"), ("b",)),
    Match(r"^\$\.\(\)$", ("$.()",), ("$",)),
    Match("^(a|b(c|d))+$", ("abcbd",), ("ab",)),
]


@pytest.mark.parametrize("case", MATCHES, ids=lambda case: case.source)
def test_matches_as_in_go(case: Match) -> None:
    pattern = compiled(case.source)
    assert [name for name in (*case.yes, *case.no) if pattern.matches(name)] == list(case.yes)
    assert str(pattern) == case.source


class Fault(NamedTuple):
    """An expression that cannot be used, why, and what to do."""

    source: str
    reason: str
    remedy: str


FAULTS = [
    Fault("^(a", "missing ), unterminated subpattern at character 2", "add the missing )"),
    Fault(
        "a)", "unbalanced parenthesis at character 2", r"remove the ), or write \) when it is meant literally"
    ),
    Fault(
        "*-team",
        "nothing to repeat at character 1",
        "put something before it that can repeat, for example .*",
    ),
    Fault("[a-", "the bracket opened at character 1 is never closed", "add ]"),
    Fault(r"\p{L}+", "Unicode classes are not supported", "list the characters, for example [A-Za-z]"),
    Fault("(?U)a+", "the flag U (lazy by default) is not supported", "write *? and +? instead"),
    Fault("[[:letter:]]", "[:letter:] is not a class", f"use one of {', '.join(sorted(POSIX_CLASSES))}"),
    Fault("[[:^alpha:]]", "[:^alpha:] is not supported", "write [^[:alpha:]]"),
    Fault("[z-a]", "bad character range z-a at character 2", "put the smaller character first"),
]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.source)
def test_faults(case: Fault) -> None:
    with pytest.raises(PatternError) as caught:
        compiled(case.source)
    assert (str(caught.value), caught.value.remedy) == (case.reason, case.remedy)


@given(st.text(alphabet=r"()[]?:^$\\QEzdwpbxiU<>Pa{}0|*+-.", max_size=20) | st.text(max_size=20))
def test_any_text_is_an_expression_or_a_fault(source: str) -> None:
    with contextlib.suppress(PatternError):
        compiled(source).matches("some-group")
