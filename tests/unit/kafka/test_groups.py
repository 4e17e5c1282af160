"""Group records: classic groups, KIP-848 groups, deletions and conversions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.kafka.strategies import Pair, everyone, pairs, raw

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
from warren.kafka.batch import decode
from warren.kafka.groups import topic_id

TOPIC = bytes(range(16))
TOPIC_NAME = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def record(kind: int, value: dict[str, Any] | None, version: int = 0, **key: str) -> Pair:
    """A record of this kind; no value: a deletion."""
    known = messages.KINDS[kind]
    name = codec.encode(known.key, kind, {"group": "g", **key})
    if value is None or known.value is None:
        return name, None if value is None else b"\0\0"
    return name, codec.encode(known.value, version, value)


def assignment(**partitions: list[int]) -> bytes:
    """A classic member's assignment."""
    given = [{"topic": topic, "partitions": those} for topic, those in partitions.items()]
    return codec.encode(messages.ASSIGNMENT, 1, {"assigned_partitions": given, "user_data": b"ab"})


def classic(*members: tuple[str, bytes], protocol_type: str = "consumer", version: int = 4) -> Pair:
    """A classic group of these members and their assignments."""
    value = {
        "protocol_type": protocol_type,
        "members": [
            {"member_id": name, "client_id": f"c-{name}", "client_host": f"/{name}", "assignment": given}
            for name, given in members
        ],
    }
    return record(2, value, version)


def member(name: str, **partitions: tuple[int, ...]) -> ClassicMember:
    """What `classic` makes of a member."""
    return ClassicMember(name, f"c-{name}", f"/{name}", partitions)


def held(*partitions: int) -> list[dict[str, Any]]:
    """Partitions of the one topic."""
    return [{"topic_id": TOPIC, "partitions": list(partitions)}]


# name, records, what they say, what is counted
Case = tuple[str, list[Pair], list[GroupRecord], dict[str, int]]


def classic_versions() -> list[Case]:
    """The same group in every value version."""
    return [
        (
            f"classic group of value version {version}",
            [classic(("a", assignment(t=[0, 2], u=[1])), ("b", b""), version=version)],
            [ClassicGroup("g", 0, "consumer", (member("a", t=(0, 2), u=(1,)), member("b")))],
            {},
        )
        for version in messages.GROUP_VALUE.versions
    ]


CASES: list[Case] = [
    *classic_versions(),
    ("an empty group", [classic()], [ClassicGroup("g", 0, "consumer", ())], {}),
    (
        "Connect's assignments are its own",
        [classic(("a", b"\0\1\0\0connect"), protocol_type="connect")],
        [ClassicGroup("g", 0, "connect", ())],
        {},
    ),
    (
        "a malformed assignment leaves the other members",
        [classic(("a", b"\0\1\xff\xff"), ("b", assignment(t=[1])), ("c", b"\xff\xff"))],
        [ClassicGroup("g", 0, "consumer", (member("a"), member("b", t=(1,)), member("c")))],
        {"unreadable assignment": 2},
    ),
    (
        "an assignment that breaks off gives its whole topics",
        [classic(("a", assignment(t=[1], u=[2, 3])[:-8]))],
        [ClassicGroup("g", 0, "consumer", (member("a", t=(1,)),))],
        {"unreadable assignment": 1},
    ),
    (
        "the newest record of a key is enough",
        [classic(("a", b"")), classic(("b", b"")), classic(("c", b""))],
        [ClassicGroup("g", 2, "consumer", (member("c"),))],
        {"superseded group record": 2},
    ),
    (
        "the newest record that can be read",
        [classic(("a", b"")), classic(("b", b"")), (classic()[0], b"\0\x09")],
        [ClassicGroup("g", 1, "consumer", (member("b"),))],
        {"superseded group record": 1, "value version 9": 1},
    ),
    (
        "a deletion stays when the group comes again",
        [classic(("a", b"")), record(2, None), classic(("b", b"")), classic(("c", b""))],
        [GroupDeleted("g", 1, "classic"), ClassicGroup("g", 3, "consumer", (member("c"),))],
        {"superseded group record": 2},
    ),
    (
        "a KIP-848 group, its member and what the member holds",
        [
            record(3, {"epoch": 4, "metadata_hash": 99}),
            record(5, {"client_id": "c", "client_host": "/h", "subscribed_topics": ["t"]}, member_id="m"),
            record(8, {"assigned": held(0, 1), "revoking": held(5)}, member_id="m"),
        ],
        [
            ConsumerGroup("g", 0, 4),
            ConsumerMember("g", 1, "m", "c", "/h"),
            CurrentAssignment("g", 2, "m", {TOPIC_NAME: (0, 1, 5)}),
        ],
        {},
    ),
    (
        "a KIP-848 group that goes",
        [record(8, None, member_id="m"), record(5, None, member_id="m"), record(3, None)],
        [CurrentAssignment("g", 0, "m", {}), MemberDeleted("g", 1, "m"), GroupDeleted("g", 2, "consumer")],
        {},
    ),
    (
        "a classic group that becomes a KIP-848 group keeps its commits",
        [classic(), record(2, None), record(3, {"epoch": 1})],
        [GroupDeleted("g", 1, "classic", converted=True), ConsumerGroup("g", 2, 1)],
        {"superseded group record": 1},
    ),
    (
        "and back",
        [record(3, {"epoch": 1}), record(3, None), classic()],
        [GroupDeleted("g", 1, "consumer", converted=True), ClassicGroup("g", 2, "consumer", ())],
        {"superseded group record": 1},
    ),
    (
        "a classic group that becomes a streams group",
        [record(2, None), record(17, {})],
        [GroupDeleted("g", 0, "classic", converted=True)],
        {"streams group": 1},
    ),
    (
        "a group that was of the other kind long ago is still gone",
        [record(3, {"epoch": 1}), record(3, None), record(2, None)],
        [GroupDeleted("g", 1, "consumer"), GroupDeleted("g", 2, "classic")],
        {"superseded group record": 1},
    ),
    (
        "another group's record is no conversion",
        [record(2, None), record(3, {"epoch": 1}, group="h")],
        [GroupDeleted("g", 0, "classic"), ConsumerGroup("h", 1, 1)],
        {},
    ),
]


@pytest.mark.parametrize(("records", "found", "skipped"), [e[1:] for e in CASES], ids=[e[0] for e in CASES])
def test_group_records(records: list[Pair], found: list[GroupRecord], skipped: dict[str, int]) -> None:
    decoded = decode(raw(records), everyone)
    assert decoded.groups == found
    assert decoded.skipped == skipped


def test_a_broken_off_record_is_used_as_far_as_it_is_whole() -> None:
    key, value = classic(("a", assignment(t=[0])), ("b", assignment(t=[1])), version=3)
    assert value is not None
    decoded = decode(raw([(key, value[:-3])]), everyone)
    assert decoded.groups == [ClassicGroup("g", 0, "consumer", (member("a", t=(0,)),))]
    assert decoded.skipped == {"group record read in part": 1}


def test_a_topic_id_from_the_halves_a_client_gives() -> None:
    most, least = int.from_bytes(b"\xff" * 8, "big", signed=True), 1
    assert topic_id(most, least) == "ffffffff-ffff-ffff-0000-000000000001"
    assert topic_id(*(int.from_bytes(half, "big") for half in (TOPIC[:8], TOPIC[8:]))) == TOPIC_NAME


def state(records: list[GroupRecord]) -> dict[Any, Any]:
    """Who is there and holds what when all of this has happened."""
    now: dict[Any, Any] = {}
    for each in records:
        match each:
            case ClassicGroup():
                now["classic", each.group] = each.members
            case ConsumerGroup():
                now["consumer", each.group] = each.epoch
            case ConsumerMember():
                now["member", each.group, each.member_id] = each.client_id, each.client_host
            case CurrentAssignment():
                now["holds", each.group, each.member_id] = each.partitions
            case MemberDeleted():
                now.pop(("member", each.group, each.member_id), None)
            case GroupDeleted():
                now.pop((each.kind, each.group), None)
                now["deleted", each.kind, each.group] = each.order
    return {key: value for key, value in now.items() if value != {}}


@settings(max_examples=60, deadline=None)
@given(
    records=st.lists(
        pairs()
        | st.sampled_from([each for _, records, _, _ in CASES for each in records])
        | st.sampled_from([(classic()[0], b"\0\x09"), (record(3, None)[0], b"\0")]),
        max_size=25,
    )
)
def test_a_batch_says_what_its_records_say_one_after_the_other(records: list[Pair]) -> None:
    alone = [
        each
        for order, record_ in enumerate(records)
        for each in decode(raw([record_], order=[order]), everyone).groups
    ]
    assert state(decode(raw(records), everyone).groups) == state(alone)


def test_records_travel_as_messagepack() -> None:
    everything = [each for _, _, found, _ in CASES for each in found]
    packed = msgspec.msgpack.encode(everything)
    assert msgspec.msgpack.decode(packed, type=list[GroupRecord]) == everything
