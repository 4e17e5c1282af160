"""Owners of partitions, from the group records: pure, for all groups of one bucket."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

import msgspec

from warren.common.group_records import (
    ClassicGroup,
    ConsumerGroup,
    ConsumerMember,
    CurrentAssignment,
    GroupDeleted,
    GroupRecord,
    MemberDeleted,
    PolledOwners,
)
from warren.common.owner import Owner

# orders of deleted groups and members are kept, since older records may still come: this many at most, for a day
_REMEMBERED: Final = 10_000
_REMEMBERED_MS: Final = 86_400_000
# ends the consumer's label in the id of a member that a poll has found; Kafka's ids have none
_NUL: Final = "\0"


class Member(msgspec.Struct, array_like=True):
    """A member as far as it is known; with the newer protocol it comes in two records."""

    client_id: str = ""
    client_host: str = ""
    # topic name or id: partitions
    held: dict[str, tuple[int, ...]] = {}


class GroupOwners(msgspec.Struct, array_like=True):
    """One group's members, and the order of the newest record of each kind."""

    # member id: member
    members: dict[str, Member] = {}
    # "group", "member ID", "holds ID", "polled LABEL", or "over" (records of members up to this order are obsolete):
    # order
    newest: dict[str, int] = {}
    # when the last record came
    seen_ms: int = 0

    def owners(self) -> list[Owner]:
        """The owned partitions."""
        return [
            Owner(topic, partition, member.client_host, member.client_id)
            for member in self.members.values()
            for topic, partitions in member.held.items()
            for partition in partitions
        ]


class GroupOwnership:
    """The owners of every group of a bucket."""

    def __init__(self, groups: dict[str, GroupOwners] | None = None) -> None:
        # group: its owners
        self.groups = groups or {}

    def see(self, records: Iterable[GroupRecord], now_ms: int) -> set[str]:
        """Apply records; returns their groups."""
        seen = set()
        for record in records:
            group = self.groups.setdefault(record.group, GroupOwners())
            if _is_news(group, record):
                _take(group, record)
            if len(group.newest) > _REMEMBERED:
                kept = sorted(group.newest.items(), key=lambda item: item[1])[_REMEMBERED // 2 :]
                group.newest = dict(kept)
            group.seen_ms = now_ms
            seen.add(record.group)
        self._forget_idle(now_ms)
        return seen

    def _forget_idle(self, now_ms: int) -> None:
        """Groups without members are kept for their orders; the oldest, and those beyond the limit, are dropped."""
        idle = []
        for name, group in list(self.groups.items()):
            if not group.members and group.seen_ms < now_ms - _REMEMBERED_MS:
                del self.groups[name]
            elif not group.members:
                idle.append(name)
        if len(idle) > _REMEMBERED:
            idle.sort(key=lambda name: max(self.groups[name].newest.values(), default=-1))
            for name in idle[: -_REMEMBERED // 2]:
                del self.groups[name]

    def forget(self, groups: Iterable[str]) -> set[str]:
        """Drop these groups; returns those that were there."""
        return {group for group in groups if self.groups.pop(group, None) is not None}

    def forget_polled(self, consumers: Collection[str]) -> set[str]:
        """Drop owners that polled consumers other than these have found; returns the groups."""
        return self._forget_found(lambda consumer, _: consumer not in consumers)

    def keep_listed(self, consumer: str, groups: Collection[str]) -> set[str]:
        """Drop owners that a polled consumer has found in other groups than these; returns the groups."""
        return self._forget_found(lambda finder, group: finder == consumer and group not in groups)

    def _forget_found(self, is_gone: Callable[[str, str], bool]) -> set[str]:
        """Drop owners that were polled, by their consumer and group; returns the groups."""
        seen = set()
        for name, group in self.groups.items():
            gone = [each for each in group.members if _NUL in each and is_gone(each.partition(_NUL)[0], name)]
            for each in gone:
                del group.members[each]
                seen.add(name)
        return seen

    def save(self) -> bytes:
        """The owners as bytes."""
        return msgspec.msgpack.encode(self.groups)

    @classmethod
    def load(cls, payload: bytes) -> GroupOwnership:
        return cls(msgspec.msgpack.decode(payload, type=dict[str, GroupOwners]))

    def report(self, groups: Iterable[str]) -> bytes:
        """For the driver: group: its owners; empty for a group that has none any more."""
        found = {name: self.groups[name].owners() if name in self.groups else [] for name in groups}
        return msgspec.msgpack.encode(found)


def _subject(record: GroupRecord) -> str:
    match record:
        case ConsumerMember() | MemberDeleted():
            return f"member {record.member_id}"
        case CurrentAssignment():
            return f"holds {record.member_id}"
        case PolledOwners():
            return f"polled {record.consumer}"
        case _:
            return "group"


def _is_news(group: GroupOwners, record: GroupRecord) -> bool:
    """Records can come out of order when history is read after the present: the higher order wins."""
    subject = _subject(record)
    if record.order <= group.newest.get(subject, -1):
        return False
    # records of members from before the group was deleted or rebalanced are obsolete
    if (
        not isinstance(record, PolledOwners)
        and subject != "group"
        and record.order <= group.newest.get("over", -1)
    ):
        return False
    group.newest[subject] = record.order
    return True


def _take(group: GroupOwners, record: GroupRecord) -> None:
    match record:
        case ClassicGroup():
            group.members = _polled(group) | {
                each.member_id: Member(each.client_id, each.client_host, each.assignment)
                for each in record.members
            }
            group.newest["over"] = record.order
        case ConsumerMember():
            member = group.members.setdefault(record.member_id, Member())
            member.client_id, member.client_host = record.client_id, record.client_host
        case CurrentAssignment():
            if record.partitions or record.member_id in group.members:
                group.members.setdefault(record.member_id, Member()).held = record.partitions
        case MemberDeleted():
            group.members.pop(record.member_id, None)
        case GroupDeleted():
            group.members = _polled(group)
            polled = {
                subject: order for subject, order in group.newest.items() if subject.startswith("polled ")
            }
            group.newest = polled | {"group": record.order, "over": record.order}
        case PolledOwners():
            own = f"{record.consumer}{_NUL}"
            others = {key: each for key, each in group.members.items() if not key.startswith(own)}
            group.members = others | {
                f"{own}{each.client_id}{_NUL}{each.owner}": Member(
                    each.client_id, each.owner, each.partitions
                )
                for each in record.members
            }
        case ConsumerGroup():
            pass


def _polled(group: GroupOwners) -> dict[str, Member]:
    """The members that polls have found: Kafka's records do not describe them."""
    return {key: each for key, each in group.members.items() if _NUL in key}
