"""Looks at real brokers: topics that change, partitions without leader, brokers that do not answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]
from tests.conftest import OFFSETS_PARTITIONS
from tests.integration.pipeline.hands import BlackHole, Hands, client_of
from tests.processes import eventually

from warren.clock import now_ms
from warren.cluster.survey import Survey, Surveyor
from warren.common.group_filter import GroupFilter
from warren.common.sentinels import UNKNOWN
from warren.consumer.drain import Drain
from warren.consumer.plan import Position, Range
from warren.consumer.source import OffsetsPlanner, OffsetsSettings
from warren.demo.broker import HOST, Broker
from warren.demo.ports import free_port
from warren.kafka.brokers import Brokers, Limit

TIMEOUT_S = 5.0


def surveyor(broker: Broker) -> Surveyor:
    return Surveyor(Brokers(client_of(broker)), 60_000, TIMEOUT_S)


def heads(survey: Survey, topic: str) -> list[int]:
    """The heads of a topic, by partition."""
    found = zip(survey.topic.to_pylist(), survey.partition.tolist(), survey.head.tolist(), strict=True)
    return [head for name, _, head in sorted(found) if name == topic]


def test_topics_that_come_grow_go_and_come_again(broker: Broker) -> None:
    hands, mine = Hands(broker), surveyor(broker)
    # a list without any topic is not believed
    hands.make("survey-stays")
    assert heads(mine.survey(now_ms()), "survey-topic") == []
    hands.make("survey-topic", 2)
    hands.fill("survey-topic", 4, partition=1)
    assert eventually(lambda: heads(mine.survey(now_ms()), "survey-topic") == [0, 4], 20)
    hands.grow("survey-topic", 3)
    assert eventually(lambda: heads(mine.survey(now_ms()), "survey-topic") == [0, 4, 0], 20)
    before = mine.survey(now_ms())
    hands.drop("survey-topic")
    assert eventually(lambda: heads(mine.survey(now_ms()), "survey-topic") == [], 20)
    hands.make("survey-topic", 2)
    hands.fill("survey-topic", 9, partition=1)
    assert eventually(lambda: heads(mine.survey(now_ms()), "survey-topic") == [0, 9], 20)
    assert ids(mine.survey(now_ms()), "survey-topic").isdisjoint(ids(before, "survey-topic"))


def ids(survey: Survey, topic: str) -> set[str]:
    found = zip(survey.topic.to_pylist(), survey.topic_id.to_pylist(), strict=True)
    return {each for name, each in found if name == topic}


def test_one_name_that_kafka_does_not_allow_ended_the_query_for_good(broker: Broker) -> None:
    hands, mine = Hands(broker), surveyor(broker)
    hands.make("survey-allowed")
    missing = (("", 0), ("\0name", 0), ("a name", 0), ("survey-never", 0))
    survey = mine.survey(now_ms(), missing)
    assert (survey.error, survey.hidden) == ("", ())
    assert survey.gone == missing


def test_a_partition_that_was_added_after_the_list_was_called_gone(broker: Broker) -> None:
    hands = Hands(broker)
    hands.make("survey-grows")
    brokers = Brokers(client_of(broker))
    assert eventually(lambda: brokers.described(["survey-grows"], Limit(5.0)) == {"survey-grows": (0,)}, 20)
    mine = Surveyor(brokers, 60_000, TIMEOUT_S)
    mine.survey(now_ms())
    hands.grow("survey-grows", 2)
    assert eventually(lambda: brokers.described(["survey-grows"], Limit(5.0)) == {"survey-grows": (0, 1)}, 20)
    survey = mine.survey(now_ms(), (("survey-grows", 1), ("survey-grows", 7)))
    assert survey.gone == (("survey-grows", 7),)


def test_tails_follow_retention(broker: Broker) -> None:
    hands, mine = Hands(broker), surveyor(broker)
    hands.make("survey-tail")
    hands.fill("survey-tail", 10)
    hands.cut("survey-tail", 6)
    survey = mine.survey(now_ms())
    place = survey.topic.to_pylist().index("survey-tail")
    assert (survey.tail[place], survey.head[place]) == (6, 10)


@pytest.mark.parametrize("kind", ["silent", "refusing"])
def test_brokers_that_do_not_answer_take_no_more_than_the_time_limit(kind: str) -> None:
    with closing(BlackHole()) as hole:
        address = hole.address if kind == "silent" else f"{HOST}:{free_port(HOST)}"
        mine = Surveyor(Brokers({"bootstrap.servers": address}), 60_000, 2.0)
        for _ in range(2):
            began = time.monotonic()
            survey = mine.survey(now_ms())
            # librdkafka's own limit is a minute
            assert time.monotonic() - began < 20
            assert not survey.complete
            assert address in survey.error


class Pair(NamedTuple):
    first: Broker
    second: Broker
    hands: Hands


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two brokers of one cluster, the second without a vote."""
    with ExitStack() as stack:
        first = stack.enter_context(Broker(offsets_partitions=OFFSETS_PARTITIONS))
        data = tmp_path_factory.mktemp("second")
        second = stack.enter_context(joined(first, data))
        hands = Hands(first)
        assert eventually(lambda: len(hands.admin.list_topics(timeout=10).brokers) == 2, 60)
        yield Pair(first, second, hands)


def joined(first: Broker, data: Path) -> Broker:
    """Another broker for the first one's cluster."""
    written = (first.data / "server.properties").read_text().splitlines()
    voters = next(line for line in written if line.startswith("controller.quorum.voters"))
    meta = (first.data / "kafka" / "meta.properties").read_text().splitlines()
    cluster = next(line for line in meta if line.startswith("cluster.id"))
    (data / "kafka").mkdir()
    (data / "kafka" / "meta.properties").write_text(f"version=1\n{cluster}\nnode.id=2\n")
    port = free_port(HOST)
    return Broker(
        port,
        data,
        settings={
            "process.roles": "broker",
            "node.id": "2",
            "listeners": f"CLIENT://{HOST}:{port}",
            "controller.quorum.voters": voters.partition("=")[2],
        },
    )


def test_a_partition_without_leader_waits_and_holds_nobody_up(pair: Pair) -> None:
    first, second, hands = pair
    # partition 0 on the first, 1 on the second broker alone; the other topic on both, led by the second
    topics = [
        NewTopic("survey-led", 2, replica_assignment=[[1], [2]]),
        NewTopic("survey-moved", 1, replica_assignment=[[2, 1]]),
    ]
    for made in hands.admin.create_topics(topics).values():
        made.result()
    mine = surveyor(first)

    def look() -> tuple[list[int], list[int]]:
        survey = mine.survey(now_ms())
        return heads(survey, "survey-led"), heads(survey, "survey-moved")

    assert eventually(lambda: look() == ([0, 0], [0]), 30)
    hands.fill("survey-led", 1, 0)
    hands.fill("survey-led", 2, 1)
    hands.fill("survey-moved", 3)
    assert look() == ([1, 2], [3])
    led, moved = (planner(first, topic) for topic in ("survey-led", "survey-moved"))
    starts = Position((0, 0), (0, 0), asked_ms=1), Position((0,), (0,), asked_ms=1)
    assert led.advanced(starts[0]).next == (1, 2)
    assert led.advanced(starts[0]).live

    second.kill()
    # a leader that is silent, and not known to be dead yet, has no end: its partition stays where it was
    silent = led.advanced(starts[0])
    assert silent.next in {(1, 0), (0, 0)}
    # nor is anybody judged for what may be in it
    assert (silent.as_of_ms, bool(silent.error)) == (0, True)
    # the other partitions go on, and the one with a second replica has another leader
    assert eventually(lambda: look() == ([1, UNKNOWN], [3]), 60)
    began = time.monotonic()
    assert look() == ([1, UNKNOWN], [3])
    assert time.monotonic() - began < TIMEOUT_S + 1
    hands.fill("survey-moved", 4)
    assert eventually(lambda: look() == ([1, UNKNOWN], [7]), 30)
    # planning leaves the one without leader where it was, once the client has heard of the death
    assert eventually(lambda: led.advanced(starts[0]).next == (1, 0), 60)
    assert led.advanced(starts[0]).partly_blind
    assert eventually(lambda: moved.advanced(starts[1]).next == (7,), 60)
    assert count(first, Range(0, 0, 7, 0), "survey-moved") == 7

    second.start()
    assert eventually(lambda: look() == ([1, 2], [7]), 60)
    assert eventually(lambda: led.advanced(starts[0]).next == (1, 2), 30)
    assert not led.advanced(starts[0]).partly_blind
    assert count(first, Range(1, 0, 2, 0), "survey-led") == 2


def planner(broker: Broker, topic: str) -> OffsetsPlanner:
    client = client_of(broker)
    settings = OffsetsSettings("mine", client, topic, False, False, 1_000, 2, 5, 0, GroupFilter())
    return OffsetsPlanner(settings, Brokers(client))


def count(broker: Broker, each: Range, topic: str) -> int:
    return sum(len(records) for records in Drain(client_of(broker), topic).records([each]))
