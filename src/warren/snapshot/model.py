"""The records of a snapshot: frozen, with the names of Burrow's JSON."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from warren.common.status import Status
from warren.snapshot.tables import GroupTable, HeadTable, WindowTable

Count = Annotated[int, Meta(ge=0)]
Milliseconds = Annotated[int, Meta(ge=0, description="Milliseconds since 1970")]


class Entry(msgspec.Struct, frozen=True, gc=False, rename={"observed_at": "observedAt"}):
    """One commit of a window."""

    offset: int
    timestamp: Milliseconds
    observed_at: Milliseconds
    lag: Annotated[Count | None, Meta(description="Null: no head was known when the commit came")]


# types of a status and a share, by output format: number or name, rounded or with Go's digits
_Status = TypeVar("_Status")
_Share = TypeVar("_Share")


class BurrowPartition(msgspec.Struct, Generic[_Status, _Share], frozen=True, gc=False):
    """One partition of a group, as far as Burrow shows it: its fields in the order of Burrow's JSON."""

    topic: str
    partition: Count
    owner: str
    client_id: str
    status: _Status
    start: Annotated[Entry | None, Meta(description="The oldest entry of the window; null: no commit yet")]
    end: Annotated[Entry | None, Meta(description="The newest entry of the window; null: no commit yet")]
    current_lag: Count
    complete: _Share


class PartitionFields(BurrowPartition[_Status, _Share], Generic[_Status, _Share], frozen=True, gc=False):
    """The same with the fields that only Warren has."""

    head: Annotated[int | None, Meta(description="Next offset on the broker; null: not known")]
    tail: Annotated[int | None, Meta(description="Oldest offset on the broker; null: not known")]
    rule: Annotated[str | None, Meta(description="The rule that decided, see docs/rules.md; null: OK")] = None
    because: Annotated[str | None, Meta(description="Its sentence with the numbers; null: OK")] = None
    decided_by: Annotated[
        tuple[Count, ...],
        Meta(description="The commits that the rule looked at: positions in the window, 0 is the oldest"),
    ] = ()
    would_change: Annotated[
        str | None, Meta(description="What would change the verdict, with the numbers; null: OK")
    ] = None


class PartitionStatus(PartitionFields[Status, float], frozen=True, gc=False):
    """The verdict on one partition of a group; `rule` and what follows it are set by `explained` and `windows` only."""


class WindowEntry(Entry, frozen=True, gc=False):
    """One commit of a window, with both bounds of its lag."""

    floor: Annotated[
        Count | None,
        Meta(description="Lag behind the head of the last poll before the commit: a lower bound"),
    ]


class PartitionWindow(msgspec.Struct, frozen=True):
    """One partition of a group with its verdict explained, also where it is OK, and the whole window."""

    partition: PartitionStatus
    # oldest first; empty: no commit yet
    window: tuple[WindowEntry, ...]


class GroupStatus(msgspec.Struct, frozen=True):
    """The verdict on a group: every partition of every topic it has committed to, by topic and partition."""

    cluster: str
    group: str
    status: Status
    complete: float
    partitions: tuple[PartitionStatus, ...]
    partition_count: int
    maxlag: PartitionStatus | None
    totallag: int


class PartitionDetail(msgspec.Struct, frozen=True):
    """One partition of `/consumer/G`: the whole window."""

    # empty while the partition never had a commit, else one item per slot, None for empty (leading) slots
    offsets: tuple[Entry | None, ...]
    owner: str
    client_id: str
    current_lag: int
    # by slot as `offsets`: the floor of the lag; None: not known
    floors: tuple[int | None, ...]


class TopicPartitionHead(msgspec.Struct, frozen=True):
    """Head and tail of one topic partition; None while unknown (no leader, not polled yet)."""

    head: int | None
    tail: int | None


class GroupConsumer(msgspec.Struct, frozen=True):
    """A [consumer.N] that reads commits of a group."""

    name: str
    class_name: Annotated[
        str, Meta(description="`kafka`, or how it is polled: `kafka_zk`, `storm`, `kafka_admin`")
    ]
    commit_time: Annotated[
        Literal["commit", "poll"],
        Meta(
            description="What the time of a commit is. `poll`: committed offsets are polled and have no time; a commit "
            "is an offset that has changed, its time that of the poll, and one that repeats the last offset is not seen"
        ),
    ]
    seen_at: Annotated[
        int,
        Meta(
            description="The moment as of which its partitions are evaluated: all before it was read, ms",
            ge=0,
        ),
    ]
    blind: Annotated[
        bool, Meta(description="It cannot be polled: its partitions stay as they were at that moment")
    ]


class TopicReader(msgspec.Struct, frozen=True):
    """A group that has committed on a topic, as far as that topic goes."""

    group: str
    # the worst of its partitions
    status: Status
    totallag: int
    maxlag: int
    # partitions with a commit, and how many of them are not OK
    partition_count: int
    not_ok: int
    # ms; 0: none
    last_commit: int


class ClusterSnapshot(Protocol):
    """One cluster at one moment; every method returns data of the same trigger."""

    @property
    def name(self) -> str: ...

    @property
    def number(self) -> int:
        """Counts snapshots of this cluster upwards, across restarts too."""

    @property
    def taken_at_ms(self) -> int: ...

    @property
    def as_of_ms(self) -> int:
        """The moment as of which everything is evaluated: all commits before it have been read."""

    def topics(self) -> list[str]:
        """Sorted names."""

    def topic(self, topic: str) -> tuple[TopicPartitionHead, ...] | None:
        """By partition number; None when the brokers do not have the topic."""

    def consumers_of(self, topic: str) -> list[str]:
        """Sorted names of the groups with a commit on the topic."""

    def readers(self, topic: str) -> tuple[TopicReader, ...]:
        """The same groups, and how far each is on this topic."""

    def head_table(self) -> HeadTable:
        """All heads at once."""

    def groups(self) -> list[str]:
        """Sorted names."""

    def unseen(self) -> frozenset[str]:
        """Groups with a partition whose head is missing in the last poll: they should not be judged."""

    def group_table(self) -> GroupTable:
        """All groups at once."""

    def window_table(self) -> WindowTable:
        """All windows at once."""

    def group(self, group: str) -> GroupStatus | None: ...

    def explained(self, group: GroupStatus) -> GroupStatus:
        """A group of this snapshot, where each partition that is not OK has its rule and why it holds."""

    def consumers_reading(self, group: str) -> tuple[GroupConsumer, ...]:
        """The consumers that read the last commits of its partitions."""

    def windows(self, group: GroupStatus) -> tuple[PartitionWindow, ...]:
        """The partitions of a group of this snapshot, or some of them, in the given order: explained, with windows."""

    def detail(self, group: str) -> dict[str, tuple[PartitionDetail, ...]] | None:
        """By topic (sorted), then partition number."""
