"""Cases out of JSON: the forms that are understood, and what is said of those that are not."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warren.common.sentinels import UNKNOWN
from warren.evaluator.captures import CaptureError, Defaults, cases
from warren.evaluator.cases import explain

DATA: Final = Path(__file__).parents[2] / "data"
CAPTURED: Final = [
    json.loads(line) for line in (DATA / "windows" / "captured.jsonl").read_text().splitlines()
]
ANSWERS: Final = DATA / "burrow_api" / "captures"
# groups of which Burrow was asked for the windows and right after that for the verdicts
JUDGED: Final = (
    "burrow-local",
    "dead",
    "fresh-one",
    "fresh",
    "rewinder",
    "slow",
    "stuck",
    "two-topics",
    "unicode",
    "young",
)
LATER: Final = Defaults(now_ms=1_900_000_000_000)


def answer(name: str) -> Any:
    return json.loads((ANSWERS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", [f"consumer_{group}" for group in JUDGED])
def test_an_answer_is_explained_as_burrow_judged_it(name: str) -> None:
    """The detail of a group, and the verdict that Burrow gave on it a few milliseconds later."""
    judged = answer(f"{name}_lag")["body"]["status"]

    found = {
        (one.case.name["topic"], one.case.name["partition"]): (one.status.name, one.current_lag, one.complete)
        for one in map(explain, cases(answer(name), replace(LATER, class_name="caching")))
    }

    assert found == {
        (partition["topic"], partition["partition"]): (
            partition["status"],
            partition["current_lag"],
            partition["complete"],
        )
        for partition in judged["partitions"]
    }


def test_a_bare_answer_has_its_group_and_the_time_given() -> None:
    body = answer("consumer_unicode")["body"]

    found = list(cases(body, LATER))

    group = answer("consumer_unicode_lag")["body"]["status"]["group"]
    assert {one.name["group"] for one in found} == {group}
    assert {one.now_ms for one in found} == {LATER.now_ms}


def test_a_time_that_is_given_wins_over_that_of_the_capture() -> None:
    capture = answer("consumer_slow")

    assert next(cases(capture, LATER)).now_ms == capture["at_ms"]
    assert next(cases(capture, Defaults(now_ms=7, now_is_given=True))).now_ms == 7


def test_the_head_of_an_answer_wins_over_the_sum() -> None:
    partition = {"offsets": [{"offset": 5, "timestamp": 1, "lag": 3}], "current-lag": 4}
    (summed,) = cases({"topics": {"t": [partition]}}, LATER)
    (told,) = cases({"topics": {"t": [partition | {"head": 11}]}}, LATER)
    (silent,) = cases({"topics": {"t": [{"offsets": [], "current-lag": 0}]}}, LATER)

    assert (summed.head, told.head, silent.head) == (9, 11, UNKNOWN)
    assert summed.name == {"topic": "t", "partition": 0}


def test_a_line_uses_its_own_time_and_settings_and_the_defaults_for_the_rest() -> None:
    line = {"id": 3, "window": [None, {"offset": 5, "timestamp": 1}]}
    defaults = Defaults(now_ms=1, now_is_given=True, allowed_lag=2, minimum_complete=0.5)

    (bare,) = cases(line, defaults)
    (full,) = cases(line | {"now_ms": 9, "allowed_lag": 7, "minimum_complete": 0.1, "intervals": 4}, defaults)
    (evaluated,) = cases(line | {"now_ms": 9, "evaluated_at_ms": 11}, defaults)

    assert (bare.now_ms, bare.allowed_lag, bare.minimum_complete, bare.intervals) == (1, 2, 0.5, 2)
    assert (full.now_ms, full.allowed_lag, full.minimum_complete, full.intervals) == (9, 7, 0.1, 4)
    assert evaluated.now_ms == 11
    assert (bare.head, bare.samples, bare.entries[0].lag) == (UNKNOWN, (), UNKNOWN)


def test_a_line_without_window_and_ring_has_them_made_of_commits_and_heads() -> None:
    for line in CAPTURED:
        (whole,) = cases(line, LATER)
        rest = {name: value for name, value in line.items() if name not in {"window", "broker_ring"}}
        (made,) = cases(rest, LATER)
        assert made == whole, line["id"]


@dataclass(frozen=True)
class Misfit:
    name: str
    document: Any
    says: str


ENTRY: Final = {"offset": 1, "timestamp": 1, "lag": 1}
MISFITS = [
    Misfit("a number", 7, "an object was expected, not a number"),
    Misfit("nothing", None, "an object was expected, not null"),
    Misfit("something else", {"a": 1}, "neither a recorded window"),
    Misfit(
        "an error",
        {"error": True, "message": "cluster or consumer not found"},
        "cluster or consumer not found",
    ),
    Misfit("an answer of /lag", {"error": False, "status": {"partitions": []}}, "has no windows"),
    Misfit("a captured page", {"body": "<html>", "at_ms": 1}, "neither a recorded window"),
    Misfit("no id", {"window": [ENTRY]}, "missing required field `id`"),
    Misfit(
        "a word for an offset", {"id": "a", "window": [ENTRY | {"offset": "x"}]}, "at `$.window[0].offset`"
    ),
    Misfit(
        "an offset past 64 bits",
        {"id": "a", "window": [ENTRY | {"offset": 2**63}]},
        "at `$.window[0].offset`",
    ),
    Misfit("a lag below zero", {"id": "a", "window": [ENTRY | {"lag": -1}]}, "at `$.window[0].lag`"),
    Misfit("a gap in the window", {"id": "a", "window": [ENTRY, None, ENTRY]}, "empty slots come first"),
    Misfit("no current lag", {"topics": {"t": [{"offsets": []}]}}, "missing required field `current-lag`"),
    Misfit("no window at all", {"id": "a", "window": [], "intervals": 0}, "at `$.intervals`"),
    Misfit("a capture at no time", {"at_ms": "noon", "body": {"topics": {}}}, "Expected `int`"),
]


@pytest.mark.parametrize("misfit", MISFITS, ids=lambda misfit: misfit.name)
def test_a_misfit_is_refused_with_what_is_wrong(misfit: Misfit) -> None:
    with pytest.raises(CaptureError) as refused:
        list(cases(misfit.document, LATER))

    assert misfit.says in str(refused.value)
    assert refused.value.exit_code == 2


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "window",
                    "topics",
                    "body",
                    "offset",
                    "timestamp",
                    "lag",
                    "offsets",
                    "current-lag",
                    "intervals",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
)
entries = st.none() | st.fixed_dictionaries(
    {"offset": st.integers(-(2**63), 2**63 - 1), "timestamp": st.integers(-(2**63), 2**63 - 1)},
    optional={"lag": st.none() | st.integers(0, 2**63 - 1)},
)
lines = st.fixed_dictionaries(
    {"id": st.text(max_size=3), "window": st.lists(entries, max_size=4)},
    optional={
        "broker_ring": st.lists(st.integers(0, 2**63 - 1), max_size=3),
        "intervals": st.integers(-1, 9),
        "evaluated_at_ms": st.integers(-(2**63), 2**63 - 1),
    },
)


# the time since the commit did not fit into 64 bits
@example({"id": "", "window": [{"offset": -2, "timestamp": -9_223_370_136_854_775_808}]})
@given(json_values | lines)
def test_any_json_is_explained_or_refused(document: Any) -> None:
    # nothing but a refusal may come out of it
    with contextlib.suppress(CaptureError):
        for one in cases(document, LATER):
            assert explain(one).because
