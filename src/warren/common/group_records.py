"""Records of the offsets topic about groups: who is in a group, what each member holds, and what is gone."""

from __future__ import annotations

import msgspec


class ClassicMember(msgspec.Struct, frozen=True):
    """A member of a classic group and the partitions it was given."""

    member_id: str
    client_id: str
    client_host: str
    # topic: partitions
    assignment: dict[str, tuple[int, ...]]


class ClassicGroup(msgspec.Struct, frozen=True, tag=True):
    """All of a classic group at once: who is not in it any more holds nothing."""

    group: str
    order: int
    protocol_type: str
    # empty for an empty group, and for protocol types other than "consumer"
    members: tuple[ClassicMember, ...]


class ConsumerGroup(msgspec.Struct, frozen=True, tag=True):
    """A group of the newer protocol (KIP-848) is there."""

    group: str
    order: int
    epoch: int


class ConsumerMember(msgspec.Struct, frozen=True, tag=True):
    """A member of a KIP-848 group."""

    group: str
    order: int
    member_id: str
    client_id: str
    client_host: str


class CurrentAssignment(msgspec.Struct, frozen=True, tag=True):
    """What a member of a KIP-848 group holds now: given and not yet given back. Empty: nothing."""

    group: str
    order: int
    member_id: str
    # topic id (as `topic_id` writes it): partitions
    partitions: dict[str, tuple[int, ...]]


class GroupDeleted(msgspec.Struct, frozen=True, tag=True):
    """The group is gone; or `converted`: it goes on in another protocol with its commits, not its owners."""

    group: str
    order: int
    kind: str
    converted: bool = False


class MemberDeleted(msgspec.Struct, frozen=True, tag=True):
    """A member of a KIP-848 group is gone and holds nothing."""

    group: str
    order: int
    member_id: str


class PolledMember(msgspec.Struct, frozen=True):
    """An owner that a polled consumer has found."""

    owner: str
    client_id: str
    # topic: partitions
    partitions: dict[str, tuple[int, ...]]


class PolledOwners(msgspec.Struct, frozen=True, tag=True):
    """All owners of a group's partitions that a polled consumer has found; Kafka's own members stay."""

    group: str
    order: int
    consumer: str
    members: tuple[PolledMember, ...]


GroupRecord = (
    ClassicGroup
    | ConsumerGroup
    | ConsumerMember
    | CurrentAssignment
    | GroupDeleted
    | MemberDeleted
    | PolledOwners
)
