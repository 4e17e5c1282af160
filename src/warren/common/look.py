"""What the readers are told of a look at a cluster as a whole."""

from __future__ import annotations

import msgspec


class LookTaken(msgspec.Struct, frozen=True):
    """One look."""

    # groups are judged as of this moment: everything that was committed before it has been read
    as_of_ms: int
    # what was wrong; empty when all is well
    error: str
    # everything has been read that was there when this process looked first
    caught_up: bool = False
    # brokers did not answer
    blind: bool = False
    # records that are still to be read
    left: int = 0
