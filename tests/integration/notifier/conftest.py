"""A ZooKeeper for the tests of this directory; its short tick allows sessions of two seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient
from tests.zookeeper import ZooKeeperServer


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"), tick_ms=500) as server:
        yield server


@pytest.fixture
def client(zookeeper: ZooKeeperServer) -> Iterator[KazooClient]:
    """A session of the test's own, on a ZooKeeper without anything of ours."""
    made = zookeeper.client()
    made.delete("/w", recursive=True)
    yield made
    made.delete("/w", recursive=True)
    made.stop()
    made.close()
