"""JSON as Go writes and reads it."""

from __future__ import annotations

import contextlib
import json
import struct
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.httpserver.gojson import DecodeError, decode_first, encode, float32


@dataclass(frozen=True)
class Share:
    """A share and how Go prints it in single precision."""

    value: float
    text: bytes


SHARES = [
    Share(0, b"0"),
    Share(1, b"1"),
    Share(0.7, b"0.7"),
    Share(1 / 3, b"0.33333334"),
    Share(2 / 3, b"0.6666667"),
    Share(2 / 9, b"0.22222222"),
    Share(17 / 50, b"0.34"),
    Share(1 / 100_000, b"0.00001"),
    Share(99_999 / 100_000, b"0.99999"),
]


@pytest.mark.parametrize("case", SHARES, ids=lambda case: case.text.decode())
def test_shares_are_written_in_single_precision(case: Share) -> None:
    assert encode({"complete": float32(case.value)}) == b'{"complete":' + case.text + b"}"


@given(st.integers(1, 100_000).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
def test_no_share_loses_its_single_precision(share: tuple[int, int]) -> None:
    value = share[0] / share[1]
    written = float(encode(float32(value)))
    assert struct.pack("f", written) == struct.pack("f", value)


@given(st.text())
def test_text_comes_back_and_holds_nothing_that_html_would_see(text: str) -> None:
    body = encode({"name": text})
    assert json.loads(body) == {"name": text}
    assert not set(b"<>&") & set(body)
    assert "\u2028".encode() not in body


def test_keys_keep_their_order_and_nothing_is_added() -> None:
    assert encode({"b": [1, None], "a": {"é<": True}}) == '{"b":[1,null],"a":{"é\\u003c":true}}'.encode()


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b'{"a":}', b"nonsense", b"NaN", b"[" * 100_000, b"\xff"])
def test_what_does_not_start_with_json_is_refused(body: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_first(body)


@given(st.binary())
def test_any_bytes_are_a_value_or_refused(body: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode_first(body)


def test_only_the_first_value_counts() -> None:
    assert decode_first(b' \n{"level":"info"} and more') == {"level": "info"}
