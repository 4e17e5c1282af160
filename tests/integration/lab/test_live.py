"""Bursts every second on a real broker, for two minutes: nobody who has read everything is in trouble."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import pytest
from tests.integration.pipeline.hands import running

from warren.common.status import Status
from warren.config.sections import Evaluator, Storage
from warren.demo.broker import Broker
from warren.lab.live import ACTORS, CLUSTER, Seen, Theatre, full, settings, watch

TOPIC: Final = "lab-bursts"
PREFIX: Final = "lab-live "
WATCHED_S: Final = 120.0
PATIENCE_S: Final = 120.0
# Burrow's rules do not promise a verdict on these: they lag, and keep pace
UNJUDGED: Final = "3 s behind"


@pytest.mark.timeout(600)
def test_a_healthy_group_was_in_trouble_when_heads_moved_in_steps(broker: Broker, tmp_path: Path) -> None:
    # by Burrow's rules on Burrow's windows: there the false WARN came, and a floor alone can clear a group
    rules = Evaluator(class_name="caching")
    chosen = settings(broker.bootstrap_servers, tmp_path, rules, Storage())
    actors = tuple(actor for actor in ACTORS if actor.name != UNJUDGED)
    with Theatre(broker.bootstrap_servers, TOPIC, actors, PREFIX) as theatre, running(chosen) as engine:
        snapshot = partial(engine.snapshot, CLUSTER)
        seen = {theatre.group(actor): Seen() for actor in actors}
        assert full(snapshot, list(seen), PATIENCE_S)
        watch(snapshot, list(seen), WATCHED_S, seen)

    for actor in actors:
        found = seen[theatre.group(actor)]
        assert found.looks > 20, actor.name
        if actor.status is Status.OK:
            assert (actor.name, found.alarms, found.statuses) == (actor.name, 0, {"OK": found.looks})
        else:
            assert (actor.name, found.statuses.get(actor.status.name, 0) > 0) == (actor.name, True)
