"""Numbers and quotes keep their value, whatever it is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warren.gotemplate.floats import formatted
from warren.gotemplate.fmt import sprintf
from warren.gotemplate.literals import quoted, unquote
from warren.gotemplate.types import FLOAT64, INT64, STRING, Value


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers(number: int) -> None:
    value: list[Value | None] = [Value(INT64, number)]
    assert sprintf("%d", value) == str(number)
    assert int(sprintf("%x", value), 16) == number
    assert sprintf("%30d", value) == str(number).rjust(30)
    assert int(sprintf("%030d", value)) == number


@given(st.text())
def test_quotes_go_there_and_back(text: str) -> None:
    said = sprintf("%q", [Value(STRING, text)])
    assert said == quoted(text)
    assert unquote(said) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(number: float) -> None:
    value: list[Value | None] = [Value(FLOAT64, number)]
    for form in ("%v", "%g", "%e"):
        text = sprintf(form, value)
        assert form == "%e" or float(text) == number
    assert float(formatted(number, 64, "f", -1)) == number
    assert sprintf("%.3f", value) == f"{number:.3f}"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_single_precision_is_as_short_as_it_may_be(number: float) -> None:
    text = formatted(number, 32, "g", -1)
    assert np.float32(text) == np.float32(number)
    assert len(text) <= len(formatted(number, 64, "g", -1))
