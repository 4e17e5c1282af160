"""Values as they are kept."""

from __future__ import annotations

import zlib

import msgspec
import pytest

from warren.common.status import Status
from warren.notifier.message import Message
from warren.notifier.store import Case, StoreError, packed, unpacked
from warren.notifier.templates import sample


def test_a_value_comes_back() -> None:
    case = Case("local", "g")
    assert unpacked(packed(case), Case) == case


def test_a_message_of_a_version_that_knew_no_reasons_can_still_be_sent() -> None:
    message = sample(Status.STOP, "m", "open")
    stored = msgspec.to_builtins(message)
    for partition in (*stored["result"]["partitions"], stored["result"]["maxlag"]):
        del partition["rule"], partition["because"]
    found = unpacked(packed(stored), Message)
    assert {(each.rule, each.because) for each in found.result.partitions} == {(None, None)}
    assert found.id == message.id


def test_a_small_node_unpacked_to_any_size() -> None:
    bomb = zlib.compress(b"\0" * 100_000_000, 9)
    assert len(bomb) < 100_000
    with pytest.raises(StoreError, match="larger than 67108864 bytes"):
        unpacked(bomb, Case)


@pytest.mark.parametrize("data", [b"", b"no", packed(Case("local", "g"))[:-5], zlib.compress(b"\xc1")])
def test_what_is_no_value_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="a case in the notifier's store cannot be read"):
        unpacked(data, Case)
