"""Log lines about the errors of a cluster: one when something is wrong, one when it is over."""

from __future__ import annotations

from typing import Final

import structlog

log = structlog.get_logger("warren.pipeline")

# seconds after which another text about the same outage is a line of its own
CHANGED_S: Final = 60.0
# and the same text once more
AGAIN_S: Final = 600.0


class ErrorLog:
    """Called in every trigger."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        # the last line, and when it was written by a monotonic clock
        self._told = ""
        self._told_s = 0.0

    def note(self, error: str, now_s: float) -> None:
        """`error`: empty when nothing is wrong."""
        if not error:
            if self._told:
                log.info("cluster is fine again", cluster=self._cluster)
            self._told = ""
            return
        since_s = now_s - self._told_s
        if self._told and since_s < (AGAIN_S if error == self._told else CHANGED_S):
            return
        log.warning("cluster has an error", cluster=self._cluster, error=error)
        self._told, self._told_s = error, now_s
