"""Go's regular expressions: what they match, what is wrong with those that are not any, and how long they take."""

import contextlib
import pickle
import time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.common.group_filter import GroupFilter
from warren.config.patterns import PatternError, compiled


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
    # what the translation to Python's expressions could not do
    Match(r"^\p{Greek}+$", ("αβγ",), ("abc",)),
    Match(r"^[^\pL]+$", ("123",), ("a1", "é")),
    Match("(?U)^a+$", ("aaa",), ("b",)),
    Match("^[[:^alpha:]]+$", ("12-",), ("a",)),
    Match("^.$", ("é", "日"), ("ab",)),
    Match("(?s)a.b", ("a\nb",), ("ab",)),
    Match("a.b", ("a-b",), ("a\nb",)),
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
    Fault("^(a", "a ( is never closed", "add the missing )"),
    Fault("a)", "there is a ) without its (", r"remove the ), or write \) when it is meant literally"),
    Fault(
        "*-team",
        "nothing to repeat at character 1",
        "put something before it that can repeat, for example .*",
    ),
    Fault("team-[a-", "a bracket is never closed at character 6", "add ]"),
    Fault("a**", "** repeats what repeats already at character 2", "keep one of the two signs"),
    Fault(
        "a{1001}",
        "{1001} is no number of repetitions at character 2",
        "write at most 1000 in all, the smaller first",
    ),
    Fault(
        "[[:letter:]]",
        "[:letter:] is not a class at character 2",
        "use one of alnum, alpha, ascii, blank, cntrl, digit, graph, lower, print, punct, space, upper, word, xdigit",
    ),
    Fault(
        r"a\p{Letter}",
        r"\p{Letter} is not a Unicode class at character 2",
        r"use one such as \p{L} or \p{Greek}",
    ),
    Fault("[z-a]", "bad character range z-a at character 2", "put the smaller character first"),
    Fault(
        r"team\q",
        r"\q has no meaning at character 5",
        r"remove the backslash, or write \\ when it is meant literally",
    ),
    Fault("team\\", "it ends with a backslash", r"remove it, or write \\ when it is meant literally"),
    Fault(
        "(?P<team", "a group has no valid name", "write (?P<name>…), with letters, digits and _ in the name"
    ),
    Fault(
        "(?=team)",
        "(?= is not supported at character 1",
        "use groups (…), (?:…), (?P<name>…) and the flags i, m, s and U",
    ),
    Fault(r"\pL{1000}" * 100, "it is too large", "make its repetitions smaller"),
]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.source[:20])
def test_faults(case: Fault) -> None:
    with pytest.raises(PatternError) as caught:
        compiled(case.source)
    assert (str(caught.value), caught.value.remedy) == (case.reason, case.remedy)


@given(st.text(alphabet=r"()[]?:^$\\QEzdwpbxiU<>Pa{}0|*+-.", max_size=20) | st.text(max_size=20))
def test_any_text_is_an_expression_or_a_fault(source: str) -> None:
    with contextlib.suppress(PatternError):
        compiled(source).matches("some-group")


def test_an_expression_that_took_hours_answers_at_once() -> None:
    began = time.monotonic()
    assert not compiled("(a+)+$").matches("a" * 50_000 + "!")
    assert compiled("^(([a-z])+.)+[A-Z]([a-z])+$").matches("a" * 50_000) is False
    assert time.monotonic() - began < 2


def test_lists_travel_to_workers() -> None:
    lists = GroupFilter(allow=(compiled("^team-").regex,), deny=(compiled("(?i)-TEST$").regex,))
    there = pickle.loads(pickle.dumps(lists))
    names = ["team-a", "team-a-test", "other", "team-é"]
    assert [name for name in names if there.accepts(name)] == ["team-a", "team-é"]


def test_what_is_wrong_is_not_written_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        compiled("(")
    assert capfd.readouterr().err == ""
