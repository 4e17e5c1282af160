"""What the HTTP server asks of the rest of Warren, and nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from warren.notifier.record import Incident, Leadership, ModuleCounts
from warren.snapshot.model import ClusterSnapshot


class Progress(Protocol):
    """How the query of a cluster is doing."""

    @property
    def running(self) -> bool: ...

    @property
    def caught_up(self) -> bool:
        """Whether everything has been read that was there when the query was started, and the brokers answer."""

    @property
    def blind(self) -> bool:
        """Whether the brokers did not answer in the last trigger."""

    @property
    def seen_ms(self) -> int:
        """The moment as of which groups are judged: all that was committed before it has been read; 0: none yet."""

    @property
    def records(self) -> int:
        """Records read since the start of this process; `rate` a second lately, `left` still to be read."""

    @property
    def rate(self) -> int: ...

    @property
    def left(self) -> int: ...

    @property
    def denied(self) -> int:
        """Of the records read, those of groups that are not to be watched."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """Of the records read, those that say nothing of use: reason: how many."""

    @property
    def triggers(self) -> int: ...

    @property
    def trigger_ms(self) -> int:
        """How long the last trigger took."""

    @property
    def restarts(self) -> int: ...

    @property
    def error(self) -> str:
        """Why the cluster does not answer, or the query failed; empty when all is well."""


class Answers(Protocol):
    """The latest snapshots and the few commands that the API can give.

    Called from the server's thread, which must never wait: all but the commands answer at once.
    """

    def clusters(self) -> list[str]:
        """The configured clusters, whether or not they have answered yet."""

    def snapshot(self, cluster: str) -> ClusterSnapshot | None:
        """The latest snapshot, None while there is none yet.

        The same object comes back until the answers change: rendered pages are kept as long as it does.
        """

    def progress(self, cluster: str) -> Progress:
        """How the query of a configured cluster is doing, now."""

    def ready(self) -> bool:
        """Whether every cluster that can be reached has caught up."""

    def delete_group(self, cluster: str, group: str) -> None:
        """Forget a group; it comes back with its next commit. Unknown names are no error.

        May wait, for a snapshot that is being made or for the disk: not to be called from the server's thread.
        """

    def delete_topic(self, cluster: str, group: str, topic: str) -> None:
        """Forget one topic of a group, likewise."""


class Notifying(Protocol):
    """What the notifier tells of itself, at once and from any thread; there is none without notifiers."""

    def incidents(self) -> Sequence[Incident]:
        """Open ones first, each kind with the newest first."""

    def leadership(self) -> Leadership: ...

    def counts(self) -> Mapping[str, ModuleCounts]:
        """By module."""


class LogLevel(Protocol):
    """The level of the running program's log."""

    def get_level(self) -> str:
        """One of debug, info, warn, error, fatal."""

    def set_level(self, level: str) -> None:
        """By any name that Burrow takes; `warren.logs.UnknownLevelError` for others."""
