"""The result of polling a cluster's heads, for the driver."""

from __future__ import annotations

from typing import Final

import msgspec

# classes of polled consumers whose commits have no time of their own
UNTIMED: Final = frozenset({"kafka_admin"})


class PolledMoment(msgspec.Struct, frozen=True):
    """Up to when the commits of a polled consumer are known: its groups are evaluated as of that moment."""

    as_of_ms: int
    # nothing can be found now, or nothing has been since the start: its groups stay as they were
    blind: bool
    # groups of it that have no answer, though others have: the moment of their last one
    unanswered: dict[str, int] = {}


class LookTaken(msgspec.Struct, frozen=True):
    """One poll of the heads and tails of a cluster, which the code calls a look."""

    # groups are evaluated as of this moment: everything that was committed before it has been read
    as_of_ms: int
    # what was wrong; empty: nothing
    error: str
    # everything has been read up to the first end offsets that this process got
    caught_up: bool = False
    # brokers did not respond
    blind: bool = False
    # partitions of an offsets topic have no leader: `as_of_ms` stays, though there are new heads
    partly_blind: bool = False
    # records that are still to be read
    left: int = 0
    # polled consumers, by their label
    polled: dict[str, PolledMoment] = {}
