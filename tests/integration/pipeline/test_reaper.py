"""`groups-reaper-refresh`: a group that the brokers do not know goes, one that they know stays."""

from __future__ import annotations

from pathlib import Path

from tests.group_offsets import set_offset
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    later,
    pipeline_settings,
    reading,
    running,
    watched,
)

from warren.demo.broker import Broker


def test_groups_that_the_brokers_do_not_know_go(broker: Broker, tmp_path: Path) -> None:
    hands = Hands(broker)
    data, commits = hands.make("reaper-data"), hands.make("reaper-offsets")
    set_offset(hands.admin, "reaper-known", data, 0)
    # what was read of a group stays when the brokers forget it without a word
    hands.write(commits, [commit("reaper-known", data, 0), commit("reaper-forgotten", data, 0)])
    cluster = watched(broker.bootstrap_servers, groups_reaper_refresh=3)
    consumers = {"raw": reading("live", broker, offsets_topic=commits)}
    with running(pipeline_settings(tmp_path, {"live": cluster}, consumers)) as engine:
        await_view(engine, "live", lambda view: "reaper-known" in view.groups())
        await_view(engine, "live", lambda view: view.groups() == ["reaper-known"])
        assert later(engine, "live", 10).groups() == ["reaper-known"]
