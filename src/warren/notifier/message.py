"""One message of one module."""

from __future__ import annotations

from typing import Literal

import msgspec

from warren.snapshot.model import GroupStatus

Kind = Literal["open", "close"]


class Message(msgspec.Struct, frozen=True):
    """The same in every attempt to send it, also after a restart or by another instance."""

    # a UUID of its own: receivers can detect duplicates
    id: str
    # name of the [notifier.N] section
    module: str
    kind: Kind
    # id and start of the incident; "" and None: the group is OK, and the module's threshold is OK
    incident: str
    start_ms: int | None
    # when it was decided to send it
    decided_ms: int
    # as Burrow's templates get it: only the partitions that are not OK
    result: GroupStatus
    # the page of the incident, or of the group where there is none; "": nobody knows Warren's address
    link: str = ""
