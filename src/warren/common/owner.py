"""The owner of a partition, as the operator reports it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Holder(NamedTuple):
    """Who holds a partition, as a poll has found it."""

    # a host, or another name
    owner: str
    client_id: str = ""


class Owner(msgspec.Struct, frozen=True, array_like=True):
    """One partition and the member that owns it. The topic is a name, or an id with the newer group protocol."""

    topic: str
    partition: int
    owner: str
    client_id: str


def read_report(payload: bytes) -> dict[str, list[Owner]]:
    """What `GroupOwnership.report` wrote."""
    return msgspec.msgpack.decode(payload, type=dict[str, list[Owner]])
