"""What the HTTP server asks of the rest of Warren, and nothing more."""

from __future__ import annotations

from typing import Protocol

from warren.snapshot.model import ClusterSnapshot


class Answers(Protocol):
    """The latest snapshots and the few commands that the API can give; called from the server's thread."""

    def clusters(self) -> list[str]:
        """The configured clusters, whether or not they have answered yet."""

    def snapshot(self, cluster: str) -> ClusterSnapshot | None:
        """The latest snapshot, None while there is none yet.

        The same object comes back until the answers change: rendered pages are kept as long as it does.
        """

    def ready(self) -> bool:
        """Whether every cluster that can be reached has caught up."""

    def delete_group(self, cluster: str, group: str) -> None:
        """Forget a group; it comes back with its next commit. Returns at once, unknown names are no error."""

    def delete_topic(self, cluster: str, group: str, topic: str) -> None:
        """Forget one topic of a group, likewise."""


class LogLevel(Protocol):
    """The level of the running program's log."""

    def get_level(self) -> str:
        """One of debug, info, warn, error, fatal."""

    def set_level(self, level: str) -> None: ...
