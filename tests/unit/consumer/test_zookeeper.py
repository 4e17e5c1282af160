"""The poller of ZooKeeper, as far as no server is needed."""

from __future__ import annotations

import pytest
from kazoo.handlers.threading import SequentialThreadingHandler
from tests.processes import eventually

from warren.common.group_filter import GroupFilter
from warren.consumer import zookeeper
from warren.consumer.zookeeper import ZooKeeperPoller, ZooKeeperSettings

SETTINGS = ZooKeeperSettings(
    "zk", "kafka_zk", "127.0.0.1:1", "", 2, 1000, {}, GroupFilter((), ()), intervals=10, min_distance_ms=0
)


def test_a_connection_that_could_not_be_set_up_ended_the_polling_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def no_descriptor(_: object) -> None:
        tried.append("")
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(SequentialThreadingHandler, "create_socket_pair", no_descriptor)
    monkeypatch.setattr(zookeeper, "AGAIN_S", (0.01,))
    poller = ZooKeeperPoller(SETTINGS)
    try:
        assert eventually(lambda: len(tried) > 1, 10)
        assert "Too many open files" in poller.poll().error
    finally:
        poller.stop()
