"""After a restart everything is there again at once, whatever the brokers do; state of another format is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import OFFSETS_PARTITIONS
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    group_metadata,
    later,
    offsets,
    pipeline_settings,
    reading,
    running,
)
from tests.power_cut import power_cut
from tests.processes import eventually

from warren.cluster.requests import Requests
from warren.common import checkpoint
from warren.common.request import Request
from warren.config import Settings
from warren.demo.broker import Broker
from warren.pipeline import query
from warren.pipeline.engine import Engine
from warren.pipeline.unfinished import COMMITS, newest
from warren.snapshot.view import ClusterView
from warren.storage.operator import WindowOperator

RAW, DATA = "restart-offsets", "restart-data"
CLUSTERS = ("up", "down")


def everything(view: ClusterView) -> dict[str, Any]:
    """All that a reader can ask for, but the moment."""
    return {
        "groups": {group: view.detail(group) for group in view.groups()},
        "verdicts": {group: view.group(group) for group in view.groups()},
        "topics": {topic: view.topic(topic) for topic in view.topics() if topic.startswith("restart")},
    }


@dataclass
class Past:
    """A checkpoint of an engine that has stopped, and what it said last."""

    settings: Settings
    directory: Path
    views: dict[str, ClusterView]
    broker: Broker
    hands: dict[str, Hands]


def prepared(broker: Broker) -> Hands:
    hands = Hands(broker)
    hands.make(RAW, 2)
    hands.make(DATA, 2)
    hands.fill(DATA, 50)
    # one that keeps up, one that is stuck, one that is owned and will be deleted
    hands.write(RAW, [commit("keeps-up", DATA, offset) for offset in (30, 40, 50)])
    hands.write(RAW, [commit("stuck", DATA, 10), commit("stuck", DATA, 10)], partition=1)
    hands.write(
        RAW, [group_metadata("owned", DATA, 0), commit("owned", DATA, 50), commit("unwanted", DATA, 1)]
    )
    return hands


@pytest.fixture(scope="module")
def past(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    directory = tmp_path_factory.mktemp("restart") / "checkpoint"
    with Broker(offsets_partitions=OFFSETS_PARTITIONS) as other:
        brokers = dict(zip(CLUSTERS, (broker, other), strict=True))
        hands = {name: prepared(each) for name, each in brokers.items()}
        consumers = {name: reading(name, each, offsets_topic=RAW) for name, each in brokers.items()}
        settings = pipeline_settings(directory, brokers, consumers)
        with running(settings) as engine:
            views = {
                name: await_view(engine, name, lambda view: len(view.groups()) == 4 and view.owners)
                for name in CLUSTERS
            }
            # statuses depend on the time: wait until they no longer change
            views = {
                name: await_view(
                    engine,
                    name,
                    lambda view: {view.group(each).status.name for each in ("stuck", "unwanted")} == {"ERR"},  # type: ignore[union-attr]
                )
                for name in CLUSTERS
            }
            # by then the triggers that read the commits are done for good: what is repeated reads nothing
            views = {name: later(engine, name, 3) for name in CLUSTERS}
        other.stop()
        yield Past(settings, directory, views, other, hands)


def moved(settings: Settings, directory: Path) -> Settings:
    spark = settings.spark.model_copy(update={"checkpoint_dir": str(directory)})
    return settings.model_copy(update={"spark": spark})


def successor() -> type[WindowOperator]:
    """An operator of a version to come; made here so that workers get it whole and need not know this file."""

    class Successor(WindowOperator):
        def init(self, handle: Any) -> None:
            from warren.common import checkpoint  # noqa: PLC0415 (in the worker)

            checkpoint.VERSION = 99  # type: ignore[misc]
            WindowOperator.init(self, handle)

    return Successor


def test_state_of_another_format_is_refused_with_a_sentence(
    past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(past.directory, tmp_path / "copy")
    monkeypatch.setattr(query, "WindowOperator", successor())
    with running(moved(past.settings, tmp_path / "copy"), ready=()) as engine:
        assert eventually(lambda: "format" in engine.progress("up").error, 90), engine.progress("up")
        assert engine.progress("up").error == (
            f"The checkpoint's state is in format {checkpoint.VERSION}, this version of Warren reads format 99: "
            "start the version that wrote it, or remove the checkpoint directory to begin afresh."
        )
        assert engine.snapshot("up") is None


@pytest.fixture(scope="module")
def engine(past: Past) -> Iterator[Engine]:
    """The second life after a power cut, in which one cluster is down and somebody has asked for a deletion."""
    query = past.directory / "up" / "query"
    last = newest(query / COMMITS)
    assert last is not None
    # one more trigger, which was not synced
    for name in (f"offsets/{last + 1}", f"commits/{last + 1}", f"state/0/0/{last + 2}.changelog"):
        (query / name).write_bytes(b"whole")
    assert power_cut(query) >= 3
    Requests(past.directory / "up" / "requests").add(Request("unwanted"))
    with running(past.settings, ready=()) as engine:
        yield engine


def test_the_first_view_has_everything_before_a_new_commit_comes(past: Past, engine: Engine) -> None:
    view = await_view(engine, "up", lambda _: True)
    before = everything(past.views["up"])
    found = everything(view)
    for part in ("groups", "verdicts"):
        # its deletion comes with the next trigger, the first may be one that is repeated
        found[part].pop("unwanted", None)
        del before[part]["unwanted"]
    assert found == before
    assert view.number > past.views["up"].number
    assert engine.progress("up").records == 0


def test_a_deletion_that_was_asked_for_while_nobody_was_there_is_carried_out(engine: Engine) -> None:
    view = await_view(engine, "up", lambda view: "unwanted" not in view.groups())
    assert view.groups() == ["keeps-up", "owned", "stuck"]


def test_a_cluster_that_is_down_still_shows_what_was_known(past: Past, engine: Engine) -> None:
    view = await_view(engine, "down", lambda _: True)
    assert everything(view) == everything(past.views["down"])
    assert eventually(lambda: "does not answer" in engine.progress("down").error, 60)
    assert everything(later(engine, "down")) == everything(past.views["down"])


def test_a_cluster_that_comes_back_goes_on_where_it_was(past: Past, engine: Engine) -> None:
    past.broker.start()
    past.hands["down"].write(RAW, [commit("keeps-up", DATA, 45)])
    await_view(engine, "down", partial(_has, [30, 40, 50, 45]))
    assert eventually(lambda: engine.progress("down").error == "", 60)
    assert engine.progress("down").records == 1


def _has(wanted: list[int], view: ClusterView) -> bool:
    return offsets(view, "keeps-up", DATA) == wanted
