"""Schemas of the records in the offsets topic; Kafka's `group-coordinator` definitions are the reference."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from warren.kafka.schema import BYTES, INT8, INT32, INT64, STRING, UUID, Array, Field, Schema, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

# Keys. The int16 at the start of a key is the kind of the record; Kafka calls it version or record type.

COMMIT_KEY: Final = Schema(
    "OffsetCommitKey",
    first=0,
    last=1,
    fields=(Field("group", STRING), Field("topic", STRING), Field("partition", INT32)),
)


def _group_key(name: str, version: int, *more: str) -> Schema:
    fields = (Field("group", STRING), *(Field(each, STRING) for each in more))
    return Schema(name, first=version, last=version, fields=fields)


GROUP_KEY: Final = _group_key("GroupMetadataKey", 2)
CONSUMER_GROUP_KEY: Final = _group_key("ConsumerGroupMetadataKey", 3)
CONSUMER_MEMBER_KEY: Final = _group_key("ConsumerGroupMemberMetadataKey", 5, "member_id")
CURRENT_ASSIGNMENT_KEY: Final = _group_key("ConsumerGroupCurrentMemberAssignmentKey", 8, "member_id")

# Values.

COMMIT_VALUE: Final = Schema(
    "OffsetCommitValue",
    first=0,
    last=4,
    flexible_since=4,
    fields=(
        Field("offset", INT64),
        Field("leader_epoch", INT32, since=3),
        Field("metadata", STRING),
        Field("timestamp", INT64),
        Field("expire_timestamp", INT64, since=1, until=1),
        Field("topic_id", UUID, since=4, tag=0, default=bytes(16)),
    ),
)

GROUP_VALUE: Final = Schema(
    "GroupMetadataValue",
    first=0,
    last=4,
    flexible_since=4,
    fields=(
        Field("protocol_type", STRING),
        Field("generation", INT32),
        Field("protocol", STRING, nullable_since=0),
        Field("leader", STRING, nullable_since=0),
        Field("state_timestamp", INT64, since=2),
        Field(
            "members",
            Array(
                Struct(
                    (
                        Field("member_id", STRING),
                        Field("instance_id", STRING, since=3, nullable_since=3),
                        Field("client_id", STRING),
                        Field("client_host", STRING),
                        Field("rebalance_timeout", INT32, since=1),
                        Field("session_timeout", INT32),
                        Field("subscription", BYTES),
                        Field("assignment", BYTES),
                    )
                )
            ),
        ),
    ),
)

# What a classic member's `assignment` holds when the group's protocol type is "consumer".
ASSIGNMENT: Final = Schema(
    "ConsumerProtocolAssignment",
    first=0,
    last=2,
    open_ended=True,
    fields=(
        Field(
            "assigned_partitions",
            Array(Struct((Field("topic", STRING), Field("partitions", Array(INT32))))),
        ),
        Field("user_data", BYTES, nullable_since=0),
    ),
)

CONSUMER_GROUP_VALUE: Final = Schema(
    "ConsumerGroupMetadataValue",
    first=0,
    last=0,
    flexible_since=0,
    fields=(
        Field("epoch", INT32),
        Field("metadata_hash", INT64, tag=0, default=0),
        Field("creation_time", INT64, tag=1, default=-1),
    ),
)

CONSUMER_MEMBER_VALUE: Final = Schema(
    "ConsumerGroupMemberMetadataValue",
    first=0,
    last=0,
    flexible_since=0,
    fields=(
        Field("instance_id", STRING, nullable_since=0),
        Field("rack_id", STRING, nullable_since=0),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("subscribed_topics", Array(STRING)),
        Field("subscribed_regex", STRING, nullable_since=0),
        Field("rebalance_timeout", INT32),
        Field("server_assignor", STRING, nullable_since=0),
        Field(
            "classic_member",
            Struct(
                (
                    Field("session_timeout", INT32),
                    Field(
                        "supported_protocols",
                        Array(Struct((Field("name", STRING), Field("metadata", BYTES)))),
                    ),
                )
            ),
            nullable_since=0,
            tag=0,
            default={"session_timeout": 0, "supported_protocols": []},
        ),
    ),
)

_TOPIC_PARTITIONS: Final = Array(
    Struct(
        (
            Field("topic_id", UUID),
            Field("partitions", Array(INT32)),
            Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0),
        )
    )
)

CURRENT_ASSIGNMENT_VALUE: Final = Schema(
    "ConsumerGroupCurrentMemberAssignmentValue",
    first=0,
    last=0,
    flexible_since=0,
    fields=(
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("assigned", _TOPIC_PARTITIONS),
        Field("revoking", _TOPIC_PARTITIONS),
    ),
)


@dataclass(frozen=True, slots=True)
class RecordKind:
    """One kind of record: how its key and value are read, or the reason under which it is counted as skipped."""

    key: Schema
    value: Schema | None = None
    skipped_as: str | None = None


def _skipped(name: str, version: int, label: str, *more: str) -> RecordKind:
    return RecordKind(_group_key(name, version, *more), skipped_as=label)


# Not needed: owners come from the group itself, its members and their current assignments.
_UNUSED: Final = "consumer group, not needed"
_SHARE: Final = "share group"
_STREAMS: Final = "streams group"

# the int16 at the start of the key: the kind of record
KINDS: Final[Mapping[int, RecordKind]] = MappingProxyType(
    {
        0: RecordKind(COMMIT_KEY, COMMIT_VALUE),
        1: RecordKind(COMMIT_KEY, COMMIT_VALUE),
        2: RecordKind(GROUP_KEY, GROUP_VALUE),
        3: RecordKind(CONSUMER_GROUP_KEY, CONSUMER_GROUP_VALUE),
        4: _skipped("ConsumerGroupPartitionMetadataKey", 4, _UNUSED),
        5: RecordKind(CONSUMER_MEMBER_KEY, CONSUMER_MEMBER_VALUE),
        6: _skipped("ConsumerGroupTargetAssignmentMetadataKey", 6, _UNUSED),
        7: _skipped("ConsumerGroupTargetAssignmentMemberKey", 7, _UNUSED, "member_id"),
        8: RecordKind(CURRENT_ASSIGNMENT_KEY, CURRENT_ASSIGNMENT_VALUE),
        9: _skipped("ShareGroupPartitionMetadataKey", 9, _SHARE),
        10: _skipped("ShareGroupMemberMetadataKey", 10, _SHARE, "member_id"),
        11: _skipped("ShareGroupMetadataKey", 11, _SHARE),
        12: _skipped("ShareGroupTargetAssignmentMetadataKey", 12, _SHARE),
        13: _skipped("ShareGroupTargetAssignmentMemberKey", 13, _SHARE, "member_id"),
        14: _skipped("ShareGroupCurrentMemberAssignmentKey", 14, _SHARE, "member_id"),
        15: _skipped("ShareGroupStatePartitionMetadataKey", 15, _SHARE),
        16: _skipped("ConsumerGroupRegularExpressionKey", 16, _UNUSED, "regular_expression"),
        17: _skipped("StreamsGroupMetadataKey", 17, _STREAMS),
        18: _skipped("StreamsGroupPartitionMetadataKey", 18, _STREAMS),
        19: _skipped("StreamsGroupMemberMetadataKey", 19, _STREAMS, "member_id"),
        20: _skipped("StreamsGroupTargetAssignmentMetadataKey", 20, _STREAMS),
        21: _skipped("StreamsGroupTargetAssignmentMemberKey", 21, _STREAMS, "member_id"),
        22: _skipped("StreamsGroupCurrentMemberAssignmentKey", 22, _STREAMS, "member_id"),
        23: _skipped("StreamsGroupTopologyKey", 23, _STREAMS),
        24: _skipped("StreamsGroupTargetAssignmentResolvedTopicIdsKey", 24, _STREAMS),
    }
)
