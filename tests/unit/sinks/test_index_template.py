"""The index template: for which indices it is, and when it is put."""

from __future__ import annotations

import pytest

from warren.sinks.index_template import index_pattern, index_template, is_current, template_name


@pytest.mark.parametrize(
    ("index", "pattern", "name"),
    [
        ("burrow-%Y.%m.%d", "burrow-*", "burrow"),
        ("kafka.lag_%Y", "kafka.lag_*", "kafka.lag"),
        ("lag", "lag", "lag"),
        ("%Y-lag", "", "%Y-lag"),
    ],
)
def test_a_template_is_for_the_indices_of_all_days(index: str, pattern: str, name: str) -> None:
    assert (index_pattern(index), template_name(index)) == (pattern, name)


def test_two_sinks_may_write_to_indices_of_which_one_begins_like_the_other() -> None:
    # a server refuses two templates that overlap with the same priority
    plain, longer = index_template("burrow-%Y"), index_template("burrow-prod-%Y")
    assert longer["priority"] > plain["priority"]


def test_ours_is_replaced_when_it_has_changed_and_no_other() -> None:
    ours = index_template("burrow-%Y")
    assert is_current(ours, ours)
    assert not is_current(ours | {"version": 0}, ours)
    assert not is_current(index_template("lag-%Y"), ours)
    assert is_current({"index_patterns": ["burrow-*"], "template": {}}, ours)
