"""The JSON of `/v4`: these types are its answers and, through the OpenAPI document, its description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from warren.snapshot.model import Count, GroupConsumer, Milliseconds, PartitionFields, WindowEntry

GroupStatusName = Literal["OK", "WARN", "ERR"]
IncidentStatusName = Literal["NOTFOUND", "OK", "WARN", "ERR"]
PartitionStatusName = Literal["OK", "WARN", "STOP", "STALL", "REWIND"]

Rate = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Cursor = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,12}(\.[0-9]{1,6})?$",
        description="Position in the stream of changes: a snapshot's number, with a revision where "
        "something changed between two snapshots",
    ),
]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""


class Error(msgspec.Struct, frozen=True):
    """Why there is no answer, in the shape of Burrow's errors."""

    error: bool
    message: str
    result: Nothing


class Snapshot(msgspec.Struct, frozen=True):
    """The snapshot that the whole answer comes from."""

    number: Count
    taken_at: Milliseconds
    as_of: Annotated[
        Milliseconds,
        Meta(description="Groups are evaluated as of this moment: all commits before it were read"),
    ]
    cursor: Cursor


class Group(msgspec.Struct, frozen=True):
    """One line about a group."""

    group: str
    status: GroupStatusName
    complete: Annotated[Share, Meta(description="Share of the partitions whose window is full")]
    partition_count: Count
    totallag: Annotated[Count, Meta(description="Sum of the current lags")]
    maxlag: Annotated[Count, Meta(description="Greatest current lag of one partition")]
    last_commit: Annotated[Milliseconds | None, Meta(description="The newest commit; null: none")]
    status_since: Annotated[
        Milliseconds | None, Meta(description="When the status last changed; null: not since Warren started")
    ]


class Groups(msgspec.Struct, frozen=True):
    """A page of a cluster's groups."""

    cluster: str
    snapshot: Snapshot
    total: Annotated[Count, Meta(description="Groups that match, on all pages")]
    offset: Count
    groups: list[Group]


class Changes(msgspec.Struct, frozen=True):
    """Changes of groups since an earlier answer."""

    cluster: str
    snapshot: Annotated[Snapshot, Meta(description="Request changes since its cursor next time")]
    complete: Annotated[
        bool,
        Meta(description="These are all groups, not only those that changed: drop all others"),
    ]
    groups: Annotated[list[Group], Meta(description="New and changed groups, in their current state")]
    removed: Annotated[list[str], Meta(description="Groups that were removed")]


class GroupColumns(msgspec.Struct, frozen=True):
    """Groups as columns of the same length, which is a third of the bytes."""

    group: list[str]
    status: list[GroupStatusName]
    complete: list[Share]
    partition_count: list[Count]
    totallag: list[Count]
    maxlag: list[Count]
    last_commit: Annotated[list[Milliseconds], Meta(description="0: none")]
    status_since: Annotated[list[Milliseconds], Meta(description="0: not since Warren started")]


class ClusterChanges(msgspec.Struct, frozen=True):
    """Changes of one cluster's groups since an earlier answer."""

    cluster: str
    snapshot: Annotated[Snapshot, Meta(description="Request changes since its cursor next time")]
    complete: Annotated[
        bool, Meta(description="These are all groups, not only those that changed: drop all others")
    ]
    groups: GroupColumns
    removed: Annotated[list[str], Meta(description="Groups that were removed")]


class AllChanges(msgspec.Struct, frozen=True):
    """Changes of all clusters; one that has no snapshot yet is left out."""

    clusters: list[ClusterChanges]


class Session(msgspec.Struct, frozen=True):
    """What the client of this request may do."""

    admin: Annotated[bool, Meta(description="Whether it may delete groups and change settings")]
    version: Annotated[str, Meta(description="Warren's version")]


class Partition(PartitionFields[PartitionStatusName, Share], frozen=True):
    """The verdict on one partition of a group."""


class PartitionWindow(Partition, frozen=True, kw_only=True):
    """The verdict on one partition of a group, explained also where it is OK, with the whole window."""

    window: Annotated[list[WindowEntry], Meta(description="Oldest first; empty: no commit yet")]


class GroupDetail(msgspec.Struct, frozen=True):
    """A group and its partitions."""

    cluster: str
    snapshot: Snapshot
    summary: Group
    partitions: list[Partition]
    consumers: Annotated[
        list[GroupConsumer], Meta(description="Which of the configured consumers read its last commits")
    ]


class GroupTopic(msgspec.Struct, frozen=True):
    """One topic of a group."""

    cluster: str
    snapshot: Snapshot
    group: str
    topic: str
    totallag: Count
    partitions: list[PartitionWindow]


class GroupWindows(msgspec.Struct, frozen=True):
    """Partitions of a group with their windows; of equal statuses the greatest lag first."""

    cluster: str
    snapshot: Snapshot
    group: str
    total: Annotated[Count, Meta(description="Partitions that match, on all pages")]
    offset: Count
    partitions: list[PartitionWindow]


class TopicPartition(msgspec.Struct, frozen=True):
    """One partition of a topic."""

    partition: Count
    head: Annotated[int | None, Meta(description="Next offset on the broker; null: not known")]
    tail: Annotated[int | None, Meta(description="Oldest offset on the broker; null: not known")]
    inflow: Annotated[Rate | None, Meta(description="Messages a second; null: not known yet")]


class TopicReader(msgspec.Struct, frozen=True):
    """A group that has committed on the topic, as far as this topic goes."""

    group: str
    status: Annotated[PartitionStatusName, Meta(description="The worst of its partitions")]
    totallag: Count
    maxlag: Annotated[Count, Meta(description="Greatest current lag of one partition")]
    partition_count: Annotated[Count, Meta(description="Partitions with a commit")]
    not_ok: Annotated[Count, Meta(description="Of those, how many are not OK")]
    last_commit: Annotated[Milliseconds | None, Meta(description="The newest commit; null: none")]


class Topic(msgspec.Struct, frozen=True):
    """A topic, and who reads it."""

    cluster: str
    snapshot: Snapshot
    topic: str
    inflow: Annotated[
        Rate | None,
        Meta(description="Messages a second, of all partitions of which it is known; null: of none"),
    ]
    inflow_over_ms: Annotated[Count, Meta(description="The time that the rate is an average of")]
    partitions: list[TopicPartition]
    readers: Annotated[list[TopicReader], Meta(description="The worst first, then the greatest lag")]


class SnapshotAge(msgspec.Struct, frozen=True):
    """The latest snapshot of a cluster."""

    number: Count
    taken_at: Milliseconds
    age_ms: Count


class ClusterHealth(msgspec.Struct, frozen=True):
    """The state of a cluster's query."""

    cluster: str
    ready: Annotated[bool, Meta(description="There is a snapshot, and the query has caught up")]
    running: bool
    caught_up: Annotated[
        bool, Meta(description="Everything that was in the offsets topic at the start has been read")
    ]
    blind: Annotated[
        bool, Meta(description="The brokers, or some of them, did not respond in the last trigger")
    ]
    seen_at: Annotated[
        Milliseconds,
        Meta(
            description="Groups are evaluated as of this moment: all commits before it are read; 0: none yet"
        ),
    ]
    records: Annotated[Count, Meta(description="Records read since Warren started")]
    records_per_second: Count
    left: Annotated[Count, Meta(description="Records still to be read")]
    read_share: Annotated[Share, Meta(description="Progress of catching up: records / (records + left)")]
    triggers: Count
    trigger_ms: Annotated[Count, Meta(description="Duration of the last trigger")]
    restarts: Count
    error: Annotated[
        str, Meta(description="Why the cluster does not respond or the query failed; else empty")
    ]
    snapshot: SnapshotAge | None
    groups: Annotated[dict[GroupStatusName, Count], Meta(description="Groups by status")]


class ModuleHealth(msgspec.Struct, frozen=True):
    """Messages of one notifier; all but those owed are counted since Warren started."""

    module: str
    owed: Annotated[Count, Meta(description="Decided and not sent yet")]
    sent: Count
    failed: Annotated[Count, Meta(description="Failed after the last attempt")]
    retried: Annotated[Count, Meta(description="Attempts beyond the first")]


class NotifierHealth(msgspec.Struct, frozen=True):
    """Which instance sends, and the messages of each module."""

    state: Annotated[
        Literal["alone", "leading", "following", "disconnected"],
        Meta(
            description="alone: without ZooKeeper; following: another instance sends; disconnected: ZooKeeper does "
            "not respond, so this instance sends nothing"
        ),
    ]
    leader: Annotated[str, Meta(description="The instance that sends; empty: not known")]
    open_incidents: Count
    modules: list[ModuleHealth]


class SinkHealth(msgspec.Struct, frozen=True):
    """How a sink is doing; counts are since Warren started."""

    sink: str
    class_name: str
    running: bool
    behind_samples: Annotated[Count, Meta(description="Samples that are there and not written yet")]
    behind_ms: Annotated[Count, Meta(description="How long ago the oldest of them was taken")]
    dropped_samples: Annotated[
        Count,
        Meta(description="Samples that went before they were written: too old, too many, or a full disk"),
    ]
    samples: Annotated[Count, Meta(description="Samples written")]
    rows: Annotated[Count, Meta(description="Rows written")]
    rejected_rows: Annotated[Count, Meta(description="Rows that the other side will never take")]
    failures: Annotated[Count, Meta(description="Attempts that failed")]
    restarts: Count
    last_sample: Annotated[Count, Meta(description="Number of the last sample that was written; 0: none yet")]
    written_at: Annotated[Milliseconds, Meta(description="When that was; 0: not since Warren started")]
    error: Annotated[str, Meta(description="Why nothing is written; else empty")]


class Health(msgspec.Struct, frozen=True):
    """Whether Warren's answers are reliable now."""

    ready: bool
    version: str
    clusters: list[ClusterHealth]
    notifier: Annotated[NotifierHealth | None, Meta(description="Null: no notifier is configured")]
    sinks: list[SinkHealth]


class Triggers(msgspec.Struct, frozen=True):
    """The last triggers of a cluster, at most 720: two lists of the same length, the oldest first."""

    cluster: str
    times: Annotated[list[Milliseconds], Meta(description="When each began")]
    took_ms: list[Count]


class About(msgspec.Struct, frozen=True):
    """Which Warren this is, and how it is configured."""

    version: str
    python: str
    host: str
    started_at: Milliseconds
    uptime_ms: Count
    source: Annotated[str, Meta(description="The configuration's file, for administrators; else empty")]
    configuration: Annotated[
        dict[str, Any],
        Meta(description="What is set, by section, under the names of the file; secrets are REDACTED"),
    ]
    triggers: list[Triggers]


class Delivery(msgspec.Struct, frozen=True):
    """The last message of a notifier that was sent, or the last that was not."""

    id: str
    incident: str
    cluster: str
    group: str
    kind: Literal["open", "close"]
    status: Annotated[IncidentStatusName, Meta(description="The group's status in the message")]
    state: Annotated[
        Literal["owed", "sent", "failed", "abandoned"], Meta(description="owed: it will be tried again")
    ]
    attempts: Count
    at: Milliseconds
    answer: Annotated[str, Meta(description="The receiver's response, or why the last attempt failed")]


class Notifier(msgspec.Struct, frozen=True):
    """One notifier; all but the messages owed are counted since Warren started."""

    module: str
    class_name: str
    owed: Annotated[Count, Meta(description="Decided and not sent yet")]
    sent: Count
    failed: Annotated[Count, Meta(description="Failed after the last attempt")]
    retried: Annotated[Count, Meta(description="Attempts beyond the first")]
    last_sent: Annotated[Delivery | None, Meta(description="Null: none of the incidents that are kept")]
    last_failure: Annotated[Delivery | None, Meta(description="Null: none of the incidents that are kept")]


class Notifiers(msgspec.Struct, frozen=True):
    """The configured notifiers."""

    notifiers: list[Notifier]


class NotifierTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which sample to send."""

    status: Annotated[GroupStatusName, Meta(description="The sample group's status")] = "WARN"
    kind: Annotated[
        Literal["open", "close"] | None,
        Meta(description="Which message; null: open, and close for status OK"),
    ] = None


class NotifierTried(msgspec.Struct, frozen=True):
    """What happened to the sample."""

    module: str
    sent: bool
    answer: Annotated[str, Meta(description="The receiver's response, or why it was not sent")]
    retriable: Annotated[bool, Meta(description="Whether a message would be tried again")]
    took_ms: Count
    head: Annotated[list[str], Meta(description="Where it was sent and its headers, without secrets")]
    body: str


class Message(msgspec.Struct, frozen=True):
    """One message of one module, and its outcome."""

    id: str
    module: str
    kind: Literal["open", "close"]
    status: Annotated[IncidentStatusName, Meta(description="The group's status in the message")]
    state: Annotated[
        Literal["owed", "sent", "failed", "abandoned"],
        Meta(
            description="owed: not sent yet; abandoned: replaced by a newer one, or its module "
            "is not configured any more"
        ),
    ]
    attempts: Count
    decided_at: Milliseconds
    at: Annotated[Milliseconds, Meta(description="When the state was reached, or the last attempt ended")]
    answer: Annotated[str, Meta(description="The receiver's response when it was sent; else empty")]
    error: Annotated[str, Meta(description="Why the last attempt failed; else empty")]


class GroupHistory(msgspec.Struct, frozen=True):
    """One group over time: four lists of the same length, the oldest first.

    Samples are ten seconds apart in the last ten minutes, before that a minute; where the group or the answers of the
    brokers were missing, there is none.
    """

    cluster: str
    group: str
    since: Milliseconds
    until: Milliseconds
    times: list[Milliseconds]
    status: list[GroupStatusName]
    totallag: list[Count]
    complete: list[Share]


class GroupLags(msgspec.Struct, frozen=True, gc=False):
    """The lags of one group."""

    group: str
    worst: Annotated[GroupStatusName, Meta(description="The worst status in all steps")]
    totallag: Annotated[
        list[Count | None], Meta(description="The greatest lag in each step; null: nothing is known")
    ]


class ClusterHistory(msgspec.Struct, frozen=True):
    """All groups in steps of equal length; of a page, by name."""

    cluster: str
    since: Milliseconds
    until: Milliseconds
    step: Annotated[Count, Meta(description="Milliseconds")]
    times: Annotated[list[Milliseconds], Meta(description="The beginning of each step")]
    total: Annotated[Count, Meta(description="Groups that match, on all pages")]
    offset: Count
    groups: list[GroupLags]


class Incident(msgspec.Struct, frozen=True):
    """One group from the moment it was not OK until it was again; or an unreachable cluster."""

    id: str
    cluster: str
    group: Annotated[str, Meta(description="Empty: the cluster itself is unreachable")]
    start: Milliseconds
    end: Annotated[Milliseconds | None, Meta(description="Null: it is open")]
    ending: Annotated[
        Literal["ok", "gone", "unwatched"] | None,
        Meta(
            description="ok: the group was OK again; gone: it was deleted or has expired; "
            "unwatched: it is not monitored any more, because of a list or because its cluster is not configured"
        ),
    ]
    reason: Annotated[str, Meta(description="Of a cluster: why it is unreachable; else empty")]
    status: Annotated[IncidentStatusName, Meta(description="The group's last status")]
    worst: Annotated[IncidentStatusName, Meta(description="The worst status of the incident")]
    messages: Annotated[
        list[Message], Meta(description="Oldest first; of a long incident the first one and the newest ones")
    ]


class Evidence(msgspec.Struct, frozen=True):
    """A group at one moment of its incident."""

    at: Annotated[Milliseconds, Meta(description="As of which it was evaluated")]
    status: GroupStatusName
    totallag: Count
    complete: Share
    partition_count: Count
    not_ok: Annotated[Count, Meta(description="Partitions that were not OK")]
    partitions: Annotated[
        list[PartitionWindow],
        Meta(
            description="The worst of those, at most 12, with their windows; at the end those that were shown before, "
            "whatever their status"
        ),
    ]


class IncidentEvidence(msgspec.Struct, frozen=True):
    """What an incident looked like; null: not kept."""

    opening: Evidence | None
    worst: Annotated[
        Evidence | None,
        Meta(description="The worst status, and then the greatest lag, within a tenth of it"),
    ]
    end: Annotated[
        Evidence | None, Meta(description="Null also while it is open, and of a group that is gone")
    ]


class IncidentDetail(Incident, frozen=True):
    """One incident with its evidence."""

    evidence: IncidentEvidence


class Incidents(msgspec.Struct, frozen=True):
    """A page of incidents."""

    total: Annotated[Count, Meta(description="Incidents that match, on all pages")]
    offset: Count
    incidents: list[Incident]
