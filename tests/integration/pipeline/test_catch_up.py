"""Where reading begins, how it catches up, and which groups it lets in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    group_metadata,
    offsets,
    pipeline_settings,
    reading,
    running,
)
from tests.processes import eventually

from warren.demo.broker import Broker
from warren.pipeline.engine import Engine

DATA, HISTORY, LISTS = "catch-data", "catch-history", "catch-lists"
RECORDS, LIMIT = 900, 100
GROUP = "catch-group"


@pytest.fixture(scope="module")
def hands(broker: Broker) -> Hands:
    hands = Hands(broker)
    hands.make(DATA)
    hands.make(HISTORY, 2)
    hands.make(LISTS)
    hands.write(HISTORY, [commit(GROUP, DATA, offset) for offset in range(RECORDS - 100)])
    hands.write(HISTORY, [commit("catch-other", DATA, offset) for offset in range(100)], partition=1)
    for group in ("catch-in", "catch-denied", "stranger"):
        hands.write(LISTS, [group_metadata(group, DATA, 0), commit(group, DATA, 1)])
    # metadata alone must not show a denied group either
    hands.write(LISTS, [group_metadata("catch-denied-too", DATA, 0)])
    return hands


@pytest.fixture(scope="module")
def engine(broker: Broker, hands: Hands, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The same history read in three ways, and lists."""
    consumers = {
        "bounded": reading("bounded", broker, offsets_topic=HISTORY, max_records_per_trigger=LIMIT),
        "latest": reading("latest", broker, offsets_topic=HISTORY, start_latest=True),
        "backfill": reading(
            "backfill", broker, offsets_topic=HISTORY, start_latest=True, backfill_earliest=True
        ),
        "lists": reading(
            "lists", broker, offsets_topic=LISTS, group_allowlist="^catch-", group_denylist="denied"
        ),
    }
    directory = tmp_path_factory.mktemp("catch-up")
    with running(
        pipeline_settings(directory, dict.fromkeys(consumers, broker), consumers), ready=()
    ) as engine:
        yield engine


def test_history_is_read_in_bounded_steps_with_the_progress_shown(engine: Engine) -> None:
    seen: list[tuple[int, int, bool]] = [(0, 0, False)]

    def note() -> bool:
        progress = engine.progress("bounded")
        if progress.records > seen[-1][0]:
            seen.append((progress.records, progress.left, engine.snapshot("bounded") is not None))
        return progress.caught_up

    assert eventually(note, 240)
    view = await_view(engine, "bounded", lambda view: offsets(view, GROUP, DATA)[-1:] == [RECORDS - 101])
    # eight steps at least were needed
    assert view.number >= RECORDS // LIMIT - 1
    assert len(seen) >= RECORDS // LIMIT - 1
    steps = [later[0] - earlier[0] for earlier, later in pairwise(seen)]
    # a step is rounded up to whole records of each partition
    assert max(steps) <= LIMIT + 2
    assert offsets(view, GROUP, DATA) == list(range(RECORDS - 105, RECORDS - 100))
    assert offsets(view, "catch-other", DATA) == list(range(95, 100))
    assert eventually(lambda: engine.progress("bounded").caught_up, 30)
    progress = engine.progress("bounded")
    assert (progress.records, progress.left, progress.error) == (RECORDS, 0, "")
    lefts = [left for _, left, _ in seen[2:]]
    assert lefts == sorted(lefts, reverse=True)
    # nobody is judged by a part of the commits: there is no view before all are read
    assert [shown for _, _, shown in seen[:-1]] == [False] * (len(seen) - 1)


def test_from_the_latest_or_from_the_latest_with_history_afterwards(engine: Engine, hands: Hands) -> None:
    for cluster in ("latest", "backfill"):
        await_view(engine, cluster, lambda view: DATA in view.topics())
    hands.write(HISTORY, [commit(GROUP, DATA, offset) for offset in (5_000, 5_001)])
    view = await_view(engine, "latest", lambda view: offsets(view, GROUP, DATA) == [5_000, 5_001])
    assert view.groups() == [GROUP]
    # of the history as much as the window holds, before what is new
    expected = [RECORDS - 103, RECORDS - 102, RECORDS - 101, 5_000, 5_001]
    view = await_view(engine, "backfill", lambda view: offsets(view, GROUP, DATA) == expected)
    await_view(engine, "backfill", lambda view: offsets(view, "catch-other", DATA) == list(range(95, 100)))
    assert eventually(lambda: engine.progress("backfill").caught_up, 30)
    assert engine.progress("backfill").records == RECORDS + 2
    assert engine.progress("latest").records == 2


def test_lists_let_groups_in_and_keep_others_out_metadata_included(engine: Engine) -> None:
    view = await_view(engine, "lists", lambda view: offsets(view, "catch-in", DATA) == [1])
    assert view.groups() == ["catch-in"]
    assert list(view.owners) == ["catch-in"]
    (partition,) = (view.detail("catch-in") or {})[DATA]
    assert (partition.owner, partition.client_id) == ("/10.0.0.1", "client of catch-in")
    assert engine.progress("lists").denied == 5
