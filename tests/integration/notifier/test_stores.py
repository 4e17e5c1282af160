"""The shared book on a real ZooKeeper: what one instance writes the next finds, and only the leader writes."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import pytest
from kazoo.client import KazooClient
from tests.processes import eventually
from tests.unit.notifier.scenes import NOW, Story, group_of, module, partition
from tests.zookeeper import ZooKeeperServer

from warren.common.status import Status
from warren.config.sections import ZooKeeper
from warren.notifier.evidence import MOST_BYTES
from warren.notifier.incidents import DeliveryResult, Outcome
from warren.notifier.leadership import Election
from warren.notifier.ledger import Ledger
from warren.notifier.message import Message
from warren.notifier.record import Evidence
from warren.notifier.rules import Told
from warren.notifier.store import Case, Change, Contents, StoreError, packed
from warren.notifier.zookeeper_store import ZooKeeperStore

ERR, OK = Status.ERR, Status.OK


@contextmanager
def instance(server: ZooKeeperServer, name: str) -> Iterator[Election]:
    made = Election(ZooKeeper(servers=(server.address,), timeout=4, root_path="/w"), name)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def leader(client: KazooClient, zookeeper: ZooKeeperServer) -> Iterator[Election]:
    with instance(zookeeper, "one") as made:
        assert eventually(lambda: made.lease() is not None, 20)
        yield made


@pytest.fixture
def follower(leader: Election, zookeeper: ZooKeeperServer) -> Iterator[Election]:
    with instance(zookeeper, "two") as made:
        assert eventually(lambda: made.leadership().state == "following", 20)
        yield made


def ledger_of(election: Election) -> Ledger:
    return Ledger(ZooKeeperStore(election, "/w"), needs_store=True)


def sent(message: Message) -> DeliveryResult:
    return DeliveryResult(message, "sent", 1, NOW, "HTTP 200")


def test_the_most_evidence_and_the_largest_message_fit_into_one_change(leader: Election) -> None:
    book = ledger_of(leader)
    book.load()
    dice = random.Random(7)
    moments = [dice.randbytes(MOST_BYTES) for _ in range(3)]
    parts = [partition(f"{dice.getrandbits(800):x}", number, Status.STOP, number) for number in range(5000)]
    outcome = Story([module()]).look(0, group_of("g", *parts))
    incident = outcome.case.incident
    assert incident is not None
    evidence = Evidence(moments[0], moments[1], ERR, 7, moments[2])
    case = msgspec.structs.replace(
        outcome.case, incident=msgspec.structs.replace(incident, evidence=evidence)
    )
    assert book.decide([replace(outcome, case=case)], NOW)
    again = ledger_of(leader)
    again.load()
    assert [each.evidence for each in again.incidents()] == [evidence]


def test_the_next_leader_finds_what_the_last_one_wrote(leader: Election, follower: Election) -> None:
    first = ledger_of(leader)
    first.load()
    story, odd = Story([module(send_close=True)]), Story([module()], "a/b ~%é")
    (opened,) = first.decide([story.look(0, ERR)], NOW)
    first.decide([odd.look(1, ERR)], NOW)
    first.note([sent(opened)])
    (close,) = first.decide([story.look(5, OK)], NOW)
    leader.stop()
    assert eventually(lambda: follower.lease() is not None, 20)
    second = ledger_of(follower)
    owed = second.load()
    assert second.incidents() == first.incidents()
    assert {each.id for each in owed} == {close.id, *(each.id for each in odd.case.incident.messages)}  # type: ignore[union-attr]
    assert set(second.open_cases("local")) == {"a/b ~%é"}
    second.note(sent(each) for each in owed)
    second.decide([odd.gone(9)], NOW)
    assert ledger_of(follower).load() == []


def test_one_that_does_not_lead_cannot_write(leader: Election, follower: Election) -> None:
    mine, its = ledger_of(leader), ledger_of(follower)
    mine.load()
    its.load()
    with pytest.raises(StoreError, match="another instance"):
        its.decide([Story([module()]).look(0, ERR)], NOW)
    assert its.incidents() == []
    assert mine.load() == []


def test_one_that_looks_on_sees_what_the_leader_does(leader: Election, follower: Election) -> None:
    mine, its = ledger_of(leader), ledger_of(follower)
    its.refresh()
    assert its.incidents() == []
    mine.load()
    story = Story([module(send_close=True)])
    messages = mine.decide([story.look(0, ERR)], NOW)
    its.refresh()
    assert its.incidents() == mine.incidents()
    messages += mine.decide([story.look(5, OK)], NOW)
    its.refresh()
    assert its.incidents() == mine.incidents()
    mine.note(sent(each) for each in messages)
    its.refresh()
    its.refresh()
    assert its.incidents() == mine.incidents()
    assert [each.state for each in its.incidents()[0].messages] == ["sent", "sent"]
    assert its.owed() == {}


def test_more_than_fits_into_one_request_is_written_in_several(leader: Election) -> None:
    store = ZooKeeperStore(leader, "/w")
    store.load()
    # random names do not shrink
    told = {str(uuid.uuid4()): Told(NOW, ERR, str(uuid.uuid4())) for _ in range(1000)}
    cases = [Case("local", f"g{number}", None, told) for number in range(40)]
    assert sum(len(packed(each)) for each in cases) > 1_500_000
    store.write([Change(each) for each in cases])
    assert {each.group for each in store.load().cases} == {f"g{number}" for number in range(40)}
    store.write([Change(Case("local", each.group)) for each in cases])
    assert store.load() == Contents()


def test_a_message_that_is_too_large_keeps_its_worst_partitions(leader: Election) -> None:
    store = ZooKeeperStore(leader, "/w", largest=4000)
    store.load()
    many = (
        partition(f"topic-{uuid.uuid4()}", number, Status.STALL if number % 10 == 5 else Status.WARN, number)
        for number in range(400)
    )
    outcome = Story([module("a"), module("b")]).look(0, group_of("g", *many))
    fitted = store.fitted(outcome.messages)
    store.write([Change(outcome.case, owed=fitted)])
    assert sorted(store.load().owed, key=lambda each: each.id) == sorted(fitted, key=lambda each: each.id)
    for message in fitted:
        kept = message.result.partitions
        assert len(packed(message)) <= 2000
        assert 0 < len(kept) < 40
        assert {each.status for each in kept} == {Status.STALL}
        assert [each.partition for each in kept] == sorted(each.partition for each in kept)
        assert max(each.partition for each in kept) == 395
        assert (message.result.partition_count, message.result.totallag) == (400, sum(range(400)))


def test_one_node_may_be_written_twice_in_a_request(leader: Election) -> None:
    store = ZooKeeperStore(leader, "/w")
    store.load()
    story = Story([module()])
    first = story.look(0, ERR)
    case = msgspec.structs.replace(first.case, told={})
    store.write([Change(first.case), Change(case), Change(Case("local", "g")), Change(case)])
    assert store.load().cases == (case,)


def test_a_damaged_node_is_left_out_and_can_be_written_again(leader: Election, client: KazooClient) -> None:
    ledger = ledger_of(leader)
    ledger.load()
    stories = {name: Story([module()], name) for name in ("whole", "damaged")}
    ledger.decide([each.look(0, ERR) for each in stories.values()], NOW)
    client.set("/w/warren/cases/local~damaged", b"\x00")
    ledger.load()
    assert set(ledger.open_cases("local")) == {"whole"}
    ledger.decide([Story([module()], "damaged").look(5, ERR)], NOW)
    ledger.load()
    assert set(ledger.open_cases("local")) == {"whole", "damaged"}


def test_an_outcome_may_be_empty(leader: Election) -> None:
    ledger = ledger_of(leader)
    ledger.load()
    assert ledger.decide([Outcome(Case("local", "never-known"))], NOW) == []
