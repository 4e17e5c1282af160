"""Messages to bytes and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.kafka.strategies import SCHEMAS, VERSIONS, fields, message

from warren.errors import WarrenError
from warren.kafka import codec, messages
from warren.kafka.schema import Fault, Schema

KAFKA = Path(__file__).parents[2] / "data" / "records" / "kafka-4.1.1.jsonl"
TOPIC_ID = bytes.fromhex("0123456789abcdeffedcba9876543210")

BY_NAME = {schema.name: schema for schema in SCHEMAS} | {"LegacyOffsetCommitKey": messages.COMMIT_KEY}

ASSIGNMENT = bytes.fromhex("0001000000020001740000000200000000000000020001750000000100000001000000020102")


def member(version: int, number: int, instance: str | None, subscription: bytes, assignment: bytes) -> Any:
    """A member of the classic group that Kafka wrote."""
    return {
        "member_id": f"m-{number}",
        **({"instance_id": instance} if version >= 3 else {}),
        "client_id": f"client-{number}",
        "client_host": f"/10.0.0.{number}",
        **({"rebalance_timeout": 60000} if version >= 1 else {}),
        "session_timeout": 10000,
        "subscription": subscription,
        "assignment": assignment,
    }


# (message, version, case if several): the fields that Kafka's own classes were given
WRITTEN: dict[tuple[str | int, ...], dict[str, Any]] = {
    ("LegacyOffsetCommitKey", 0): {"group": "g", "topic": "t", "partition": 7},
    ("OffsetCommitKey", 1): {"group": "grün", "topic": "t", "partition": 7},
    ("GroupMetadataKey", 2): {"group": "g"},
    ("ConsumerGroupMetadataKey", 3): {"group": "g"},
    ("ConsumerGroupMemberMetadataKey", 5): {"group": "g", "member_id": "m-1"},
    ("ConsumerGroupTargetAssignmentMemberKey", 7): {"group": "g", "member_id": "m-1"},
    ("ConsumerGroupCurrentMemberAssignmentKey", 8): {"group": "g", "member_id": "m-1"},
    ("ShareGroupMemberMetadataKey", 10): {"group": "g", "member_id": "m-1"},
    ("ShareGroupStatePartitionMetadataKey", 15): {"group": "g"},
    ("ConsumerGroupRegularExpressionKey", 16): {"group": "g", "regular_expression": "a.*"},
    ("StreamsGroupMetadataKey", 17): {"group": "g"},
    ("StreamsGroupTopologyKey", 23): {"group": "g"},
    **{
        ("OffsetCommitValue", version): {
            "offset": 123456789012,
            **({"leader_epoch": 5} if version >= 3 else {}),
            "metadata": "x" * 200,
            "timestamp": 1794729999370,
            **({"expire_timestamp": 1794730000370} if version == 1 else {}),
            **({"topic_id": TOPIC_ID} if version == 4 else {}),
        }
        for version in range(5)
    },
    **{
        ("ConsumerProtocolAssignment", version): {
            "assigned_partitions": [
                {"topic": "t", "partitions": [0, 2]},
                {"topic": "u", "partitions": [1]},
            ],
            "user_data": b"\x01\x02",
        }
        for version in range(3)
    },
    **{
        ("GroupMetadataValue", version): {
            "protocol_type": "consumer",
            "generation": 3,
            "protocol": "range",
            "leader": "m-1",
            **({"state_timestamp": 1794729999370} if version >= 2 else {}),
            "members": [
                member(version, 1, "inst", b"\x00\x01", ASSIGNMENT),
                member(version, 2, None, b"", b""),
            ],
        }
        for version in range(5)
    },
    ("ConsumerGroupMetadataValue", 0): {"epoch": 9, "metadata_hash": 77, "creation_time": -1},
    ("ConsumerGroupMemberMetadataValue", 0): {
        "instance_id": None,
        "rack_id": "r1",
        "client_id": "client-1",
        "client_host": "/10.0.0.1",
        "subscribed_topics": ["t", "u"],
        "subscribed_regex": None,
        "rebalance_timeout": 300000,
        "server_assignor": "uniform",
        "classic_member": {
            "session_timeout": 0,
            "supported_protocols": [{"name": "range", "metadata": b"\x04\x05"}],
        },
    },
    ("ConsumerGroupMemberMetadataValue", 0, "no classic member"): {
        "instance_id": "",
        "rack_id": "",
        "client_id": "cl-consumer",
        "client_host": "/127.0.0.1",
        "subscribed_topics": ["t"],
        "subscribed_regex": "",
        "rebalance_timeout": 300000,
        "server_assignor": None,
        "classic_member": None,
    },
    ("ConsumerGroupCurrentMemberAssignmentValue", 0): {
        "member_epoch": 9,
        "previous_member_epoch": 8,
        "state": 1,
        "assigned": [{"topic_id": TOPIC_ID, "partitions": [0, 1], "assignment_epochs": None}],
        "revoking": [{"topic_id": TOPIC_ID, "partitions": [2], "assignment_epochs": None}],
    },
}


def kafka_wrote() -> list[Any]:
    """Bytes that the classes of Kafka 4.1.1 wrote, one message a line."""
    cases = []
    for each in map(json.loads, KAFKA.read_text().splitlines()):
        written = tuple(each[what] for what in ("message", "version", "case") if what in each)
        cases.append(
            pytest.param(written, bytes.fromhex(each["bytes"]), id="-".join(str(part) for part in written))
        )
    return cases


@pytest.mark.parametrize(("written", "data"), kafka_wrote())
def test_bytes_of_kafkas_own_classes(written: tuple[Any, ...], data: bytes) -> None:
    name, version = written[:2]
    read = codec.decode(BY_NAME[name], data)
    assert (read.version, read.fault, read.fields) == (version, None, WRITTEN[written])
    assert codec.encode(BY_NAME[name], version, read.fields) == data


@pytest.mark.parametrize(
    ("schema", "version"), VERSIONS, ids=[f"{schema.name}-{version}" for schema, version in VERSIONS]
)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_decode_of_encode_is_the_identity(schema: Schema, version: int, data: st.DataObject) -> None:
    given_fields = data.draw(fields(schema, version))
    wire = codec.encode(schema, version, given_fields)
    read = codec.decode(schema, wire)
    assert (read.version, read.fault, read.fields) == (version, None, given_fields)
    # what follows a whole message changes nothing
    assert codec.decode(schema, wire + b"zz") == read


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_cut_of_a_message_is_told_and_never_invents(schema: Schema, data: st.DataObject) -> None:
    wire = data.draw(message(schema))
    whole = codec.decode(schema, wire)
    for length in range(len(wire)):
        read = codec.decode(schema, wire[:length])
        assert read.fault is Fault.TRUNCATED
        for name, value in read.fields.items():
            if isinstance(value, list):
                assert value == whole.fields[name][: len(value)]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
@settings(max_examples=50, deadline=None)
@given(version=st.integers(0, 25), noise=st.binary(max_size=60))
def test_any_bytes_are_safe(schema: Schema, version: int, noise: bytes) -> None:
    codec.decode(schema, version.to_bytes(2, "big") + noise)
    codec.decode(schema, noise)


FAULTS = [
    ("no version", messages.COMMIT_VALUE, "", Fault.TRUNCATED),
    ("half a version", messages.COMMIT_VALUE, "00", Fault.TRUNCATED),
    ("group longer than the key", messages.GROUP_KEY, "0002000561", Fault.TRUNCATED),
    ("length of -2", messages.GROUP_KEY, "0002fffe61", Fault.NEGATIVE_LENGTH),
    ("two billion members", messages.GROUP_VALUE, "0000000000000000ffffffff7fffffff", Fault.TRUNCATED),
    (
        "two billion tagged fields",
        messages.CONSUMER_GROUP_VALUE,
        "000000000005feffffff07",
        Fault.TRUNCATED,
    ),
    ("varint of six bytes", messages.CONSUMER_GROUP_VALUE, "000000000005ffffffffff01", Fault.BAD_VARINT),
    ("varint of 33 bits", messages.CONSUMER_GROUP_VALUE, "000000000005ffffffff1f", Fault.BAD_VARINT),
    ("tagged field beyond the end", messages.CONSUMER_GROUP_VALUE, "000000000005010008", Fault.TRUNCATED),
]


@pytest.mark.parametrize(
    ("schema", "data", "fault"), [each[1:] for each in FAULTS], ids=[e[0] for e in FAULTS]
)
def test_faults(schema: Schema, data: str, fault: Fault) -> None:
    assert codec.decode(schema, bytes.fromhex(data)).fault is fault


def test_a_broken_array_keeps_its_whole_items() -> None:
    wire = codec.encode(messages.ASSIGNMENT, 0, WRITTEN["ConsumerProtocolAssignment", 0])
    read = codec.decode(messages.ASSIGNMENT, wire[:-10])
    assert read.fields == {"assigned_partitions": [{"topic": "t", "partitions": [0, 2]}]}


def test_null_where_none_is_known_reads_as_empty() -> None:
    assert codec.decode(messages.GROUP_KEY, bytes.fromhex("0002ffff")).fields == {"group": ""}


def test_unknown_tagged_fields_are_let_be() -> None:
    # tag 9 with two bytes between the known tags 0 and 1
    data = bytes.fromhex("000000000005030008000000000000004d0902aaaa01080000000000000007")
    assert codec.decode(messages.CONSUMER_GROUP_VALUE, data).fields == {
        "epoch": 5,
        "metadata_hash": 77,
        "creation_time": 7,
    }


def test_names_that_are_not_utf8_are_replaced() -> None:
    assert codec.decode(messages.GROUP_KEY, b"\0\2\0\2a\xff").fields == {"group": "a�"}


def test_unknown_versions_are_told_apart_from_faults() -> None:
    assert not codec.decode(messages.COMMIT_VALUE, b"\0\5").known
    assert not codec.decode(messages.ASSIGNMENT, b"\xff\xff").known
    with pytest.raises(WarrenError, match="no version 5"):
        codec.encode(messages.COMMIT_VALUE, 5, {})


def test_a_newer_assignment_is_read_as_the_newest_known() -> None:
    body = WRITTEN["ConsumerProtocolAssignment", 2]
    assert codec.decode(messages.ASSIGNMENT, codec.encode(messages.ASSIGNMENT, 7, body)).fields == body
