"""The offsets topic of a real broker: group `up` goes from classic to KIP-848 and is deleted, `down` goes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.kafka.strategies import Pair, everyone, raw

from warren.common.group_records import (
    ClassicGroup,
    ConsumerMember,
    CurrentAssignment,
    GroupDeleted,
    MemberDeleted,
)
from warren.kafka.batch import Decoded, decode

LOG = Path(__file__).parents[2] / "data" / "records" / "conversions.jsonl"
LINES = [json.loads(line) for line in LOG.read_text().splitlines()]
TOPIC_ID = LINES[0]["topic_ids"]["t"]


def records(group: str) -> list[Pair]:
    """The records of a group, in order; its name stands right behind the length in every key."""
    return [
        (key, None if each["value"] is None else bytes.fromhex(each["value"]))
        for each in LINES[1:]
        if (key := bytes.fromhex(each["key"]))[4 : 4 + len(group)] == group.encode()
    ]


def one_by_one(group: str) -> list[Decoded]:
    """Each record as a batch of its own."""
    return [decode(raw([each], order=[order]), everyone) for order, each in enumerate(records(group))]


@pytest.mark.parametrize("group", ["up", "down"])
def test_a_real_log_has_no_faults(group: str) -> None:
    together = decode(raw(records(group)), everyone)
    assert together.skipped.keys() == {"consumer group, not needed", "superseded group record"}
    assert {reason for each in one_by_one(group) for reason in each.skipped} == {"consumer group, not needed"}


@pytest.mark.parametrize("group", ["up", "down"])
def test_owners_of_a_newer_group(group: str) -> None:
    found = [each for decoded in one_by_one(group) for each in decoded.groups]
    (member,) = [each for each in found if isinstance(each, ConsumerMember)]
    assert (member.client_id, member.client_host) == ("cl-consumer", "/127.0.0.1")
    held = [each for each in found if isinstance(each, CurrentAssignment)]
    assert {each.member_id for each in held} == {member.member_id}
    assert [each.partitions for each in held] == [{TOPIC_ID: (0, 1, 2)}, {}]
    assert [each.member_id for each in found if isinstance(each, MemberDeleted)] == [member.member_id]


@pytest.mark.parametrize("group", ["up", "down"])
def test_owners_of_the_classic_group(group: str) -> None:
    found = [each for decoded in one_by_one(group) for each in decoded.groups]
    held = [
        (member.client_id, member.client_host, member.assignment)
        for each in found
        if isinstance(each, ClassicGroup)
        for member in each.members
    ]
    assert held == [("cl-classic", "/127.0.0.1", {"t": (0, 1, 2)})]


def test_a_conversion_is_told_from_a_deletion() -> None:
    def deletions(group: str) -> list[tuple[str, bool]]:
        found = decode(raw(records(group)), everyone).groups
        return [(each.kind, each.converted) for each in found if isinstance(each, GroupDeleted)]

    assert deletions("up") == [("classic", True), ("consumer", False)]
    assert deletions("down") == [("consumer", True)]


def test_a_deleted_group_has_its_commits_deleted_one_by_one() -> None:
    commits = decode(raw(records("up")), everyone).commits
    assert commits.offset[~commits.deleted].tolist() == [5, 6, 7, 5, 6, 7]
    assert sorted(commits.key[commits.deleted].tolist()) == [0, 1, 2]
    assert not decode(raw(records("down")), everyone).commits.deleted.any()
