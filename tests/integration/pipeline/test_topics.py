"""Topics that come, go, are made again and grow, and what becomes of the windows on them."""

from __future__ import annotations

from tests.integration.pipeline.conftest import RAW
from tests.integration.pipeline.hands import Hands, await_view, commit, later, offsets, windows

from warren.pipeline.engine import Engine


def test_a_topic_that_appears_has_heads_and_windows(engine: Engine, hands: Hands) -> None:
    hands.make("topics-new", 2)
    hands.fill("topics-new", 7, partition=1)
    hands.write(RAW, [commit("topics-new-group", "topics-new", 3, partition=1)])
    view = await_view(engine, "live", lambda view: windows(view, "topics-new-group"))
    (entry,) = windows(view, "topics-new-group")["topics-new", 1]
    assert (entry[0], entry[2]) == (3, 4)
    heads = view.topic("topics-new")
    assert heads is not None
    assert [each.head for each in heads] == [0, 7]
    assert view.consumers_of("topics-new") == ["topics-new-group"]


def test_a_topic_that_is_there_never_vanishes_from_a_view(engine: Engine, hands: Hands) -> None:
    # tasks move between worker processes: each must know as much as the others
    hands.make("topics-steady")
    hands.write(RAW, [commit("topics-steady-group", "topics-steady", 0)])
    await_view(engine, "live", lambda view: windows(view, "topics-steady-group"))
    for _ in range(12):
        view = later(engine, "live", 1)
        assert "topics-steady" in view.topics()
        assert offsets(view, "topics-steady-group", "topics-steady") == [0]
