"""Consumer modules come and go with the configuration, and the checkpoint stays."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    later,
    offsets,
    pipeline_settings,
    reading,
    running,
)
from tests.processes import eventually

from warren.common.checkpoint import VERSION
from warren.config import Settings
from warren.demo.broker import Broker
from warren.snapshot.view import ClusterView

DATA, FIRST, SECOND = "consumers-data", "consumers-first", "consumers-second"
C = "consumers"


@pytest.fixture(scope="module")
def hands(broker: Broker) -> Hands:
    hands = Hands(broker)
    for topic in (DATA, FIRST, SECOND):
        hands.make(topic)
    hands.fill(DATA, 100)
    return hands


def configured(directory: Path, broker: Broker, *topics: str) -> Settings:
    consumers = {topic: reading(C, broker, offsets_topic=topic) for topic in topics}
    return pipeline_settings(directory, {C: broker}, consumers)


def ends_with(group: str, offset: int, view: ClusterView) -> bool:
    return offsets(view, group, DATA)[-1:] == [offset]


def test_a_consumer_that_is_added_or_removed_does_not_stop_the_cluster_for_good(
    broker: Broker, hands: Hands, tmp_path: Path
) -> None:
    hands.write(FIRST, [commit("first", DATA, 1)])
    hands.write(SECOND, [commit("second", DATA, 1)])
    # (offsets topics, the commit of each that comes meanwhile)
    lives = [((FIRST,), 2), ((FIRST, SECOND), 3), ((SECOND,), 4), ((SECOND, FIRST), 5)]
    group_of = {FIRST: "first", SECOND: "second"}
    records = 0
    for topics, offset in lives:
        for topic in topics:
            hands.write(topic, [commit(group_of[topic], DATA, offset)])
        with running(configured(tmp_path, broker, *topics)) as engine:
            for topic in topics:
                await_view(engine, C, partial(ends_with, group_of[topic], offset))
            progress = engine.progress(C)
            assert eventually(partial(getattr, progress, "caught_up"), 30), progress
            assert (progress.error, progress.restarts) == ("", 0)
            # a trigger that the stop cuts off would be planned afresh from the positions of the life before
            later(engine, C, 1)
            records = progress.records
            view = engine.snapshot(C)
            assert view is not None
            if topics == (FIRST, SECOND):
                assert offsets(view, "first", DATA) == [1, 2, 3]
                # one that is new is read from its beginning
                assert offsets(view, "second", DATA) == [1, 3]
            if topics == (SECOND,):
                assert offsets(view, "second", DATA) == [1, 3, 4]
    # one that was away begins at its beginning again
    assert records >= 4


def test_a_checkpoint_of_two_sources_is_refused_with_a_sentence(
    broker: Broker, hands: Hands, tmp_path: Path
) -> None:
    log = tmp_path / C / "query" / "offsets"
    log.mkdir(parents=True)
    heads = {"at": 1763200000000, "sampled": 1763200000000, "request": 0}
    commits = {"next": "5", "shift": "", "back": "", "asked": 1, "at": 1, "live": True, "left": 0}
    lines = ["v1", json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}})]
    (log / "0").write_text("\n".join([*lines, json.dumps(heads), json.dumps(commits)]))
    with running(configured(tmp_path, broker, FIRST), ready=()) as engine:
        assert eventually(lambda: "format" in engine.progress(C).error, 90), engine.progress(C)
        assert engine.progress(C).error == (
            f"The checkpoint {tmp_path / C / 'query'} is in a format that is not known, this version of Warren reads "
            f"format {VERSION}: start the version that wrote it, or remove the checkpoint directory to begin afresh."
        )
        assert engine.snapshot(C) is None
