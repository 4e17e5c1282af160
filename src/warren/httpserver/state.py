"""The interfaces that the HTTP server needs from the rest of Warren."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from warren.common.sink_state import SinkState
from warren.common.status import Status
from warren.notifier.record import (
    Incident,
    IncidentEvidence,
    Leadership,
    ModuleCounts,
    ModuleRecord,
    Trial,
)
from warren.snapshot.model import ClusterSnapshot


class Progress(Protocol):
    """The state of a cluster's query."""

    @property
    def running(self) -> bool: ...

    @property
    def caught_up(self) -> bool:
        """Whether everything that was in the offsets topic at the start has been read, and the brokers respond."""

    @property
    def blind(self) -> bool:
        """Whether the brokers, or some of them, did not respond in the last trigger."""

    @property
    def seen_ms(self) -> int:
        """The moment as of which groups are evaluated: all commits before it have been read; 0: none yet."""

    @property
    def records(self) -> int:
        """Records read since the start of this process; `rate` a second lately, `left` still to be read."""

    @property
    def rate(self) -> int: ...

    @property
    def left(self) -> int: ...

    @property
    def denied(self) -> int:
        """Of the records read, those of groups that the lists exclude."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """Of the records read, those that were skipped: reason: how many."""

    @property
    def triggers(self) -> int: ...

    @property
    def trigger_ms(self) -> int:
        """How long the last trigger took."""

    @property
    def recent_triggers(self) -> Sequence[tuple[int, int]]:
        """When the last triggers began, and how long each took: milliseconds, oldest first, bounded."""

    @property
    def restarts(self) -> int: ...

    @property
    def error(self) -> str:
        """Why the cluster does not respond, or the query failed; empty: no error."""


class Answers(Protocol):
    """The latest snapshots and the commands of the API.

    Called from the server's thread, which must never block: all but the commands return at once.
    """

    def clusters(self) -> list[str]:
        """The configured clusters, whether or not they have answered yet."""

    def snapshot(self, cluster: str) -> ClusterSnapshot | None:
        """The latest snapshot, None while there is none yet.

        The same object comes back until the answers change: rendered pages are kept as long as it does.
        """

    def progress(self, cluster: str) -> Progress:
        """The state of a configured cluster's query."""

    def ready(self) -> bool:
        """Whether every cluster that can be reached has caught up."""

    def delete_group(self, cluster: str, group: str) -> None:
        """Delete a group; it comes back with its next commit. Unknown names are no error.

        May block, for a snapshot that is being made or for the disk: not to be called from the server's thread.
        """

    def delete_topic(self, cluster: str, group: str, topic: str) -> None:
        """Delete one topic of a group, likewise."""


class Notifying(Protocol):
    """The state of the notifier, from any thread without blocking; there is none without notifiers."""

    def incidents(self) -> Sequence[Incident]:
        """Open ones first, each kind with the newest first."""

    def evidence(self, incident: Incident) -> IncidentEvidence:
        """What an incident looked like at its opening, at its worst and at its end."""

    def leadership(self) -> Leadership: ...

    def counts(self) -> Mapping[str, ModuleCounts]:
        """By module."""

    def outcomes(self) -> Mapping[str, ModuleRecord]:
        """By module."""

    def try_module(self, module: str, status: Status, kind: Literal["open", "close"]) -> Trial:
        """Send a sample through a configured module.

        Blocks, for as long as the module's timeout: not to be called from the server's thread.
        """


class SinkStates(Protocol):
    """What the sinks tell of themselves, at once and from any thread; there is none without sinks."""

    def states(self) -> Sequence[SinkState]:
        """By name."""


class LogLevel(Protocol):
    """The level of the running program's log."""

    def get_level(self) -> str:
        """One of debug, info, warn, error, fatal."""

    def set_level(self, level: str) -> None:
        """By any name that Burrow takes; `warren.logs.UnknownLevelError` for others."""
