"""Decodes group records: who is in a group and what each member holds, and that a group or a member is gone."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from warren.common.group_records import (
    ClassicGroup,
    ClassicMember,
    ConsumerGroup,
    ConsumerMember,
    CurrentAssignment,
    GroupDeleted,
    GroupRecord,
    MemberDeleted,
)
from warren.kafka import codec, messages

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"

# the protocol type whose assignments are in the consumer protocol; Connect's and others' are their own
_CONSUMER_PROTOCOL: Final = "consumer"

# faults after which the rest of a record is still used
UNREADABLE_ASSIGNMENT: Final = "unreadable assignment"
READ_IN_PART: Final = "group record read in part"

# field name: value
_Fields = dict[str, Any]
# topic name or id: partitions
_Partitions = dict[str, tuple[int, ...]]


def topic_id(most: int, least: int) -> str:
    """A topic id from the two signed halves in which Kafka clients give it."""
    mask = (1 << 64) - 1
    return str(uuid.UUID(int=(most & mask) << 64 | least & mask))


def deleted(kind: int, key: _Fields, order: int) -> GroupRecord:
    """The record for a null value under a key of this kind."""
    group = key["group"]
    if kind == messages.GROUP_KEY.first:
        return GroupDeleted(group, order, CLASSIC)
    if kind == messages.CONSUMER_GROUP_KEY.first:
        return GroupDeleted(group, order, CONSUMER)
    if kind == messages.CONSUMER_MEMBER_KEY.first:
        return MemberDeleted(group, order, key["member_id"])
    return CurrentAssignment(group, order, key["member_id"], {})


def read(kind: int, key: _Fields, value: bytes, order: int, skipped: Counter[str]) -> GroupRecord | None:
    """The record for a value; of a truncated one the complete members are used. None: counted, not usable."""
    schema = messages.KINDS[kind].value
    if schema is None:
        return None
    message = codec.decode(schema, value)
    if not message.known:
        skipped[f"value version {message.version}"] += 1
        return None
    record = _READERS[kind](key, message.fields, order, skipped)
    if message.fault is not None:
        skipped[f"{message.fault} value" if record is None else READ_IN_PART] += 1
    return record


def _classic_group(key: _Fields, value: _Fields, order: int, skipped: Counter[str]) -> ClassicGroup | None:
    if "members" not in value:
        return None
    members = value["members"] if value["protocol_type"] == _CONSUMER_PROTOCOL else []
    return ClassicGroup(
        key["group"],
        order,
        value["protocol_type"],
        tuple(
            ClassicMember(
                each["member_id"],
                each["client_id"],
                each["client_host"],
                _assignment(each["assignment"], skipped),
            )
            for each in members
        ),
    )


def _assignment(data: bytes, skipped: Counter[str]) -> _Partitions:
    # a member without partitions has no bytes either
    if not data:
        return {}
    message = codec.decode(messages.ASSIGNMENT, data)
    if message.fault is not None or not message.known:
        skipped[UNREADABLE_ASSIGNMENT] += 1
    given = message.fields.get("assigned_partitions", [])
    return _merged((each["topic"], each["partitions"]) for each in given)


def _consumer_group(key: _Fields, value: _Fields, order: int, _: Counter[str]) -> ConsumerGroup | None:
    return ConsumerGroup(key["group"], order, value["epoch"]) if "epoch" in value else None


def _consumer_member(key: _Fields, value: _Fields, order: int, _: Counter[str]) -> ConsumerMember | None:
    if "client_host" not in value:
        return None
    return ConsumerMember(key["group"], order, key["member_id"], value["client_id"], value["client_host"])


def _current_assignment(
    key: _Fields, value: _Fields, order: int, _: Counter[str]
) -> CurrentAssignment | None:
    if "assigned" not in value:
        return None
    # a partition to be revoked is the member's until it confirms the revocation
    held = [*value["assigned"], *value.get("revoking", [])]
    partitions = _merged((str(uuid.UUID(bytes=each["topic_id"])), each["partitions"]) for each in held)
    return CurrentAssignment(key["group"], order, key["member_id"], partitions)


def _merged(parts: Iterable[tuple[str, list[int]]]) -> _Partitions:
    merged: dict[str, list[int]] = {}
    for topic, partitions in parts:
        merged.setdefault(topic, []).extend(partitions)
    return {topic: tuple(partitions) for topic, partitions in merged.items()}


_READERS: Final[dict[int, Callable[[_Fields, _Fields, int, Counter[str]], GroupRecord | None]]] = {
    messages.GROUP_KEY.first: _classic_group,
    messages.CONSUMER_GROUP_KEY.first: _consumer_group,
    messages.CONSUMER_MEMBER_KEY.first: _consumer_member,
    messages.CURRENT_ASSIGNMENT_KEY.first: _current_assignment,
}
