"""Owners: who has which partition, from the records of either group protocol."""

from __future__ import annotations

import pytest

from warren.common.group_records import (
    ClassicGroup,
    ClassicMember,
    ConsumerGroup,
    ConsumerMember,
    CurrentAssignment,
    GroupDeleted,
    GroupRecord,
    MemberDeleted,
    PolledMember,
    PolledOwners,
)
from warren.common.owner import Owner, read_report
from warren.kafka.groups import CLASSIC, CONSUMER
from warren.storage.owners import GroupOwnership

NOW = 1_700_000_000_000
ALICE = ClassicMember("m-1", "client-1", "/10.0.0.1", {"orders": (0, 1)})
BOB = ClassicMember("m-2", "client-2", "/10.0.0.2", {"orders": (2,)})


def classic(order: int, *members: ClassicMember) -> ClassicGroup:
    return ClassicGroup("g", order, "consumer", members)


def owners(*records: GroupRecord, group: str = "g") -> set[tuple[str, int, str, str]]:
    book = GroupOwnership()
    # one batch each: what is in between must not matter
    for record in records:
        book = GroupOwnership.load(_again(book, record))
    held = book.groups.get(group)
    return (
        {(each.topic, each.partition, each.owner, each.client_id) for each in held.owners()}
        if held
        else set()
    )


def _again(book: GroupOwnership, record: GroupRecord) -> bytes:
    book.see([record], NOW)
    return book.save()


MEMBER = ConsumerMember("g", 10, "m-1", "client-1", "/10.0.0.1")
HOLDS = CurrentAssignment("g", 11, "m-1", {"id-orders": (0, 1)})
HELD = {("id-orders", 0, "/10.0.0.1", "client-1"), ("id-orders", 1, "/10.0.0.1", "client-1")}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(
            [classic(1, ALICE, BOB)],
            {
                ("orders", 0, "/10.0.0.1", "client-1"),
                ("orders", 1, "/10.0.0.1", "client-1"),
                ("orders", 2, "/10.0.0.2", "client-2"),
            },
            id="a classic group says everything at once",
        ),
        pytest.param(
            [classic(1, ALICE, BOB), classic(2, BOB)],
            {("orders", 2, "/10.0.0.2", "client-2")},
            id="partitions that were given up have no owner",
        ),
        pytest.param([classic(1, ALICE), classic(2)], set(), id="an empty group owns nothing"),
        pytest.param(
            [classic(2, ALICE), classic(1, BOB)],
            {
                ("orders", 0, "/10.0.0.1", "client-1"),
                ("orders", 1, "/10.0.0.1", "client-1"),
            },
            id="history that is read late changes nothing",
        ),
        pytest.param(
            [classic(1, ALICE), GroupDeleted("g", 2, CLASSIC)], set(), id="a deleted group owns nothing"
        ),
        pytest.param([MEMBER, HOLDS], HELD, id="the newer protocol tells it in two records"),
        pytest.param([HOLDS, MEMBER], HELD, id="in either order"),
        pytest.param(
            [MEMBER, HOLDS, CurrentAssignment("g", 12, "m-1", {"id-orders": (1,)})],
            {("id-orders", 1, "/10.0.0.1", "client-1")},
            id="a member that gave a partition back",
        ),
        pytest.param([MEMBER, HOLDS, MemberDeleted("g", 12, "m-1")], set(), id="a member that left"),
        pytest.param(
            [MEMBER, HOLDS, MemberDeleted("g", 5, "m-1")], HELD, id="an older leave that is read late"
        ),
        pytest.param([MemberDeleted("g", 12, "m-1"), MEMBER], set(), id="an older arrival that is read late"),
        pytest.param(
            [MEMBER, HOLDS, GroupDeleted("g", 20, CONSUMER)],
            set(),
            id="a deleted group of the newer protocol",
        ),
        pytest.param(
            [GroupDeleted("g", 20, CONSUMER), MEMBER, HOLDS], set(), id="members from before the deletion"
        ),
        pytest.param([MEMBER, HOLDS, ConsumerGroup("g", 13, 7)], HELD, id="a new epoch alone moves nothing"),
        pytest.param(
            [classic(1, ALICE), GroupDeleted("g", 2, CLASSIC, converted=True), MEMBER, HOLDS],
            HELD,
            id="a group that changed its protocol",
        ),
    ],
)
def test_owners(records: list[GroupRecord], expected: set[tuple[str, int, str, str]]) -> None:
    assert owners(*records) == expected


def test_a_report_names_groups_that_own_nothing_any_more() -> None:
    book = GroupOwnership()
    seen = book.see([classic(1, ALICE), ClassicGroup("h", 2, "consumer", (BOB,))], NOW)
    assert seen == {"g", "h"}
    assert book.forget(["g", "nobody"]) == {"g"}
    assert read_report(book.report(["g", "h"])) == {
        "g": [],
        "h": [Owner("orders", 2, "/10.0.0.2", "client-2")],
    }


def test_what_is_remembered_of_members_that_left_is_bounded() -> None:
    book = GroupOwnership()
    for number in range(25_000):
        book.see([MemberDeleted("g", number, f"m-{number}")], NOW)
    assert len(book.groups["g"].newest) <= 10_000
    assert "member m-24999" in book.groups["g"].newest


def test_what_is_remembered_of_groups_that_were_deleted_is_bounded() -> None:
    book = GroupOwnership()
    book.see([classic(5, ALICE)], NOW)
    book.see([GroupDeleted(f"console-{number}", number, CLASSIC) for number in range(25_000)], NOW)
    assert len(book.groups) <= 10_001
    assert "console-24999" in book.groups
    assert book.groups["g"].members


def test_who_is_not_found_any_more_goes_alone() -> None:
    book = GroupOwnership()
    book.see([classic(1, ALICE)], NOW)
    for order, consumer in enumerate(("kafka_zk one", "kafka_zk two")):
        for group in ("g", "h"):
            member = PolledMember(consumer, "", {"orders": (7,)})
            book.see([PolledOwners(group, order, consumer, (member,))], NOW)
    assert book.keep_listed("kafka_zk one", {"h"}) == {"g"}
    assert found(book, "g") == {"/10.0.0.1", "kafka_zk two"}
    assert found(book, "h") == {"kafka_zk one", "kafka_zk two"}
    assert book.forget_polled(["kafka_zk one"]) == {"g", "h"}
    assert (found(book, "g"), found(book, "h")) == ({"/10.0.0.1"}, {"kafka_zk one"})


def found(book: GroupOwnership, group: str) -> set[str]:
    return {each.owner for each in book.groups[group].owners()}
