"""The numbers that statuses have in sinks: Telegraf's, which dashboards know."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from warren.common.status import Status

# Telegraf has no number for REWIND and writes 0, which also stands for "unknown": it gets one of its own here, above
# all others, so that "3 or more" means trouble
STATUS_CODES: Final[Mapping[Status, int]] = MappingProxyType(
    {
        Status.OK: 1,
        Status.NOTFOUND: 2,
        Status.WARN: 3,
        Status.ERR: 4,
        Status.STOP: 5,
        Status.STALL: 6,
        Status.REWIND: 7,
    }
)
