"""The statuses of partitions and groups, with Burrow's numbers."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The higher, the worse. A group's status never exceeds ERR; a partition's is never ERR or NOTFOUND."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6
