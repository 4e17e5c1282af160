"""Who holds a partition, as the pipeline reports it."""

from __future__ import annotations

import msgspec


class Owner(msgspec.Struct, frozen=True, array_like=True):
    """One partition and who has it. The topic is a name, or an id where the group's protocol speaks in ids."""

    topic: str
    partition: int
    owner: str
    client_id: str


def read_report(payload: bytes) -> dict[str, list[Owner]]:
    """What `OwnerBook.report` wrote."""
    return msgspec.msgpack.decode(payload, type=dict[str, list[Owner]])
