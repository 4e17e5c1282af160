"""The demo, played for tests: every actor seen and judged before the first question is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.processes import eventually

from warren.demo.stage import CLUSTER, Stage

SEED = 5
# a machine that does other things too
PATIENCE_S = 180.0


@contextmanager
def playing() -> Iterator[Stage]:
    with Stage(0, SEED) as stage:
        assert eventually(lambda: all(scene.as_intended for scene in stage.scenes()), PATIENCE_S), [
            (scene.actor.name, scene.status and scene.status.status.name)
            for scene in stage.scenes()
            if not scene.as_intended
        ]
        yield stage


def settled(stage: Stage) -> None:
    """Ends the traffic and waits for the snapshots that no commit and no message changes any more."""
    stage.traffic.stop()
    engine = stage.service.engine
    view = engine.snapshot(CLUSTER)
    assert view is not None
    number = view.number
    # the first may have been under way, the third has seen that the second brought nothing
    assert engine.await_view(CLUSTER, lambda each: each.number >= number + 3, PATIENCE_S)
