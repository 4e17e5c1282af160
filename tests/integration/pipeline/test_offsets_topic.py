"""What can happen to an offsets topic while it is read: no commit is lost, none is taken twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from tests.conftest import OFFSETS_PARTITIONS
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    later,
    offsets,
    pipeline_settings,
    reading,
    running,
    windows,
)
from tests.processes import eventually

from warren.demo.broker import Broker
from warren.pipeline.engine import Engine
from warren.snapshot.view import ClusterView

LIFE, CUT = "offsets-life", "offsets-cut"
DATA = "offsets-data"
C = "offsets"


class Scene(NamedTuple):
    broker: Broker
    hands: Hands
    engine: Engine


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A broker of our own, to be stopped; one offsets topic that retention has cut, one that is not there yet."""
    with Broker(offsets_partitions=OFFSETS_PARTITIONS, start_timeout_s=200) as broker:
        hands = Hands(broker)
        hands.make(DATA, 2)
        hands.fill(DATA, 100)
        hands.make(CUT)
        hands.write(CUT, [commit("cut-group", DATA, offset) for offset in range(10)])
        hands.cut(CUT, 8)
        consumers = {name: reading(C, broker, offsets_topic=name) for name in (LIFE, CUT)}
        settings = pipeline_settings(tmp_path_factory.mktemp("offsets"), {C: broker}, consumers)
        with running(settings) as engine:
            yield Scene(broker, hands, engine)


def has(group: str, wanted: list[int], view: ClusterView) -> bool:
    return offsets(view, group, DATA) == wanted


def test_what_retention_took_before_the_start_is_not_waited_for(scene: Scene) -> None:
    await_view(scene.engine, C, partial(has, "cut-group", [8, 9]))


def test_a_topic_that_is_not_there_yet_is_not_made_by_asking(scene: Scene) -> None:
    view = await_view(scene.engine, C, lambda view: view.number >= 2)
    assert LIFE not in view.topics()
    assert LIFE not in scene.hands.admin.list_topics(timeout=10).topics
    progress = scene.engine.progress(C)
    assert progress.restarts == 0
    # what is not there has not been read, and says so
    assert not progress.caught_up
    assert not scene.engine.ready()
    assert eventually(lambda: f"consumer {LIFE}: its offsets topic does not exist" in progress.error, 10)


def test_the_topic_comes_grows_goes_and_comes_again(scene: Scene) -> None:
    _, hands, engine = scene
    hands.make(LIFE, 2)
    # comes: partition 0 is short, partition 1 long
    hands.write(LIFE, [commit("mover", DATA, 1), commit("stayer", DATA, 1)], partition=1)
    hands.write(LIFE, [commit("filler", DATA, 0, partition=1)] * 50, partition=1)
    hands.write(LIFE, [commit("mover", DATA, 2)], partition=1)
    await_view(engine, C, partial(has, "mover", [1, 2]))
    # grows: the group moves to the new partition, whose offsets begin at 0
    hands.grow(LIFE, 3)
    hands.write(LIFE, [commit("mover", DATA, 3)], partition=2)
    await_view(engine, C, partial(has, "mover", [1, 2, 3]))
    # another one moves to an old partition with lower offsets than its own
    later(engine, C)
    hands.write(LIFE, [commit("stayer", DATA, 2)], partition=0)
    await_view(engine, C, partial(has, "stayer", [1, 2]))
    # goes: the windows stay
    hands.drop(LIFE)
    view = later(engine, C)
    assert offsets(view, "mover", DATA) == [1, 2, 3]
    # comes again: its offsets begin at 0 once more, and it grows beyond the old one's before we look
    hands.make(LIFE, 2)
    hands.write(LIFE, [commit("mover", DATA, offset) for offset in (4, 5)])
    hands.write(LIFE, [commit("filler", DATA, 0, partition=1)] * 70)
    hands.write(LIFE, [commit("stayer", DATA, 3)], partition=1)
    view = await_view(engine, C, partial(has, "mover", [1, 2, 3, 4, 5]))
    view = await_view(engine, C, partial(has, "stayer", [1, 2, 3]))
    progress = engine.progress(C)
    assert eventually(lambda: (progress.error, progress.caught_up, progress.restarts) == ("", True, 0), 10)


def test_transactions_leave_gaps_that_are_no_commits(scene: Scene) -> None:
    broker, _, engine = scene
    producer = Producer({**broker.client_settings, "transactional.id": "offsets-test", "log_level": 0})
    producer.init_transactions(30)
    for offset in range(3):
        producer.begin_transaction()
        key, value = commit("transaction-group", DATA, offset)
        producer.produce(CUT, value, key)
        producer.commit_transaction(30)
    await_view(engine, C, partial(has, "transaction-group", [0, 1, 2]))
    await_view(engine, C, lambda _: engine.progress(C).left == 0)


def test_a_broker_that_is_killed_and_comes_back(scene: Scene) -> None:
    broker, hands, engine = scene
    group = "patient-group"
    hands.write(CUT, [commit(group, DATA, 97)])
    before = await_view(engine, C, partial(has, group, [97]))
    broker.kill()
    assert eventually(lambda: "does not answer" in engine.progress(C).error, 60)
    progress = engine.progress(C)
    assert (progress.blind, progress.caught_up, engine.ready()) == (True, False, False)
    seen_ms = progress.seen_ms
    # what was known is still shown
    view = later(engine, C, 1)
    assert windows(view, group) == windows(before, group)
    status = view.group(group)
    assert status is not None
    assert (status.partitions[0].current_lag, status.partitions[0].head) == (3, 100)
    broker.start()
    hands.write(CUT, [commit(group, DATA, 98), commit(group, DATA, 99)])
    await_view(engine, C, partial(has, group, [97, 98, 99]))
    assert eventually(lambda: engine.progress(C).error == "", 30)
    assert (progress.blind, progress.caught_up, progress.restarts) == (False, True, 0)
    assert progress.seen_ms > seen_ms
